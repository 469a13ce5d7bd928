// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which rows meet, which are refused, what a comparison counts.
#include "comparison/comparison.hpp"

#include "comparison/choice.hpp"
#include "comparison/comparison_gate.hpp"
#include "comparison/context.hpp"
#include "comparison/report/comparison_cells.hpp"
#include "comparison/report/comparison_table.hpp"
#include "results/results_file.hpp"
#include "sample_results.hpp"
#include "terminal/program_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace prumo::bench::testing {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A source of these results; other runs have other ids.
comparison_source source_with(const std::string& name, std::vector<json> results,
                              const std::function<void(json&)>& change = {}) {
  json document = document_of(std::move(results));
  document["run"]["id"] = name;
  if (change) change(document);
  return source_of_results(std::move(document), name);
}

json with_key(json result) {
  result["key"] = result_key(result);
  return result;
}

json with(json result, const char* field, const json& value) {
  result[field] = value;
  return with_key(std::move(result));
}

comparison versions(const comparison_source& before, const comparison_source& after) {
  comparison of = choose_comparison({{&before}, {&after}, "", false});
  judge_cases(of, {});
  return of;
}

std::string refusal(const json& before, const json& after) {
  const comparison_source a = source_with("a.json", {before});
  const comparison_source b = source_with("b.json", {after});
  const comparison of = versions(a, b);
  EXPECT_FALSE(of.cases.at(0).outcomes.at(1).judged);
  return of.cases.at(0).outcomes.at(1).refusal;
}

TEST(comparison, joins_versions_by_case_device_and_implementation) {
  const comparison_source a =
      source_with("a.json", {sample_result("add", sample_bytes, 1e-3), sample_result("mul", sample_bytes, 1e-3)});
  const comparison_source b =
      source_with("b.json", {sample_result("mul", sample_bytes, 2e-3), sample_result("add", sample_bytes, 1e-3)});
  const comparison of = versions(a, b);
  ASSERT_EQ(of.cases.size(), 2U);
  EXPECT_THAT(of.lonely, IsEmpty());
  const verdict_counts counts = count_verdicts(of);
  EXPECT_EQ(counts.unclear, 2U) << "one run of each side has no verdict, not even on twice the time";
  const gate_report gate = report_gate(of, {});
  EXPECT_EQ(gate.outcome, gate_outcome::inconclusive);
  EXPECT_EQ(gate.too_few_runs, 2U);
  EXPECT_EQ(gate.further_runs, 2U);
  EXPECT_THAT(gate_line(of, gate, {}), HasSubstr("prumo bench --against OLD_BUILD --gate 3%"));
  EXPECT_NEAR(*of.cases.at(1).outcomes.at(1).ratio, 2, 1e-9);
}

TEST(comparison, another_implementation_on_the_other_side_meets_the_only_one_left) {
  const comparison_source a =
      source_with("a.json", {with(sample_result("gemm", sample_bytes, 1e-3), "implementation", "cblas")});
  const comparison_source b =
      source_with("b.json", {with(sample_result("gemm", sample_bytes, 1e-3), "implementation", "portable")});
  const comparison of = versions(a, b);
  ASSERT_EQ(of.cases.size(), 1U);
  EXPECT_EQ(of.cases.front().implementation, "cblas -> portable");
  EXPECT_THAT(of.notes, Contains(HasSubstr("another implementation")));
}

TEST(comparison, runs_of_several_files_of_a_side_are_runs) {
  std::vector<comparison_source> files;
  for (int i = 0; i < 6; ++i) {
    files.push_back(source_with("r" + std::to_string(i), {sample_result("add", sample_bytes, i < 3 ? 1e-3 : 1.2e-3)}));
  }
  comparison of = choose_comparison({{&files[0], &files[1], &files[2]}, {&files[3], &files[4], &files[5]}, "", false});
  judge_cases(of, {});
  ASSERT_EQ(of.cases.size(), 1U);
  ASSERT_TRUE(of.cases.front().outcomes.at(1).judged);
  EXPECT_FALSE(of.cases.front().outcomes.at(1).judged->spread_assumed);
  EXPECT_EQ(of.cases.front().outcomes.at(1).judged->which, verdict::slower);
}

TEST(comparison, a_gate_over_what_was_refused_is_inconclusive) {
  const json good = sample_result("add", sample_bytes, 1e-3);
  const comparison_source a = source_with("a.json", {good});
  const comparison_source b = source_with("b.json", {with(good, "bytes", 4 * sample_bytes)});
  const comparison of = versions(a, b);
  const gate_report gate = report_gate(of, {});
  EXPECT_EQ(gate.outcome, gate_outcome::inconclusive);
  EXPECT_EQ(gate.undecided, 1U);
  EXPECT_EQ(gate.noisy, 0U) << "more runs would not help";
  EXPECT_THAT(gate_line(of, gate, {}), HasSubstr("1 refused"));
}

