// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparing what was measured in a state of power, and the clocks.
#include "comparison/compared_state.hpp"

#include "comparison/choice.hpp"
#include "comparison/report/clocks.hpp"
#include "comparison/report/comparison_document.hpp"
#include "comparison/report/comparison_table.hpp"
#include "results/result_fields.hpp"
#include "results/results_file.hpp"
#include "sample_results.hpp"
#include "terminal/program_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prumo::bench::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A product that takes a millisecond in turns, with these states.
json with_states(const json& states) {
  json result = sample_result("gemm", sample_bytes, 1e-3);
  result["states"] = states;
  return result;
}

comparison_source source_named(const std::string& name, std::vector<json> results) {
  json document = document_of(std::move(results));
  document["run"]["id"] = name;
  return source_of_results(std::move(document), name);
}

/// Two files of which the second was sustained at a higher clock.
std::vector<comparison_source> two_cards() {
  const json burst = sample_state(0.9e-3, 1980);
  return {source_named("a.json",
                       {with_states({{"burst", burst}, {"sustained", sample_state(1.25e-3, 1600, {"power cap"})}})}),
          source_named("b.json",
                       {with_states({{"burst", burst}, {"sustained", sample_state(1.2e-3, 1680, {"power cap"})}})})};
}

comparison compare(std::vector<comparison_source>& sources, compared_state state) {
  take_state(sources, state);
  std::vector<const comparison_source*> after;
  for (std::size_t i = 1; i < sources.size(); ++i) after.push_back(&sources[i]);
  comparison of = choose_comparison({{&sources.front()}, after, "", false});
  of.state = state;
  judge_cases(of, {});
  return of;
}

std::string table_of(const comparison& of) {
  text_style plain;
  plain.width = 100;
  return comparison_table(of, {}, plain);
}

TEST(compared_state, all_figures_are_those_of_the_state) {
  std::vector<comparison_source> sources = two_cards();
  const cell_figures in_turns = figures_of({&sources[0].rows[0]});
  const comparison of = compare(sources, compared_state::sustained);
  const cell_figures figures = figures_of(of.cases.at(0).cells.at(0));
  EXPECT_DOUBLE_EQ(*figures.seconds, 1.25e-3);
  EXPECT_DOUBLE_EQ(*figures.gflops, *in_turns.gflops / 1.25);
  EXPECT_DOUBLE_EQ(*figures.gbytes, *in_turns.gbytes / 1.25);
  EXPECT_DOUBLE_EQ(*figures.gelements, *in_turns.gelements / 1.25);
  EXPECT_DOUBLE_EQ(*figures.roofline, *in_turns.roofline / 1.25);
  EXPECT_NEAR(*figures.peak, *in_turns.peak / 1.25 * 3100 / 1600, 1e-9) << "of the peak at the measured clock";
  EXPECT_DOUBLE_EQ(*figures.energy, 2);
  EXPECT_DOUBLE_EQ(*figures.clock_mhz, 1600);
  EXPECT_THAT(figures.throttle, ElementsAre("power cap"));
  EXPECT_NEAR(*of.cases.at(0).outcomes.at(1).ratio, 1.2 / 1.25, 1e-9);
  ASSERT_TRUE(of.cases.at(0).outcomes.at(1).judged);
  EXPECT_NEAR(of.cases.at(0).outcomes.at(1).judged->ratio, 1.2 / 1.25, 1e-3);
}

TEST(compared_state, turns_are_what_they_were) {
  std::vector<comparison_source> sources = two_cards();
  const comparison of = compare(sources, compared_state::turns);
  EXPECT_DOUBLE_EQ(*figures_of(of.cases.at(0).cells.at(0)).seconds, 1e-3);
  EXPECT_THAT(sources[0].notes, IsEmpty());
  EXPECT_THAT(table_of(of), AllOf(Not(HasSubstr("per clock")), Not(HasSubstr("sustained"))));
}

TEST(compared_state, a_share_of_the_peak_at_an_unknown_clock_is_unknown) {
  std::vector<comparison_source> sources = two_cards();
  sources[0].rows[0].result["states"]["burst"]["clock_mhz"] = nullptr;
  take_state(sources, compared_state::burst);
  EXPECT_FALSE(figures_of({&sources[0].rows[0]}).peak);
  EXPECT_TRUE(figures_of({&sources[1].rows[0]}).peak);
}

TEST(compared_state, what_was_not_measured_in_it_is_told_and_never_shown) {
  std::vector<comparison_source> sources = two_cards();
  sources.push_back(source_named("c.json", {with_states(json::object())}));
  for (std::size_t i = 0; i < 2; ++i) {
    measurement more = sources[i].rows.front();
    more.result["key"] = "other";
    if (i == 1) more.result.erase("states");
    sources[i].rows.push_back(std::move(more));
  }
  const comparison of = compare(sources, compared_state::burst);
  EXPECT_EQ(of.cases.size(), 1U);
  ASSERT_EQ(of.lonely.size(), 1U);
  EXPECT_EQ(of.lonely.front().what.key, "other");
  EXPECT_THAT(of.lonely.front().reason,
              HasSubstr("not measured in the state burst, as `prumo bench --power-states all`"));
  EXPECT_THAT(sources[0].notes, IsEmpty());
  EXPECT_THAT(sources[1].notes,
              ElementsAre(HasSubstr("b.json: 1 of 2 results left out, not measured in the state burst")));
  EXPECT_THAT(sources[2].notes, ElementsAre(HasSubstr("--power-states all")));
  EXPECT_DOUBLE_EQ(*figures_of(of.cases.at(0).cells.at(1)).seconds, 0.9e-3)
      << "c.json has no burst, and is not mixed in";
}

