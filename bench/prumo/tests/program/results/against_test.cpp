// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two builds measured in turns: verdicts, exit codes, what the file keeps, and what is refused.
#include "results/results_file.hpp"
#include "run_program.hpp"
#include "statistics/run_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>
#include <thread>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A build whose worker is the scripted one.
class other_build {
 public:
  explicit other_build(const std::string& options = {}) {
    fs::create_directories(folder_.file("bin"));
    write_fake_worker(folder_.file("bin/prumo-worker-fake"), options);
  }
  [[nodiscard]] std::string path() const { return folder_.file(""); }

 private:
  temporary_folder folder_;
};

std::vector<std::string> bench_against(const other_build& other, const std::vector<std::string>& more,
                                       const std::string& own_options = {}) {
  return joined(
      joined({"bench", "--against", other.path(), "--op", "add,mul,scale", "--size", "2MB", "--no-probe"}, more),
      fake_worker_words(own_options));
}

/// The line of the table that tells of an operation: the one below its heading.
std::string row_of(const std::string& out, const std::string& op) {
  std::istringstream lines(out);
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (found) return line;
    found = line == op;
  }
  return "no row of " + op + " in:\n" + out;
}

std::vector<std::size_t> runs_of(const json& result) {
  return result.at("time_s").at("runs").get<std::vector<std::size_t>>();
}

TEST(against, a_planted_slow_down_is_called_slower_and_fails_the_gate) {
  const other_build other;
  const program_result result = run_prumo(bench_against(other, {"--gate", "3%"}, "--factor scale=1.05"));
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  EXPECT_THAT(row_of(result.out, "scale"), AllOf(HasSubstr("1.05"), HasSubstr("slower")));
  EXPECT_THAT(row_of(result.out, "add"), HasSubstr("same"));
  EXPECT_THAT(row_of(result.out, "mul"), HasSubstr("same"));
}

TEST(against, a_parameter_that_the_older_build_lacks_is_left_out_where_it_has_its_default) {
  const other_build older("--without-parameter alpha");
  const program_result usual = run_prumo(bench_against(older, {}));
  EXPECT_EQ(usual.code, 0) << usual.out << usual.err;
  EXPECT_THAT(usual.out, HasSubstr("3 cases compared: 3 same"));
  const program_result other_value = run_prumo(bench_against(older, {"--set", "alpha=3"}));
  EXPECT_NE(other_value.code, 0);
  EXPECT_THAT(other_value.out, HasSubstr("there is no scale parameter 'alpha'"));
}

