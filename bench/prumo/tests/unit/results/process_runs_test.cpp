// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/process_runs.hpp"

#include "comparison/two_builds.hpp"
#include "results/results_schema.hpp"
#include "sample_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using testing::document_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::sample_result;

json timed(const std::vector<double>& samples, double median) {
  json result = sample_result("add", 2 << 20, median);
  result["time_s"]["samples"] = samples;
  result["time_s"]["median"] = median;
  result["wall_s"] = median;
  result["warnings"] = json::array();
  return result;
}

json failed(const std::string& reason) {
  json result = timed({1}, 1);
  result["status"] = "failed";
  result["reason"] = reason;
  result["time_s"] = nullptr;
  result["verified"] = nullptr;
  return result;
}

TEST(process_runs, samples_follow_each_other_and_figures_are_of_all) {
  json first = join_process_runs(nullptr, timed({1, 2, 3}, 2), 0);
  EXPECT_THAT(samples_by_run(first), ElementsAre(3));
  const double rate = first.at("rates").at("gbytes").get<double>();
  const json both = join_process_runs(&first, timed({4, 4}, 4), 1);
  EXPECT_THAT(samples_by_run(both), ElementsAre(3, 2));
  EXPECT_THAT(both.at("time_s").at("samples").get<std::vector<double>>(), ElementsAre(1, 2, 3, 4, 4));
  EXPECT_EQ(both.at("time_s").at("median"), 3);
  EXPECT_DOUBLE_EQ(both.at("rates").at("gbytes").get<double>(), rate * 2 / 3);
  EXPECT_EQ(both.at("wall_s"), 3);
  const json three = join_process_runs(&both, timed({9}, 9), 2);
  EXPECT_EQ(three.at("wall_s"), 5);
  EXPECT_TRUE(validate_results(document_of({three})).empty());
}

TEST(process_runs, a_failed_run_has_no_samples_and_a_warning) {
  const json first = join_process_runs(nullptr, timed({1}, 1), 0);
  const json second = failed("the worker died");
  const json both = join_process_runs(&first, second, 1);
  EXPECT_EQ(both.at("status"), "ok");
  EXPECT_THAT(samples_by_run(both), ElementsAre(1, 0));
  EXPECT_THAT(both.at("warnings").dump(), HasSubstr("process run 2 gave no time: the worker died"));
  const json later = join_process_runs(&second, timed({1, 1}, 1), 1);
  EXPECT_EQ(later.at("status"), "ok");
  EXPECT_THAT(samples_by_run(later), ElementsAre(0, 2));
  EXPECT_THAT(later.at("warnings").dump(), HasSubstr("process run 1 gave no time: the worker died"));
  EXPECT_EQ(join_process_runs(&second, failed("again"), 1).at("reason"), "again");
  for (const json& it : {both, later}) EXPECT_TRUE(validate_results(document_of({it})).empty());
}

TEST(process_runs, rounds_stay_with_their_run) {
  json first = timed({1, 2, 3}, 2);
  first["time_s"]["rounds"] = {{1, 2}};
  json second = timed({4, 4}, 4);
  second["time_s"]["rounds"] = {{1, 0, 1}};
  const json both = join_process_runs(&first, second, 1);
  EXPECT_EQ(both.at("time_s").at("rounds"), json::parse("[[1, 2], [1, 0, 1]]"));
  const json unknown = join_process_runs(&both, timed({5}, 5), 2);
  const json four = join_process_runs(&unknown, second, 3);
  EXPECT_EQ(four.at("time_s").at("rounds"), json::parse("[[1, 2], [1, 0, 1], [], [1, 0, 1]]"));
  const json broken = failed("the worker died");
  const json later = join_process_runs(&broken, second, 1);
  EXPECT_EQ(later.at("time_s").at("rounds"), json::parse("[[], [1, 0, 1]]"));
  for (const json& it : {both, four, later}) EXPECT_TRUE(validate_results(document_of({it})).empty());
}

TEST(process_runs, rounds_that_do_not_fit_the_samples_are_not_known) {
  json result = timed({1, 2, 3, 4}, 2);
  result["time_s"]["runs"] = {3, 1};
  const auto rounds_of = [&](json rounds) {
    result["time_s"]["rounds"] = std::move(rounds);
    const comparison_source source = source_of_results(document_of({result}), "r.json");
    return std::pair(source.rows.at(0).runs.at(0).rounds, source.rows.at(0).runs.at(1).rounds);
  };
  using counts = std::vector<std::size_t>;
  EXPECT_EQ(rounds_of(json::parse("[[1, 2], [1]]")), std::pair(counts{1, 2}, counts{1}));
  EXPECT_EQ(rounds_of(json::parse("[[2, 2], [1]]")), std::pair(counts{}, counts{1}));
  EXPECT_EQ(rounds_of(json::parse("[[1]]")), std::pair(counts{1}, counts{}));
  EXPECT_EQ(rounds_of(json::parse("[[-1, 1.5], null]")), std::pair(counts{}, counts{}));
  EXPECT_EQ(rounds_of(nullptr), std::pair(counts{}, counts{}));
}

TEST(process_runs, only_what_may_go_well_is_tried_again) {
  EXPECT_FALSE(is_settled_for_all_runs(timed({1}, 1)));
  EXPECT_FALSE(is_settled_for_all_runs(failed("the worker died")));
  json wrong = failed("wrong");
  wrong["verified"] = false;
  EXPECT_TRUE(is_settled_for_all_runs(wrong));
  json skipped = failed("no memory");
  skipped["status"] = "skipped";
  EXPECT_TRUE(is_settled_for_all_runs(skipped));
  EXPECT_TRUE(samples_by_run(skipped).empty());
}

TEST(two_builds, a_file_of_two_builds_is_taken_apart) {
  json before = timed({1, 1}, 1);
  before["device"] = "openmp:0@against";
  before["time_s"]["runs"] = {1U, 1U};
  const json after = timed({2, 2, 2}, 2);
  json document = document_of({before, after});
  json device = document.at("devices").at(0);
  device["id"] = "openmp:0@against";
  document["devices"].push_back(device);
  EXPECT_FALSE(holds_two_builds(document.at("run")));
  document["run"]["against"] = {{"build", "/opt/old"}, {"suffix", "@against"}};
  EXPECT_TRUE(validate_results(document).empty());
  ASSERT_TRUE(holds_two_builds(document.at("run")));
  const two_builds split = split_builds(source_of_results(document, "both.json"));
  EXPECT_EQ(split.before.name, "/opt/old");
  EXPECT_EQ(split.after.name, "both.json");
  EXPECT_NE(split.before.run.at("id"), split.after.run.at("id"));
  ASSERT_EQ(split.before.rows.size(), 1U);
  ASSERT_EQ(split.after.rows.size(), 1U);
  EXPECT_EQ(split.before.rows[0].result.at("device"), "openmp:0");
  EXPECT_EQ(split.before.devices.at(split.before.rows[0].device).at("id"), "openmp:0");
  EXPECT_EQ(split.before.rows[0].runs, (process_runs{{1}, {1}}));
  EXPECT_EQ(split.after.rows[0].runs, (process_runs{{2, 2, 2}}));
}

}  // namespace
}  // namespace prumo::bench