TEST(compared_state, a_state_that_no_file_has_is_refused_with_the_remedy) {
  std::vector<comparison_source> sources = {source_named("a.json", {sample_result("add", sample_bytes, 1e-3)})};
  try {
    take_state(sources, compared_state::burst);
    FAIL();
  } catch (const program_error& error) {
    EXPECT_EQ(error.code(), exit_code::wrong_usage);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("--state burst: no result"), HasSubstr("prumo bench --power-states all")));
  }
}

TEST(compared_state, results_that_had_not_settled_are_told) {
  std::vector<comparison_source> sources = two_cards();
  sources[1].rows[0].result["states"]["sustained"]["steady"] = false;
  take_state(sources, compared_state::sustained);
  EXPECT_THAT(sources[1].notes, ElementsAre("b.json: 1 result had not settled in the state sustained when measured"));
}

TEST(clocks, cycles_tell_a_lower_clock_from_slower_code) {
  std::vector<comparison_source> sources = two_cards();
  const comparison of = compare(sources, compared_state::sustained);
  EXPECT_NEAR(*ratio_per_clock(of.cases.at(0), 0, 1), 1.2 / 1.25 * 1680 / 1600, 1e-3);
  const std::string table = table_of(of);
  EXPECT_THAT(table, AllOf(HasSubstr("sustained: measured after seconds of work"),
                           HasSubstr("1 case ran at another clock"), HasSubstr("1600 -> 1680"), HasSubstr("power cap"),
                           HasSubstr("0.96"), HasSubstr("1.008"), HasSubstr("code is not slower")));
  const json document = json::parse(dump_comparison(of, {}, {"prumo", "compare"}));
  EXPECT_EQ(document.at("state"), "sustained");
  const json& side = document.at("cases").at(0).at("sides").at(1);
  EXPECT_EQ(side.at("clock_mhz"), 1680);
  EXPECT_EQ(side.at("throttle"), json::array({"power cap"}));
  EXPECT_NEAR(side.at("ratio_per_clock").get<double>(), 1.008, 1e-3);
  EXPECT_THAT(comparison_csv(of),
              AllOf(HasSubstr(",base_clock_mhz,clock_mhz,base_throttle,throttle,ratio_per_clock,state\r\n"),
                    HasSubstr(",1600.0,1680.0,power cap,power cap,1.00"), HasSubstr(",sustained\r\n")));
}

TEST(clocks, clocks_of_turns_are_told_too) {
  json slow = sample_result("add", sample_bytes, 1.03e-3);
  slow["clock_mhz"] = 3000.0;
  slow["warnings"] = {throttle_warning({"power cap", "temperature"}), "another warning"};
  std::vector<comparison_source> sources = {source_named("a.json", {sample_result("add", sample_bytes, 1e-3)}),
                                            source_named("b.json", {slow})};
  EXPECT_THAT(table_of(compare(sources, compared_state::turns)),
              AllOf(HasSubstr("3100 -> 3000"), HasSubstr("- -> power cap, temperature"), HasSubstr("0.9968")));
}

TEST(clocks, nothing_is_said_of_clocks_that_are_alike_or_unknown) {
  for (const json& clock : {json(3090.0), json()}) {
    json other = sample_result("add", sample_bytes, 1e-3);
    other["clock_mhz"] = clock;
    std::vector<comparison_source> sources = {source_named("a.json", {sample_result("add", sample_bytes, 1e-3)}),
                                              source_named("b.json", {other})};
    const comparison of = compare(sources, compared_state::turns);
    EXPECT_THAT(table_of(of), Not(HasSubstr("clock")));
    EXPECT_EQ(ratio_per_clock(of.cases.at(0), 0, 1).has_value(), clock.is_number());
  }
}

TEST(clocks, cycles_of_different_models_are_not_set_side_by_side) {
  std::vector<comparison_source> sources = two_cards();
  take_state(sources, compared_state::sustained);
  const auto lines = [&] {
    comparison of = choose_comparison({{&sources[0], &sources[1]}, {}, "openmp:0 a.json", false});
    judge_cases(of, {});
    return table_of(of);
  };
  EXPECT_THAT(lines(), AllOf(HasSubstr("openmp:0 b.json"), HasSubstr("1600 -> 1680")));
  sources[1].devices[0]["name"] = "Another GPU";
  sources[0].run["host"]["name"] = sources[1].run["host"]["name"] = nullptr;
  comparison of = choose_comparison({{&sources[0], &sources[1]}, {}, "openmp:0 Example CPU", false});
  judge_cases(of, {});
  EXPECT_THAT(table_of(of), Not(HasSubstr("1600 -> 1680")));
}

}  // namespace
}  // namespace prumo::bench::testing
