// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_program.hpp"

#include "terminal/shell_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <regex>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace prumo::bench::test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

background_program::background_program(const std::vector<std::string>& command) {
  out_ = folder_.file("out");
  err_ = folder_.file("err");
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
}

void background_program::send_signal(int number) const { ::kill(id_, number); }

program_result background_program::wait() {
  int status = 0;
  ::waitpid(id_, &status, 0);
  waited_ = true;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out_), read_file(err_)};
}

program_result run_prumo(const std::vector<std::string>& words) {
  return background_program(joined({PRUMO_PROGRAM}, words)).wait();
}

program_result run_compare(const std::vector<std::string>& words) { return run_prumo(joined({"compare"}, words)); }

program_result run_shell(const std::string& commands) { return background_program({"/bin/sh", "-c", commands}).wait(); }

std::string prumo_command(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : joined({PRUMO_PROGRAM}, words)) command += shell_quoted(word) + ' ';
  return command;
}

void write_fake_worker(const std::string& path, const std::string& options) {
  write_script(path, "exec " + fake_worker_command(options) + " \"$@\"");
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

void expect_refusal(const program_result& result, int code, const std::string& message) {
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_THAT(result.err, AnyOf(StartsWith("prumo: "), HasSubstr("\nprumo: ")));  // progress may come first
  EXPECT_THAT(result.err, HasSubstr(message));
}

void expect_refusal(const std::vector<std::string>& words, int code, const std::string& message) {
  expect_refusal(run_prumo(words), code, message);
}

std::string masked(const std::string& text) {
  const std::string numbers = std::regex_replace(text, std::regex("[0-9]+([.][0-9]+)?"), "#");
  return std::regex_replace(numbers, std::regex(" +"), " ");
}

}  // namespace prumo::bench::test
