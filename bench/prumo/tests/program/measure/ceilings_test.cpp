// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What results are judged by: probes that are measured in turns with the cases.
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <sstream>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json measure_resident(const std::vector<std::string>& words, const std::string& worker = {}) {
  return bench_with_fake_worker(joined({"--data", "resident"}, words), worker);
}

std::set<std::string> probes_of(const json& document) {
  std::set<std::string> probes;
  for (const json& ceiling : document.at("devices").at(0).at("ceilings")) probes.insert(ceiling.at("probe"));
  return probes;
}

TEST(ceilings, are_measured_in_turns_with_the_cases_that_they_bound) {
  const temporary_folder folder;
  measure_resident({"--op", "add", "--size", "2MB", "--target-noise", "0.0001%", "--time-budget", "3s"},
                   "--noise 0.2 --delay 0.02 --log " + folder.file("log"));
  std::istringstream lines(read_file(folder.file("log")));
  int cases = 0;
  int triads = 0;
  int longest_run = 0;
  int run = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line == "sample add fake:0") {
      ++cases;
      longest_run = std::max(longest_run, ++run);
    } else if (line == "sample triad fake:0") {
      ++triads;
      run = 0;
    }
  }
  EXPECT_GE(cases, 3);
  EXPECT_NEAR(cases, triads, 1);
  EXPECT_LE(longest_run, 2) << "rounds begin with another one each";
}

TEST(ceilings, only_what_can_bound_a_case_is_probed) {
  EXPECT_EQ(probes_of(measure_resident({"--op", "scale", "--size", "2MB"})),
            (std::set<std::string>{"copy", "fma", "launch"}));
  EXPECT_EQ(probes_of(measure_resident({"--op", "sum", "--size", "2MB"})),
            (std::set<std::string>{"read", "fma", "launch"}));
}

TEST(ceilings, stay_prepared_from_group_to_group_of_a_size) {
  const temporary_folder folder;
  measure_resident({"--op", "add,mul", "--size", "2MB,4MB"}, "--log " + folder.file("log"));
  std::istringstream lines(read_file(folder.file("log")));
  std::string order;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("prepare triad")) order += "triad ";
    if (line.starts_with("prepare add")) order += "add ";
    if (line.starts_with("prepare mul")) order += "mul ";
  }
  EXPECT_EQ(order, "add triad mul add triad mul ") << "small sizes first";
}

TEST(ceilings, of_a_case_are_those_of_its_own_group) {
  // Every second answer of the probe is half as fast: its median lies between, and so may the case's share of it.
  const json document = measure_resident({"--op", "add", "--size", "2MB"}, "--disturb triad=2");
  const json& result = document.at("results").at(0);
  ASSERT_EQ(result.at("status"), "ok");
  EXPECT_GT(result.at("percent").at("roofline").get<double>(), 99);
  for (const json& warning : result.at("warnings")) {
    EXPECT_THAT(warning.get<std::string>(), ::testing::Not(HasSubstr("IMPOSSIBLE"))) << "its fastest samples agree";
  }
}

TEST(ceilings, without_room_beside_the_case_are_measured_after_it) {
  // Room for one set of arrays of 6 MiB, not for two.
  const json document = measure_resident({"--op", "add", "--size", "2MB"}, "--memory 7000000");
  const json& result = document.at("results").at(0);
  ASSERT_EQ(result.at("status"), "ok") << result.at("reason");
  EXPECT_NEAR(result.at("percent").at("roofline").get<double>(), 100, 1);
}

TEST(ceilings, what_writes_only_is_judged_by_the_better_of_copy_and_triad) {
  const json document = measure_resident({"--op", "fill", "--size", "2MB"});
  EXPECT_EQ(probes_of(document), (std::set<std::string>{"copy", "fma", "launch", "triad"}));
  EXPECT_THAT(document.at("results").at(0).at("roof").at("memory_probe").get<std::string>(),
              ::testing::AnyOf("copy", "triad"));
}