TEST(comparison, a_run_that_is_on_a_side_twice_counts_once) {
  const comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3)});
  comparison_source copy = a;
  copy.name = "copy.json";
  const comparison_source b = source_with("b.json", {sample_result("add", sample_bytes, 1e-3)});
  const comparison of = choose_comparison({{&a, &copy}, {&b}, "", false});
  EXPECT_EQ(of.sides.at(0).sources.size(), 1U);
  EXPECT_THAT(of.notes, Contains(HasSubstr("counts once")));
  EXPECT_THAT(choose_comparison({{&a}, {&copy}, "", false}).notes, Contains(HasSubstr("compared with itself")));
}

TEST(comparison, refuses_with_a_reason) {
  const json good = sample_result("add", sample_bytes, 1e-3);
  EXPECT_EQ(refusal(good, with(good, "verified", false)), "its result was wrong in b.json");
  EXPECT_THAT(refusal(good, with(good, "verified", nullptr)), HasSubstr("verified in a.json, but not in b.json"));
  EXPECT_THAT(refusal(good, with(good, "bytes", 4 * sample_bytes)), HasSubstr("the bytes are counted differently"));
}

TEST(comparison, refuses_other_data) {
  const auto seed = [](int value) { return [value](json& document) { document["run"]["plan"] = {{"seed", value}}; }; };
  const comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3)}, seed(1));
  const comparison_source b = source_with("b.json", {sample_result("add", sample_bytes, 1e-3)}, seed(7));
  EXPECT_EQ(versions(a, b).cases.at(0).outcomes.at(1).refusal,
            "the data differ, because of another --seed: 1 (a.json), 7 (b.json)");
}

TEST(comparison, cases_that_differ_in_a_property_are_told_with_it) {
  const json cold = sample_result("add", sample_bytes, 1e-3);
  const json mul = sample_result("mul", sample_bytes, 1e-3);
  const comparison_source a = source_with("a.json", {cold, mul});
  const comparison_source b =
      source_with("b.json", {with(cold, "cache", "hot"), mul, sample_result("sum", sample_bytes, 1e-3)});
  const comparison of = versions(a, b);
  EXPECT_EQ(of.cases.size(), 1U);
  std::multiset<std::string> reasons;
  for (const lonely_case& it : of.lonely) reasons.insert(it.reason);
  EXPECT_THAT(reasons, ElementsAre("different cache: cold in a.json, hot in b.json",
                                   "different cache: cold in a.json, hot in b.json", "only in b.json"));
}

TEST(comparison, files_of_before_there_was_a_dispatch_have_recorded_calls) {
  json earlier = sample_result("add", sample_bytes, 1e-3);
  earlier.erase("dispatch");
  const comparison of =
      versions(source_with("a.json", {earlier}), source_with("b.json", {with(earlier, "dispatch", "recorded")}));
  EXPECT_EQ(of.cases.size(), 1U);
  const json single = with(earlier, "dispatch", "single");
  const comparison apart = versions(source_with("a.json", {earlier, sample_result("mul", sample_bytes, 1e-3)}),
                                    source_with("b.json", {single, sample_result("mul", sample_bytes, 1e-3)}));
  ASSERT_EQ(apart.lonely.size(), 2U);
  EXPECT_EQ(apart.lonely.front().reason, "different dispatch: recorded in a.json, single in b.json");
}

TEST(comparison, samples_are_told_apart_by_process_run) {
  json result = sample_result("add", sample_bytes, 1e-3);
  result["time_s"]["samples"] = {1e-3, 2e-3, 3e-3, 8e-3};
  result["time_s"]["runs"] = {3, 0, 1};
  const comparison_source a = source_with("a.json", {result});
  EXPECT_EQ(a.rows.front().runs, (process_runs{{1e-3, 2e-3, 3e-3}, {}, {8e-3}}));
  EXPECT_DOUBLE_EQ(*a.rows.front().seconds(), 5e-3) << "the median of 2 and 8 ms";
  result["time_s"]["runs"] = {3, 7};
  EXPECT_EQ(source_with("a.json", {result}).rows.front().runs.size(), 1U) << "more than there are: not believed";
}