TEST(against, without_a_gate_a_slow_down_is_told_and_no_more) {
  const other_build other;
  const program_result result = run_prumo(bench_against(other, {}, "--factor scale=1.05"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(row_of(result.out, "scale"), HasSubstr("slower"));
}

TEST(against, a_slow_down_within_the_gate_passes) {
  const other_build other;
  const program_result result = run_prumo(bench_against(other, {"--gate", "10%"}, "--factor scale=1.05"));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(row_of(result.out, "scale"), HasSubstr("same"));
}

TEST(against, one_build_is_the_same_as_itself) {
  const other_build other;
  // Processes have their luck, each run another one, here by half a percent.
  const temporary_folder folder;
  const std::string luck = "--starts " + folder.file("starts") + " --by-start 1,1.005,0.996,1.002";
  const program_result result = run_prumo(bench_against(other, {"--gate", "3%", "--runs", "4"}, luck));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  for (const char* op : {"add", "mul", "scale"}) EXPECT_THAT(row_of(result.out, op), HasSubstr("same"));
}

TEST(against, a_faster_build_passes_and_is_told) {
  const other_build other("--factor add=1.2");
  const program_result result = run_prumo(bench_against(other, {"--gate", "3%"}));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(row_of(result.out, "add"), HasSubstr("faster"));
}

TEST(against, one_slow_process_is_no_slower_build) {
  const temporary_folder folder;
  const other_build other;
  const std::string luck = "--starts " + folder.file("starts") + " --by-start 1,1,1.2";
  const program_result result = run_prumo(bench_against(other, {"--gate", "3%", "--runs", "3"}, luck));
  EXPECT_EQ(result.code, 4) << result.out << result.err;
  EXPECT_THAT(row_of(result.out, "add"), HasSubstr("unclear"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("3 unclear"), HasSubstr("gate 3 %: INCONCLUSIVE; 3 cases may be slower")));
}

TEST(against, measuring_goes_on_while_the_answer_is_open) {
  const temporary_folder folder;
  const other_build other;
  // The third process is slower by 3 %; after some more it is clear that this was chance.
  const std::string luck = "--starts " + folder.file("starts") + " --by-start 1,1,1.03,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
  const std::string path = folder.file("r.json");
  const program_result result = run_prumo(bench_against(other, {"--gate", "3%", "-o", path}, luck));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("after 3 process runs 3 of 3 cases are open; measuring goes on to run 4"));
  const json document = load_results(path);
  EXPECT_EQ(document.at("run").at("plan").at("process_runs"), 3);
  EXPECT_EQ(document.at("run").at("plan").at("most_process_runs"), 17);
  EXPECT_GT(runs_of(document.at("results").at(0)).size(), 3U);
  const program_result compared = run_prumo({"compare", path, "--gate", "3%"});
  EXPECT_EQ(compared.code, 0) << "the file tells when it was judged: " << compared.out;
}

TEST(against, each_run_has_the_rounds_that_pairing_needs) {
  const other_build other;
  const program_result result = run_prumo(bench_against(other, {"-o", "-"}));
  const json document = json::parse(result.out);
  for (const json& it : document.at("results")) {
    for (const json& rounds : it.at("time_s").at("rounds")) EXPECT_GE(rounds.size(), fewest_rounds) << it.at("key");
  }
}

TEST(against, both_builds_are_fresh_processes_in_each_run_and_take_turns_in_starting) {
  const temporary_folder folder;
  const std::string starts = folder.file("starts");
  const other_build other("--label old --starts " + starts);
  const program_result result =
      run_prumo(bench_against(other, {"-o", folder.file("r.json")}, "--label new --starts " + starts));
  EXPECT_EQ(result.code, 0) << result.err;
  std::istringstream lines(read_file(starts));
  std::string order;
  for (std::string word; lines >> word;) order += word + ' ';
  // The first two start at the same time.
  EXPECT_THAT(order, ::testing::AnyOf("new old old new new old ", "old new old new new old "));
}

TEST(against, the_file_tells_which_samples_are_of_which_run) {
  const temporary_folder folder;
  const other_build other;
  const std::string path = folder.file("r.json");
  ASSERT_EQ(run_prumo(bench_against(other, {"-o", path, "--runs", "4"})).code, 0);
  const json document = load_results(path);
  EXPECT_EQ(document.at("run").at("against").at("suffix"), "@against");
  EXPECT_EQ(document.at("run").at("against").at("build"), other.path());
  std::map<std::string, int> results;
  for (const json& result : document.at("results")) {
    ++results[result.at("device").get<std::string>()];
    const auto runs = runs_of(result);
    EXPECT_EQ(runs.size(), 4U);
    for (const std::size_t count : runs) EXPECT_GT(count, 0U);
    EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), std::size_t{0}), result.at("time_s").at("samples").size());
    const json& rounds = result.at("time_s").at("rounds");
    ASSERT_EQ(rounds.size(), runs.size());
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const auto counts = rounds[run].get<std::vector<std::size_t>>();
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), runs[run]);
    }
    EXPECT_EQ(result.at("verified"), true);
    const double median = result.at("time_s").at("median").get<double>();
    EXPECT_NEAR(result.at("rates").at("gbytes").get<double>() * median * 1e9, result.at("bytes").get<double>(), 1);
  }
  EXPECT_EQ(results, (std::map<std::string, int>{{"fake:0", 3}, {"fake:0@against", 3}}));
}

