// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "surroundings.hpp"
#include "workers/worker_client.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace prumo::bench::test {

/// What a finished program left behind.
struct program_result {
  int code = -1;  ///< exit code, or 128 + signal
  std::string out;
  std::string err;
};

/// A program that runs in the background, its output in files.
class background_program {
 public:
  explicit background_program(const std::vector<std::string>& command);
  ~background_program();
  background_program(const background_program&) = delete;
  background_program& operator=(const background_program&) = delete;

  void send_signal(int number) const;
  [[nodiscard]] pid_t id() const { return id_; }
  /// Waits for its end.
  program_result wait();

 private:
  temporary_folder folder_;
  std::string out_, err_;
  pid_t id_ = -1;
  bool waited_ = false;
};

/// Runs `prumo` with these words.
program_result run_prumo(const std::vector<std::string>& words);

/// Runs `prumo compare` with these words.
program_result run_compare(const std::vector<std::string>& words);

/// Runs commands of the shell.
program_result run_shell(const std::string& commands);

/// `prumo` with these words as a command for the shell.
std::string prumo_command(const std::vector<std::string>& words);

/// The shell's command for the scripted worker.
std::string fake_worker_command(const std::string& options);

/// Writes a worker program that is the scripted worker with these options.
void write_fake_worker(const std::string& path, const std::string& options);

/// The words that make `prumo` use the scripted worker, and only that one.
std::vector<std::string> fake_worker_words(const std::string& options = {});

/// What `prumo bench` writes with these words and the scripted worker.
nlohmann::json bench_with_fake_worker(const std::vector<std::string>& words, const std::string& worker_options);

/// `words` followed by `more`.
std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more);

/// The scripted worker for tests of the library.
worker_launch fake_worker(const std::vector<std::string>& options = {});

/// Expects that a run ended with this code and with an error of prumo's that has `message` in it.
void expect_refusal(const program_result& result, int code, const std::string& message);
/// The same of a run of `prumo` with these words.
void expect_refusal(const std::vector<std::string>& words, int code, const std::string& message);

/// Text with every number replaced by `#`, blanks around it dropped: what a golden output compares.
std::string masked(const std::string& text);

}  // namespace prumo::bench::test