TEST(comparison, what_failed_is_shown_and_breaks_the_gate) {
  json failed = sample_result("add", sample_bytes, 1e-3);
  failed["status"] = "failed";
  failed["reason"] = "killed by signal 9";
  failed["verified"] = nullptr;
  failed["time_s"] = nullptr;
  const comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3)});
  const comparison_source b = source_with("b.json", {failed});
  const comparison of = versions(a, b);
  ASSERT_EQ(of.cases.size(), 1U);
  EXPECT_EQ(count_verdicts(of).broke, 1U);
  EXPECT_EQ(report_gate(of, {}).outcome, gate_outcome::failed);
  const std::string table = comparison_table(of, {}, {});
  EXPECT_THAT(table, HasSubstr("failed: killed by signal 9"));
  EXPECT_EQ(report_gate(versions(b, a), {}).outcome, gate_outcome::passed) << "what failed before may run now";
}

TEST(comparison, what_was_skipped_has_no_partner) {
  json skipped = with(skipped_result("add", sample_bytes), "data", "resident");
  skipped = with(skipped, "host_memory", nullptr);
  const comparison_source a =
      source_with("a.json", {sample_result("add", sample_bytes, 1e-3), sample_result("mul", sample_bytes, 1e-3)});
  const comparison_source b = source_with("b.json", {skipped, sample_result("mul", sample_bytes, 1e-3)});
  const comparison of = versions(a, b);
  EXPECT_EQ(of.cases.size(), 1U);
  ASSERT_EQ(of.lonely.size(), 1U);
  EXPECT_EQ(of.lonely.front().side, "a.json");
  EXPECT_EQ(of.lonely.front().reason, "skipped in b.json: a host device has no transfers");
}

TEST(comparison, published_figures_have_a_ratio_and_no_verdict) {
  json published = sample_result("add", sample_bytes, 2e-3);
  published["published"] = {{"title", "A study"}};
  published["verified"] = nullptr;
  published["device"] = "study:0";
  const comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3)});
  const comparison_source b = source_with("study", {published});
  comparison of = choose_comparison({{&a, &b}, {}, "", false});
  judge_cases(of, {});
  ASSERT_EQ(of.mode, comparison_mode::devices);
  const case_outcome& outcome = of.cases.at(0).outcomes.at(1);
  EXPECT_THAT(outcome.refusal, IsEmpty());
  EXPECT_FALSE(outcome.judged);
  EXPECT_NEAR(*outcome.ratio, 2, 1e-9);
  const std::string table = comparison_table(of, {}, {});
  EXPECT_THAT(table, HasSubstr("2.00 ms*"));
  EXPECT_THAT(table, HasSubstr("*: published"));
}

TEST(comparison, what_is_published_and_measured_nowhere_is_left_out) {
  const auto published = [](const char* device, const char* op) {
    json result = with(sample_result(op, sample_bytes, 2e-3), "device", device);
    result["published"] = {{"source", "A study"}};
    result["verified"] = nullptr;
    return result;
  };
  const comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3)});
  const comparison_source b = source_with(
      "study",
      {published("old:0", "add"), published("old:1", "add"), published("old:0", "mul"), published("old:1", "mul")},
      [](json& document) { document["run"]["host"] = json::object(); });
  const comparison of = choose_comparison({{&a, &b}, {}, "", false});
  ASSERT_EQ(of.cases.size(), 1U);
  EXPECT_EQ(of.cases.front().result().at("op"), "add");
  EXPECT_EQ(of.lonely.at(0).reason, "published, but measured nowhere");
  EXPECT_THAT(context_differences(of), IsEmpty()) << "what a study does not tell is no difference";
  EXPECT_EQ(choose_comparison({{&b}, {}, "", false}).cases.size(), 2U) << "alone they meet each other";
}

TEST(comparison, devices_of_one_file_stand_side_by_side) {
  const json other = with(sample_result("add", sample_bytes, 4e-3), "device", "numpy:0");
  comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3), other},
                                    [](json& document) { document["devices"].push_back(sample_device("numpy:0")); });
  comparison of = choose_comparison({{&a}, {}, "numpy:0", false});
  judge_cases(of, {});
  ASSERT_EQ(of.mode, comparison_mode::devices);
  EXPECT_EQ(of.sides.at(of.base).label, "numpy:0");
  const auto faster = relative_value(of.cases.at(0), of.base, 0, comparison_value::time);
  ASSERT_TRUE(faster);
  EXPECT_NEAR(*faster, 4, 1e-9) << "openmp:0 is four times as fast";
  EXPECT_THROW((void)choose_comparison({{&a}, {}, "cuda:0", false}), program_error);
}

