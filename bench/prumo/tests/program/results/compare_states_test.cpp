// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prumo compare --state`: bursts and sustained work of two files, and their clocks.
#include "results/results_file.hpp"
#include "run_program.hpp"
#include "sample_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

using bench::testing::document_of;
using bench::testing::sample_bytes;
using bench::testing::sample_result;
using bench::testing::sample_state;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A file of one run with an addition that takes a millisecond in turns and has these states.
std::string results_in_states(const temporary_folder& folder, const std::string& name, const json& states) {
  json result = sample_result("add", sample_bytes, 1e-3);
  if (!states.empty()) result["states"] = states;
  json document = document_of({result});
  document["run"]["id"] = name;
  write_file(folder.file(name), dump_results(document));
  return folder.file(name);
}

json sustained(double seconds, double clock_mhz) {
  return {{"sustained", sample_state(seconds, clock_mhz, {"power cap"})}};
}

/// Words for three files of each side.
std::vector<std::string> three_of_each(const temporary_folder& folder, const json& before, const json& after) {
  std::vector<std::string> words;
  for (const char* name : {"a1", "a2", "a3"}) words.push_back(results_in_states(folder, name, before));
  words.emplace_back("--to");
  for (const char* name : {"b1", "b2", "b3"}) words.push_back(results_in_states(folder, name, after));
  return words;
}

TEST(compare_states, files_that_bench_wrote_are_compared_at_the_power_limit) {
  const temporary_folder folder;
  const auto bench = [&](const std::string& name, const std::string& worker) {
    const program_result measured = run_prumo(joined({"bench", "--quick", "--op", "add", "--size", "2MB", "--data",
                                                      "resident", "--power-states", "all", "-o", folder.file(name)},
                                                     fake_worker_words("--backend cuda" + worker)));
    EXPECT_EQ(measured.code, 0) << measured.err;
    return folder.file(name);
  };
  // The limited device runs at 1200 instead of 1485 MHz, and its calls take longer by just that.
  const std::vector<std::string> files{bench("a.json", ""), bench("b.json", " --slow-sustained 1.2375")};
  const std::string out = folder.file("c.json");
  const program_result shown = run_compare(joined(files, {"--state", "sustained", "-o", out}));
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("sustained: measured after seconds of work at the case alone"),
                    HasSubstr("1 case ran at another clock"), HasSubstr("1485 -> 1200"), HasSubstr("per clock")));
  const json side = json::parse(read_file(out)).at("cases").at(0).at("sides").at(1);
  EXPECT_NEAR(side.at("ratio").get<double>(), 1.2375, 0.03);
  EXPECT_NEAR(side.at("ratio_per_clock").get<double>(), 1, 0.03);
  EXPECT_FALSE(side.at("energy_j").is_null());

  const program_result burst = run_compare(joined(files, {"--state", "burst", "-o", out}));
  EXPECT_EQ(burst.code, 0) << burst.err;
  EXPECT_THAT(burst.out, Not(HasSubstr("another clock")));
  const json document = json::parse(read_file(out));
  EXPECT_EQ(document.at("state"), "burst");
  EXPECT_NEAR(document.at("cases").at(0).at("sides").at(1).at("ratio").get<double>(), 1, 0.03);
  EXPECT_EQ(run_compare(files).out, run_compare(joined(files, {"--state", "turns"})).out);
}

TEST(compare_states, a_gate_judges_the_state) {
  const temporary_folder folder;
  const auto slower = three_of_each(folder, sustained(1.2e-3, 1600), sustained(1.3e-3, 1600));
  EXPECT_EQ(run_compare(joined(slower, {"--gate", "3%"})).code, 0) << "the turns are the same";
  const program_result failed = run_compare(joined(slower, {"--gate", "3%", "--state", "sustained"}));
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_THAT(failed.out, AllOf(HasSubstr("1.20 ms"), HasSubstr("1.30 ms"), HasSubstr("NOT passed, 1 slower")));
  EXPECT_EQ(run_compare(joined(slower, {"--gate", "10%", "--state", "sustained"})).code, 0);
}

TEST(compare_states, a_gate_over_fewer_than_three_files_with_the_state_is_inconclusive) {
  const temporary_folder folder;
  auto words = three_of_each(folder, sustained(1.2e-3, 1600), sustained(1.2e-3, 1600));
  EXPECT_EQ(run_compare(joined(words, {"--gate", "3%", "--state", "sustained"})).code, 0);
  results_in_states(folder, "b2", {});
  const program_result gated = run_compare(joined(words, {"--gate", "3%", "--state", "sustained"}));
  EXPECT_EQ(gated.code, 4) << gated.out;
  EXPECT_THAT(gated.out,
              AllOf(HasSubstr("INCONCLUSIVE"), HasSubstr("--power-states all"), Not(HasSubstr("--against"))));
  EXPECT_THAT(gated.err, HasSubstr("b2: 1 of 1 result left out, not measured in the state sustained"));
}

TEST(compare_states, what_no_file_has_is_refused_with_the_remedy) {
  const temporary_folder folder;
  const std::string with = results_in_states(folder, "with.json", sustained(1.2e-3, 1600));
  const std::string without = results_in_states(folder, "without.json", {});
  const program_result none = run_compare({with, without, "--state", "burst"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.out, IsEmpty());
  EXPECT_THAT(none.err,
              AllOf(HasSubstr("--state burst: no result of these files"), HasSubstr("prumo bench --power-states all")));
  const program_result one_side = run_compare({with, without, "--state", "sustained"});
  EXPECT_EQ(one_side.code, 2);
  EXPECT_THAT(one_side.err, AllOf(HasSubstr("skipped in without.json: not measured in the state sustained"),
                                  HasSubstr("--power-states all")));
  const program_result unknown = run_compare({with, with, "--state", "sustain"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("--state: unknown value 'sustain'"), HasSubstr("sustained")));
  EXPECT_THAT(run_compare({"--help"}).out, HasSubstr("--state"));
}

TEST(compare_states, files_of_other_programs_have_no_states) {
  const temporary_folder folder;
  const json document = {{"context", {{"host_name", "station"}}},
                         {"benchmarks", {{{"name", "BM_copy"}, {"run_type", "iteration"}, {"real_time", 2.0}}}}};
  write_file(folder.file("google.json"), document.dump());
  const program_result refused =
      run_compare({folder.file("google.json"), folder.file("google.json"), "--state", "burst"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no result of these files was measured in this state"));
}

}  // namespace
}  // namespace prumo::bench::test
