// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A case in turns with others, as a burst after idling, and as sustained work.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

struct outcome {
  json document;
  std::string table;
};

outcome measure_states(const std::vector<std::string>& words, const std::string& worker) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const program_result result = run_prumo(
      joined(joined({"bench", "--quick", "--op", "add", "--size", "2MB", "--data", "resident", "-o", path}, words),
             fake_worker_words(worker)));
  EXPECT_EQ(result.code, 0) << result.err;
  return {load_results(path), result.out};
}

double median_of(const json& time) { return time.at("median").get<double>(); }

TEST(power_states, what_the_power_limit_does_stays_out_of_the_time) {
  const outcome found = measure_states({"--power-states", "all"}, "--backend cuda --slow-sustained 1.16");
  const json& result = found.document.at("results").at(0);
  const json& burst = result.at("states").at("burst");
  const json& sustained = result.at("states").at("sustained");
  EXPECT_NEAR(median_of(sustained), 1.16 * median_of(burst), 0.01 * median_of(burst));
  EXPECT_NEAR(median_of(result.at("time_s")), median_of(burst), 0.01 * median_of(burst));
  for (const json& sample : result.at("time_s").at("samples")) {
    EXPECT_LT(sample.get<double>(), 1.1 * median_of(burst)) << "a sample of the sustained state";
  }
  EXPECT_EQ(result.at("clock_mhz"), 1485.0) << "of the turns";
  EXPECT_EQ(burst.at("clock_mhz"), 1485.0);
  EXPECT_EQ(sustained.at("clock_mhz"), 1200.0);
  EXPECT_EQ(sustained.at("steady"), true);
  EXPECT_TRUE(burst.at("power_w").is_null()) << "shorter than the steps of the counter";
  EXPECT_NEAR(sustained.at("power_w").get<double>() * median_of(sustained), 0.5, 0.01) << "joules of a call";
  EXPECT_EQ(result.at("energy_j"), sustained.at("energy_j"));
  EXPECT_THAT(found.table, HasSubstr("burst after idling"));
  EXPECT_THAT(found.table, HasSubstr("at 1200 MHz"));
}

TEST(power_states, a_case_that_no_limit_slows_has_no_note) {
  const outcome found = measure_states({"--power-states", "all"}, "--backend cuda");
  EXPECT_TRUE(found.document.at("results").at(0).contains("states"));
  EXPECT_THAT(found.table, Not(HasSubstr("burst")));
}

TEST(power_states, a_device_without_clock_and_energy_is_measured_in_the_same_way) {
  const outcome found = measure_states({"--power-states", "all"}, "--backend cuda --slow-sustained 1.16 --no-energy");
  const json& states = found.document.at("results").at(0).at("states");
  EXPECT_NEAR(median_of(states.at("sustained")), 1.16 * median_of(states.at("burst")),
              0.01 * median_of(states.at("burst")));
  EXPECT_TRUE(states.at("sustained").at("energy_j").is_null());
}

TEST(power_states, are_measured_where_they_were_asked_for) {
  EXPECT_FALSE(
      measure_states({"--power-states", "none"}, "--backend cuda").document.at("results").at(0).contains("states"));
  EXPECT_FALSE(measure_states({}, "--backend openmp").document.at("results").at(0).contains("states")) << "a host";
  EXPECT_TRUE(
      measure_states({"--power-states", "all"}, "--backend openmp").document.at("results").at(0).contains("states"));
  const program_result wrong = run_prumo({"bench", "--power-states", "some"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--power-states"));
  EXPECT_THAT(wrong.err, HasSubstr("none, largest, all"));
}

}  // namespace
}  // namespace prumo::bench::test