TEST(comparison, of_several_implementations_the_fastest_right_one_stands_for_a_device) {
  json wrong = with(sample_result("gemm", sample_bytes, 1e-3), "implementation", "wrong");
  wrong["verified"] = false;
  const json fast = with(sample_result("gemm", sample_bytes, 2e-3), "implementation", "cblas");
  const json slow = with(sample_result("gemm", sample_bytes, 3e-3), "implementation", "portable");
  const json peer = with(sample_result("gemm", sample_bytes, 3e-3), "device", "numpy:0");
  const comparison_source a = source_with("a.json", {wrong, slow, fast, peer}, [](json& document) {
    document["devices"].push_back(sample_device("numpy:0"));
  });
  const comparison of = choose_comparison({{&a}, {}, "", false});
  ASSERT_EQ(of.cases.size(), 1U);
  EXPECT_EQ(representative(of.cases.front().cells.at(0))->result.at("implementation"), "cblas");
  EXPECT_THAT(of.notes, Contains(HasSubstr("--impl all")));
}

TEST(comparison, one_device_has_a_column_for_each_implementation) {
  const json fast = with(sample_result("gemm", sample_bytes, 2e-3), "implementation", "cblas");
  const json slow = with(sample_result("gemm", sample_bytes, 3e-3), "implementation", "portable");
  const comparison_source a = source_with("a.json", {fast, slow});
  const comparison of = choose_comparison({{&a}, {}, "", false});
  ASSERT_EQ(of.sides.size(), 2U);
  EXPECT_EQ(of.sides.at(1).label, "openmp:0 portable");
  const comparison_source alone = source_with("a.json", {fast});
  EXPECT_THROW((void)choose_comparison({{&alone}, {}, "", false}), program_error);
}

TEST(comparison, the_same_id_on_another_machine_is_another_device) {
  const comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3)});
  const comparison_source b = source_with("b.json", {sample_result("add", sample_bytes, 1e-3)},
                                          [](json& document) { document["run"]["host"]["name"] = "notebook"; });
  const comparison of = choose_comparison({{&a, &b}, {}, "", false});
  ASSERT_EQ(of.mode, comparison_mode::devices);
  EXPECT_EQ(of.sides.at(0).label, "openmp:0 station");
  EXPECT_EQ(of.sides.at(1).label, "openmp:0 notebook");
  EXPECT_EQ(choose_comparison({{&a}, {&b}, "", false}).mode, comparison_mode::versions) << "forced by --to";
}

TEST(comparison, filters_name_what_there_is) {
  std::vector<comparison_source> sources;
  sources.push_back(
      source_with("a.json", {sample_result("add", sample_bytes, 1e-3), sample_result("mul", 2 * sample_bytes, 1e-3)}));
  row_filters filters;
  filters.ops = {"ad"};
  try {
    keep_rows(sources, filters);
    FAIL() << "took an operation that is not there";
  } catch (const program_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'add'?"));
  }
  filters.ops.clear();
  filters.devices = {"openmp"};
  filters.sizes = {sample_bytes};
  keep_rows(sources, filters);
  ASSERT_EQ(sources.front().rows.size(), 1U);
  EXPECT_EQ(sources.front().rows.front().result.at("op"), "add");
  filters.sizes = {3 * sample_bytes};
  EXPECT_THROW(keep_rows(sources, filters), program_error);
}

TEST(comparison, of_results_given_twice_the_last_counts) {
  const comparison_source a =
      source_with("a.json", {sample_result("add", sample_bytes, 1e-3), sample_result("add", sample_bytes, 3e-3)});
  ASSERT_EQ(a.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(*a.rows.front().seconds(), 3e-3);
  EXPECT_THAT(a.notes, ElementsAre(HasSubstr("twice")));
}

TEST(comparison, context_tells_what_differs_in_order_of_weight) {
  const comparison_source a = source_with("a.json", {sample_result("add", sample_bytes, 1e-3)}, [](json& document) {
    document["devices"][0]["worker"] = {{"versions", {{"compiler", "GCC 15"}, {"blas", "OpenBLAS 1"}}}};
  });
  const comparison_source b = source_with("b.json", {sample_result("add", sample_bytes, 1e-3)}, [](json& document) {
    document["devices"][0]["worker"] = {{"versions", {{"compiler", "GCC 16"}, {"blas", "OpenBLAS 1"}}}};
    document["devices"][0]["facts"]["clock_measured_mhz"] = 3130.0;  // within 2 %
    document["devices"][0]["facts"]["power_limit_w"] = 45.0;
    document["run"]["power"]["source"] = "battery";
    document["run"]["environment"] = json::object();
  });
  std::vector<std::string> told;
  for (const context_difference& it : context_differences(versions(a, b))) {
    told.push_back(it.what + ": " + it.values.at(0) + ", " + it.values.at(1));
  }
  EXPECT_THAT(told, ElementsAre("power limit (W): 65.00, 45.00", "power source: unknown, battery",
                                "compiler: GCC 15, GCC 16", "OMP_PROC_BIND: close, not set"));
}

}  // namespace
}  // namespace prumo::bench::testing