TEST(ceilings, of_several_ways_the_fastest_counts) {
  const json document = measure_resident({"--op", "fill", "--size", "2MB"}, "--more-probes");
  const json& result = document.at("results").at(0);
  EXPECT_EQ(result.at("roof").at("memory_probe"), "write");
  EXPECT_NEAR(result.at("roof").at("memory").get<double>(), 20e9, 0.2e9);
  EXPECT_NEAR(result.at("percent").at("roofline").get<double>(), 100, 1);
  int writes = 0;
  for (const json& ceiling : document.at("devices").at(0).at("ceilings")) {
    if (ceiling.at("probe") != "write") continue;
    ++writes;
    EXPECT_EQ(ceiling.at("implementation"), "kernel");
    EXPECT_NEAR(ceiling.at("value").get<double>(), 20e9, 0.2e9);
  }
  EXPECT_EQ(writes, 1);
}

TEST(ceilings, a_kind_of_function_that_takes_longer_than_memory_is_the_bound) {
  const json document = measure_resident({"--op", "softmax", "--size", "2MB"}, "--more-probes");
  const json& result = document.at("results").at(0);
  EXPECT_EQ(result.at("bound"), "compute");
  EXPECT_EQ(result.at("roof").at("compute_from"), "exp_rate");
  EXPECT_NEAR(result.at("percent").at("roofline").get<double>(), 80, 1);
  EXPECT_EQ(probes_of(document), (std::set<std::string>{"copy", "exp_rate", "fma", "launch"}));
  const json other = measure_resident({"--op", "softmax", "--size", "2MB"});
  EXPECT_EQ(other.at("results").at(0).at("bound"), "memory") << "no exponentials are counted";
}

TEST(ceilings, keep_their_samples_and_give_shares_an_interval) {
  const json document =
      measure_resident({"--op", "add", "--size", "2MB", "--target-noise", "0.0001%", "--time-budget", "3s"},
                       "--noise 0.05 --delay 0.02");
  const json& result = document.at("results").at(0);
  for (const json& ceiling : document.at("devices").at(0).at("ceilings")) {
    if (ceiling.at("probe") != "triad") continue;
    EXPECT_GE(ceiling.at("samples").size(), 30U);
    EXPECT_LE(ceiling.at("interval").at("low"), ceiling.at("value"));
    EXPECT_GE(ceiling.at("interval").at("high"), ceiling.at("value"));
  }
  const json& interval = result.at("percent").at("roofline_interval");
  ASSERT_TRUE(interval.is_object()) << result.dump();
  EXPECT_LT(interval.at("low"), result.at("percent").at("roofline"));
  EXPECT_GT(interval.at("high"), result.at("percent").at("roofline"));
}

TEST(ceilings, a_call_below_the_launch_floor_is_bound_by_it) {
  const json document = measure_resident({"--op", "add", "--shape", "n=100"});
  const json& result = document.at("results").at(0);
  EXPECT_EQ(result.at("bound"), "launch");
  EXPECT_NEAR(result.at("percent").at("roofline").get<double>(), 100, 1) << "of a triad that is as short";
  for (const json& ceiling : document.at("devices").at(0).at("ceilings")) {
    if (ceiling.at("probe") != "launch") continue;
    EXPECT_EQ(ceiling.at("unit"), "s");
    EXPECT_TRUE(ceiling.at("bytes_per_array").is_null());
    EXPECT_NEAR(ceiling.at("value").get<double>(), 2e-6, 1e-8);
  }
}

TEST(ceilings, a_probe_that_fails_costs_the_share_alone) {
  const json document = measure_resident({"--op", "add", "--size", "2MB"}, "--fault sample:triad=error:failed");
  const json& result = document.at("results").at(0);
  EXPECT_EQ(result.at("status"), "ok");
  EXPECT_TRUE(result.at("percent").at("roofline").is_null());
}

}  // namespace
}  // namespace prumo::bench::test
