// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How groups are measured: in turns, within memory and budget, noise told.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json measure(const std::vector<std::string>& words, const std::string& worker = {}) {
  return bench_with_fake_worker(joined({"--no-probe"}, words), worker);
}

std::vector<std::string> logged(const std::string& path, const std::string& request) {
  std::vector<std::string> found;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(request)) found.push_back(line.substr(request.size()));
  }
  return found;
}

TEST(measurement, cases_of_a_group_take_turns_and_are_sampled_equally_often) {
  const temporary_folder folder;
  measure({"--op", "add", "--size", "2MB", "--data", "resident", "--time-budget", "2s", "--target-noise", "0.0001%"},
          "--devices 3 --noise 0.2 --delay 0.05 --log " + folder.file("log"));
  const auto samples = logged(folder.file("log"), "sample");
  ASSERT_GE(samples.size(), 9U);
  std::map<std::string, int> counts;
  for (const std::string& line : samples) ++counts[line];
  ASSERT_EQ(counts.size(), 3U);
  const int each = counts.begin()->second;
  for (const auto& [line, count] : counts) EXPECT_EQ(count, each) << line;
  // The first of each round is another one.
  EXPECT_NE(samples[3], samples[6]);
}

TEST(measurement, stops_when_settled_or_when_the_time_is_spent) {
  const json quiet = measure({"--op", "add", "--size", "2MB", "--data", "resident"}, "--noise 0.001");
  EXPECT_EQ(quiet.at("results").at(0).at("time_s").at("stop"), "settled");
  EXPECT_GE(quiet.at("results").at(0).at("time_s").at("samples").size(), 10U);
  const json noisy = measure({"--op", "add", "--size", "2MB", "--data", "resident", "--time-budget", "1s"},
                             "--noise 0.5 --delay 0.07");
  EXPECT_EQ(noisy.at("results").at(0).at("time_s").at("stop"), "budget");
}

/// Calls of 0.1 s whose noise no time would make exact enough: 60 rounds in three seconds.
const std::string steady_noise_worker = "--steady-noise 0.2 --delay 0.05 --factor add=320";
const std::vector<std::string> steady_noise_words{
    "--op", "add", "--size", "2MB", "--data", "resident", "--case-limit", "2s", "--target-noise", "0.0001%"};

TEST(measurement, stops_when_the_noise_is_known_and_its_time_would_not_help) {
  const json result = measure(steady_noise_words, steady_noise_worker).at("results").at(0);
  EXPECT_EQ(result.at("time_s").at("stop"), "steady");
  ASSERT_EQ(result.at("time_s").at("rounds").size(), 1U);
  const std::size_t rounds = result.at("time_s").at("rounds").at(0).size();
  EXPECT_GE(rounds, 16U);
  EXPECT_LT(rounds, 40U);
  EXPECT_FALSE(result.at("time_s").at("interval").is_null());
}

TEST(measurement, a_case_of_steady_noise_is_finished) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const auto bench = [&](const std::vector<std::string>& more) {
    const program_result made =
        run_prumo(joined(joined(joined({"bench", "--no-probe", "-o", path}, steady_noise_words), more),
                         fake_worker_words(steady_noise_worker)));
    EXPECT_EQ(made.code, 0) << made.err;
    return made;
  };
  EXPECT_THAT(bench({"--csv", folder.file("r.csv")}).out, HasSubstr("1 case stopped early: the noise"));
  EXPECT_THAT(read_file(folder.file("r.csv")), HasSubstr(",steady,"));
  const json first = json::parse(read_file(path));
  bench({"--resume"});
  EXPECT_EQ(json::parse(read_file(path)).at("results"), first.at("results")) << "measured again";
  const program_result compared = run_prumo({"compare", path, "--to", path});
  EXPECT_EQ(compared.code, 0) << compared.err;
}

TEST(measurement, cases_that_do_not_fit_together_run_one_after_the_other) {
  // Room for one case of 6 MiB, not for two.
  const json document = measure({"--op", "add", "--size", "2MB", "--data", "resident"}, "--devices 2 --memory 7000000");
  ASSERT_EQ(document.at("results").size(), 2U);
  for (const json& result : document.at("results")) EXPECT_EQ(result.at("status"), "ok") << result.at("reason");
}

