// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_program.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;

fs::path new_folder() {
  std::string pattern = (fs::temp_directory_path() / "prumo-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return pattern;
}

}  // namespace

background_program::background_program(const std::vector<std::string>& command) {
  const fs::path folder = new_folder();
  out_ = folder / "out";
  err_ = folder / "err";
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  id_ = ::fork();
  if (id_ == 0) {
    const int out = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int none = ::open("/dev/null", O_RDONLY);
    ::dup2(none, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    // The table depends on these.
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::setenv("COLUMNS", "120", 1);
    // Workers of the user must not take part; a test may have some of its own.
    const char* const own_workers = std::getenv("PRUMO_TEST_WORKER_PATH");
    ::setenv("PRUMO_WORKER_PATH", own_workers != nullptr ? own_workers : "", 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
}

background_program::~background_program() {
  if (!waited_) {
    send_signal(SIGKILL);
    wait();
  }
  std::error_code ignored;
  fs::remove_all(out_.parent_path(), ignored);
}

void background_program::send_signal(int number) const { ::kill(id_, number); }

program_result background_program::wait() {
  int status = 0;
  ::waitpid(id_, &status, 0);
  waited_ = true;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out_.string()),
          read_file(err_.string())};
}

program_result run_prumo(const std::vector<std::string>& words) {
  return background_program(joined({PRUMO_PROGRAM}, words)).wait();
}

std::string fake_worker_command(const std::string& options) {
  return std::string("'") + PRUMO_PYTHON + "' '" + PRUMO_FAKE_WORKER + "' " + options;
}

std::vector<std::string> fake_worker_words(const std::string& options) {
  return {"--no-search", "--worker", "fake=" + fake_worker_command(options)};
}

nlohmann::json bench_with_fake_worker(const std::vector<std::string>& words, const std::string& worker_options) {
  const program_result result =
      run_prumo(joined(joined({"bench", "-o", "-"}, words), fake_worker_words(worker_options)));
  if (result.out.empty()) throw std::runtime_error(result.err);
  return nlohmann::json::parse(result.out);
}

std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

worker_launch fake_worker(const std::vector<std::string>& options) {
  return {"fake", joined({PRUMO_PYTHON, PRUMO_FAKE_WORKER}, options)};
}

temporary_folder::temporary_folder() : path_(new_folder()) {}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string masked(const std::string& text) {
  const std::string numbers = std::regex_replace(text, std::regex("[0-9]+([.][0-9]+)?"), "#");
  return std::regex_replace(numbers, std::regex(" +"), " ");
}

}  // namespace prumo::bench::test
