// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run that is cut short: the file stays valid, its groups are kept, the rest can be measured later.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr std::size_t planned_cases = 4;

std::vector<std::string> bench(const std::string& path, const std::string& worker) {
  return joined({"bench", "--op", "add,mul,scale,softmax", "--size", "2MB", "--data", "resident", "--no-probe",
                 "--min-samples", "20", "-o", path},
                fake_worker_words(worker));
}

/// Waits until the file has a result; false after a minute.
bool wait_for_results(const std::string& path) {
  for (int i = 0; i < 6000; ++i) {
    if (std::filesystem::exists(path)) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

/// Ids of results, to see that they were kept as they were.
std::set<std::string> measured(const json& document) {
  std::set<std::string> lines;
  for (const json& result : document.at("results")) {
    if (result.at("status") == "ok") lines.insert(result.dump());
  }
  return lines;
}

/// Starts a slow run and ends it by a signal as soon as one group is in the file.
program_result cut_short(const std::string& path, int number) {
  background_program program(joined({PRUMO_PROGRAM}, bench(path, "--delay 0.1")));
  EXPECT_TRUE(wait_for_results(path));
  program.send_signal(number);
  return program.wait();
}

void expect_resumable(const std::string& path) {
  const json before = load_results(path);
  EXPECT_GE(before.at("results").size(), 1U);
  EXPECT_LT(before.at("results").size(), planned_cases) << "the run was not cut short";
  const program_result resumed = run_prumo(joined(bench(path, ""), {"--resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("kept from the earlier run: " + std::to_string(before.at("results").size())));
  const json after = load_results(path);
  EXPECT_EQ(after.at("results").size(), planned_cases);
  const std::set<std::string> all = measured(after);
  for (const std::string& line : measured(before)) EXPECT_TRUE(all.contains(line)) << "was measured again: " << line;
  EXPECT_EQ(after.at("run").at("id"), before.at("run").at("id"));
  EXPECT_EQ(after.at("run").at("resumed").size(), 1U);
}

TEST(interruption, kill_leaves_a_valid_file_that_resume_completes) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  EXPECT_EQ(cut_short(path, SIGKILL).code, 128 + SIGKILL);
  expect_resumable(path);
}

TEST(interruption, control_c_ends_in_order_with_its_own_exit_code) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const program_result result = cut_short(path, SIGINT);
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
  EXPECT_THAT(result.err, HasSubstr("--resume continues"));
  expect_resumable(path);
}

TEST(interruption, termination_is_treated_alike) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  EXPECT_EQ(cut_short(path, SIGTERM).code, 130);
  expect_resumable(path);
}

TEST(interruption, no_worker_outlives_the_program) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const std::string pid_file = folder.file("pid");
  // The shell writes its own process id and becomes the worker.
  const std::string worker = std::string("fake=sh -c 'echo $$ > ") + pid_file + "; exec " + PRUMO_PYTHON + " " +
                             PRUMO_FAKE_WORKER + " --delay 0.1'";
  for (const int number : {SIGKILL, SIGINT}) {
    std::filesystem::remove(path);
    background_program program({PRUMO_PROGRAM, "bench", "--op", "add,mul,scale", "--size", "2MB", "--no-probe", "-o",
                                path, "--no-search", "--worker", worker});
    ASSERT_TRUE(wait_for_results(path));
    program.send_signal(number);
    program.wait();
    const pid_t child = std::stoi(read_file(pid_file));
    bool gone = false;
    for (int i = 0; i < 1000 && !gone; ++i) {
      gone = ::kill(child, 0) != 0;
      if (!gone) std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_TRUE(gone) << "the worker still runs after signal " << number;
  }
}

TEST(interruption, a_dead_worker_costs_its_case_and_resume_tries_it_again) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const program_result first = run_prumo(bench(path, "--fault sample:mul=kill"));
  EXPECT_EQ(first.code, 3);
  EXPECT_THAT(first.out, HasSubstr("killed by signal 9"));
  const json document = load_results(path);
  std::ostringstream statuses;
  for (const json& result : document.at("results")) statuses << result.at("status").get<std::string>() << ' ';
  EXPECT_EQ(statuses.str(), "ok failed ok ok ");
  EXPECT_THAT(document.at("results").at(1).at("reason").get<std::string>(), HasSubstr("worker 'fake'"));
  const program_result second = run_prumo(joined(bench(path, ""), {"--resume"}));
  EXPECT_EQ(second.code, 0) << second.err;
  const json resumed = load_results(path);
  for (const json& result : resumed.at("results")) EXPECT_EQ(result.at("status"), "ok");
}

}  // namespace
}  // namespace prumo::bench::test