TEST(measurement, a_case_beyond_memory_is_skipped_with_both_numbers) {
  const json document = measure({"--op", "add", "--size", "2MB,64MB", "--data", "resident"}, "--memory 7000000");
  EXPECT_EQ(document.at("results").at(0).at("status"), "ok");
  EXPECT_EQ(document.at("results").at(1).at("status"), "skipped");
  EXPECT_THAT(document.at("results").at(1).at("reason").get<std::string>(),
              ::testing::AllOf(HasSubstr("201326592 bytes"), HasSubstr("7000000 bytes")));
}

TEST(measurement, refusals_become_statuses) {
  const auto status = [](const std::string& kind) {
    const json document =
        measure({"--op", "add", "--size", "2MB", "--data", "resident"}, "--fault prepare=error:" + kind);
    return document.at("results").at(0).at("status").get<std::string>() + ": " +
           document.at("results").at(0).at("reason").get<std::string>();
  };
  EXPECT_EQ(status("unsupported"), "unsupported: as the test asked");
  EXPECT_EQ(status("skipped"), "skipped: as the test asked");
  EXPECT_EQ(status("memory"), "skipped: too little memory: as the test asked");
  EXPECT_EQ(status("failed"), "failed: as the test asked");
  EXPECT_EQ(status("device"), "failed: as the test asked");
}

TEST(measurement, numbers_that_break_the_format_cost_only_their_case) {
  const json document =
      measure({"--op", "add,mul", "--size", "2MB", "--data", "resident"}, "--fault count:add=bad_count");
  EXPECT_EQ(document.at("results").at(0).at("status"), "failed");
  EXPECT_THAT(document.at("results").at(0).at("reason").get<std::string>(), HasSubstr("break the format"));
  EXPECT_EQ(document.at("results").at(1).at("status"), "ok");
}

TEST(measurement, a_count_that_its_worker_finds_to_be_wrong_costs_only_its_case) {
  const json document =
      measure({"--op", "add,mul", "--size", "2MB", "--data", "resident"}, "--fault count:add=error:failed");
  for (const json& result : document.at("results")) {
    const bool is_wrong = result.at("op") == "add";
    EXPECT_EQ(result.at("status"), is_wrong ? "failed" : "ok");
    EXPECT_EQ(result.at("reason"), is_wrong ? json("as the test asked") : json());
  }
}

TEST(measurement, facts_that_break_the_format_are_left_out) {
  const json document = measure({"--op", "add", "--size", "2MB", "--data", "resident"}, "--fault device=bad_facts");
  EXPECT_EQ(document.at("devices").at(0).at("peaks"), json::array());
  EXPECT_EQ(document.at("results").at(0).at("status"), "ok");
  EXPECT_THAT(document.at("run").at("warnings").dump(), HasSubstr("break the format"));
}

TEST(measurement, without_verification_nothing_is_called_verified) {
  const json document = measure({"--op", "add", "--size", "2MB", "--data", "resident", "--no-verify"});
  EXPECT_TRUE(document.at("results").at(0).at("verified").is_null());
}

TEST(measurement, a_spent_budget_leaves_the_rest_out_and_resume_measures_it) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const std::vector<std::string> words{"bench",    "--no-probe", "--op", "add,mul,scale", "--size", "2MB", "--data",
                                       "resident", "-o",         path};
  const program_result first =
      run_prumo(joined(joined(words, {"--time-budget", "10ms"}), fake_worker_words("--fault verify=slow")));
  EXPECT_EQ(first.code, 0) << first.err;
  json document = json::parse(read_file(path));
  ASSERT_EQ(document.at("results").size(), 3U);
  EXPECT_EQ(document.at("results").at(0).at("status"), "ok") << "the first group is measured whatever it takes";
  EXPECT_EQ(document.at("results").at(2).at("status"), "skipped");
  EXPECT_THAT(document.at("results").at(2).at("reason").get<std::string>(), HasSubstr("--time-budget"));
  const program_result second = run_prumo(joined(joined(words, {"--resume"}), fake_worker_words()));
  EXPECT_EQ(second.code, 0) << second.err;
  document = json::parse(read_file(path));
  for (const json& result : document.at("results")) EXPECT_EQ(result.at("status"), "ok");
}