TEST(against, runs_without_another_build_are_kept_apart_too) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const program_result result = run_prumo(
      joined({"bench", "--op", "add", "--size", "2MB", "--no-probe", "--runs", "2", "-o", path}, fake_worker_words()));
  EXPECT_EQ(result.code, 0) << result.err;
  const json document = load_results(path);
  EXPECT_EQ(runs_of(document.at("results").at(0)).size(), 2U);
  EXPECT_FALSE(document.at("run").contains("against"));
}

TEST(against, a_worker_that_dies_in_one_run_costs_that_run) {
  const temporary_folder folder;
  const other_build other("--once " + folder.file("died") + " --fault sample:mul=die");
  const std::string path = folder.file("r.json");
  const program_result result = run_prumo(bench_against(other, {"-o", path}));
  const json document = load_results(path);
  for (const json& it : document.at("results")) {
    ASSERT_EQ(it.at("status"), "ok") << it.dump();
    const bool hurt = it.at("device") == "fake:0@against" && it.at("op") == "mul";
    EXPECT_EQ(runs_of(it).at(0) == 0, hurt) << it.at("key");
    EXPECT_EQ(it.at("warnings").dump().find("process run 1 gave no time") != std::string::npos, hurt);
  }
  EXPECT_THAT(row_of(result.out, "add"), HasSubstr("same"));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST(against, a_case_that_dies_with_this_build_fails_the_gate) {
  const other_build other;
  const program_result result = run_prumo(bench_against(other, {"--gate", "3%"}, "--fault sample:mul=die"));
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  EXPECT_THAT(row_of(result.out, "add"), HasSubstr("same"));
  const program_result ungated = run_prumo(bench_against(other, {}, "--fault sample:mul=die"));
  EXPECT_EQ(ungated.code, 3) << ungated.out << ungated.err;
}

TEST(against, what_the_builds_differ_in_stands_above_the_table) {
  const other_build other("--version-told 0.9.9");
  const program_result result = run_prumo(bench_against(other, {}));
  EXPECT_THAT(result.out, AllOf(HasSubstr("0.9.9"), HasSubstr("1.2.3"))) << result.err;
}

TEST(against, one_program_on_both_sides_is_allowed_and_told) {
  const other_build other;
  const program_result result =
      run_prumo({"bench", "--against", other.path(), "--op", "add", "--size", "2MB", "--no-probe", "--no-search",
                 "--worker", "fake=" + other.path() + "bin/prumo-worker-fake"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("fake:0: both builds have the same worker program"));
}

TEST(against, an_interrupted_comparison_goes_on_with_the_runs_that_are_missing) {
  const temporary_folder folder;
  const other_build other;
  const std::string path = folder.file("r.json");
  {
    background_program program(joined({PRUMO_PROGRAM}, bench_against(other, {"-o", path}, "--delay 0.1")));
    for (int i = 0; i < 3000; ++i) {
      if (fs::exists(path) && load_results(path).at("results").size() >= 4) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    program.send_signal(SIGINT);
    EXPECT_EQ(program.wait().code, 130);
  }
  const json before = load_results(path);
  ASSERT_GE(before.at("results").size(), 4U);
  const program_result resumed = run_prumo(joined(bench_against(other, {"-o", path}), {"--resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const json after = load_results(path);
  EXPECT_EQ(after.at("results").size(), 6U);
  for (const json& result : after.at("results")) EXPECT_EQ(runs_of(result).size(), 3U) << result.at("key");
  // What was measured before the interruption stands.
  const json& old_first = before.at("results").at(0).at("time_s");
  for (const json& result : after.at("results")) {
    if (result.at("key") != before.at("results").at(0).at("key") ||
        result.at("device") != before.at("results").at(0).at("device")) {
      continue;
    }
    EXPECT_EQ(result.at("time_s").at("runs").at(0), old_first.at("runs").at(0));
    EXPECT_EQ(result.at("time_s").at("samples").at(0), old_first.at("samples").at(0));
  }
}

TEST(against, refuses_what_cannot_be_compared) {
  const temporary_folder empty;
  const other_build gpu("--backend cuda");
  const other_build other;
  const auto refused = [](const std::vector<std::string>& more) {
    const program_result result =
        run_prumo(joined(joined({"bench", "--op", "add", "--size", "2MB"}, more), fake_worker_words()));
    EXPECT_EQ(result.code, 2) << result.out;
    return result.err;
  };
  EXPECT_THAT(refused({"--against", empty.file("")}), AllOf(HasSubstr("no worker program"), HasSubstr(empty.file(""))));
  EXPECT_THAT(refused({"--against", empty.file("absent")}), HasSubstr("does not exist; name a build folder"));
  EXPECT_THAT(refused({"--against", gpu.path()}),
              HasSubstr("no device in common: this one has fake:0, the other one cuda:0"));
  EXPECT_THAT(refused({"--gate", "3%"}), HasSubstr("name that one with --against"));
  EXPECT_THAT(refused({"--against", other.path(), "--gate", "3"}), HasSubstr("--gate"));
  EXPECT_THAT(refused({"--against", other.path(), "--runs", "2"}), HasSubstr("at least 3 process runs"));
  EXPECT_THAT(refused({"--against", other.path(), "--runs", "5:4"}),
              HasSubstr("ends below its beginning; give FEWEST:MOST"));
  EXPECT_THAT(refused({"--runs", "3:9"}), HasSubstr("name the other build with --against"));
  EXPECT_THAT(refused({"--runs", "many"}), HasSubstr("--runs: 'many' is not a number of runs"));
}

/// What disturbs both builds alike cancels between their rounds, so noise does not end them.
TEST(against, noise_that_no_longer_changes_takes_no_rounds_from_the_builds) {
  const std::string worker = "--steady-noise 0.2 --delay 0.02 --factor add=320";
  const other_build other(worker);
  const program_result result =
      run_prumo(joined({"bench", "--against", other.path(), "--op", "add", "--size", "2MB", "--no-probe", "-o", "-",
                        "--case-limit", "800ms", "--time-budget", "20s", "--target-noise", "0.0001%"},
                       fake_worker_words(worker)));
  const json document = json::parse(result.out);
  ASSERT_EQ(document.at("results").size(), 2U) << result.err;
  const json& before = document.at("results").at(0).at("time_s").at("rounds");
  const json& after = document.at("results").at(1).at("time_s").at("rounds");
  ASSERT_EQ(before.size(), 3U);
  for (std::size_t run = 0; run < 3; ++run) {
    EXPECT_EQ(before.at(run).size(), after.at(run).size());
    EXPECT_GE(before.at(run).size(), 30U) << "noise would be known after 16 of some 40";
  }
  for (const json& it : document.at("results")) EXPECT_EQ(it.at("time_s").at("stop"), "budget");
}

TEST(against, a_time_budget_is_shared_by_all_runs) {
  const other_build other("--delay 0.01 --noise 0.2");
  const program_result result = run_prumo(bench_against(
      other, {"-o", "-", "--time-budget", "6s", "--target-noise", "0.0001%"}, "--delay 0.01 --noise 0.2"));
  const json document = json::parse(result.out);
  ASSERT_EQ(document.at("results").size(), 6U) << result.err;
  for (const json& it : document.at("results")) {
    ASSERT_EQ(it.at("status"), "ok") << it.at("reason");
    const auto runs = runs_of(it);
    ASSERT_EQ(runs.size(), 3U);
    for (const std::size_t count : runs) EXPECT_GT(10 * count, it.at("time_s").at("samples").size()) << it.at("key");
  }
}

}  // namespace
}  // namespace prumo::bench::test