TEST(measurement, the_default_sweep_leaves_out_products_that_take_too_long) {
  const program_result result = run_prumo(
      joined({"bench", "-o", "-", "--op", "gemm", "--data", "resident", "--time-budget", "3s"}, fake_worker_words()));
  const json document = json::parse(result.out);
  ASSERT_EQ(document.at("results").size(), 4U);
  EXPECT_EQ(document.at("results").at(0).at("status"), "ok");
  EXPECT_EQ(document.at("results").at(3).at("status"), "skipped");
  EXPECT_THAT(document.at("results").at(3).at("reason").get<std::string>(), HasSubstr("one call takes"));
}

TEST(measurement, chosen_sizes_are_measured_and_one_line_says_that_it_takes_longer) {
  const program_result result = run_prumo(joined({"bench", "-o", "-", "--no-probe", "--op", "add,gemm", "--size",
                                                  "2MB,512MB", "--data", "resident", "--time-budget", "4s"},
                                                 fake_worker_words()));
  const json document = json::parse(result.out);
  for (const json& it : document.at("results")) EXPECT_EQ(it.at("status"), "ok") << it.at("reason");
  const std::string note = "prumo: note: calling each chosen case once takes about";
  const auto place = result.err.find(note);
  ASSERT_NE(place, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(note, place + 1), std::string::npos) << "told twice";
}

TEST(measurement, all_operations_get_a_share_of_a_short_budget) {
  const json document = measure({"--op", "add,mul,scale,softmax", "--size", "2MB", "--data", "resident",
                                 "--target-noise", "0.0001%", "--time-budget", "4s"},
                                "--noise 0.2 --delay 0.02");
  ASSERT_EQ(document.at("results").size(), 4U);
  std::size_t fewest = 1000000;
  std::size_t most = 0;
  for (const json& result : document.at("results")) {
    ASSERT_EQ(result.at("status"), "ok") << result.at("reason");
    const std::size_t samples = result.at("time_s").at("samples").size();
    fewest = std::min(fewest, samples);
    most = std::max(most, samples);
  }
  EXPECT_LT(most, 10 * fewest);
}

/// Where there is more time than all can use, a case that does not settle takes what is of use and no more: the rest
/// is not its own.
TEST(measurement, a_noisy_case_leaves_the_others_their_time) {
  // Calls of some 10 ms, five samples a request, and too few rounds to know the noise.
  const json document = measure({"--op", "add,mul", "--size", "2MB", "--data", "resident", "--target-noise", "0.0001%",
                                 "--no-probe", "--time-budget", "4s"},
                                "--noise 0.2 --delay 0.08 --factor add=32 --factor mul=32");
  ASSERT_EQ(document.at("results").size(), 2U);
  for (const json& result : document.at("results")) {
    ASSERT_EQ(result.at("status"), "ok") << result.at("reason");
    EXPECT_EQ(result.at("time_s").at("stop"), "budget");
    EXPECT_NEAR(result.at("time_s").at("median").get<double>(), 0.01, 0.005)
        << "the test no longer shows what it should";
  }
}

TEST(measurement, the_reference_may_cost_what_the_time_allows) {
  const temporary_folder folder;
  measure({"--op", "softmax", "--size", "64MB", "--data", "resident", "--time-budget", "none"},
          "--log " + folder.file("long"));
  measure({"--op", "softmax", "--size", "64MB", "--data", "resident", "--time-budget", "10ms"},
          "--log " + folder.file("short"));
  const auto all = logged(folder.file("long"), "verify");
  const auto some = logged(folder.file("short"), "verify");
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(some.size(), 1U);
  EXPECT_THAT(all[0], HasSubstr("budget=30000000"));
  EXPECT_THAT(some[0], HasSubstr("budget=1000000"));
}

}  // namespace
}  // namespace prumo::bench::test
