// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crossover/crossover_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace prumo::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double whole(double size) { return std::round(size); }
std::string text(double size) { return std::to_string(std::lround(size)); }

TEST(crossover_search, interpolates_where_the_logarithm_of_the_ratio_is_zero) {
  const auto found = find_crossings({{100, 0.5}, {1, 2}});  // in any order
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].size, 10, 1e-9);
  EXPECT_EQ(found[0].low, 1);
  EXPECT_EQ(found[0].high, 100);
  EXPECT_TRUE(found[0].challenger_wins);
}

TEST(crossover_search, finds_every_change_of_curves_that_are_not_monotone) {
  const auto found = find_crossings({{1, 2}, {2, 0.5}, {4, 3}, {8, 0.9}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_FALSE(found[1].challenger_wins);
  EXPECT_TRUE(found[2].challenger_wins);
}

TEST(crossover_search, no_points_or_one_have_no_crossing) {
  EXPECT_TRUE(find_crossings({}).empty());
  EXPECT_TRUE(find_crossings({{1, 0.5}}).empty());
}

TEST(crossover_search, coarse_sizes_include_both_ends) {
  EXPECT_THAT(coarse_sizes(1, 64, 4, whole), ElementsAre(1, 4, 16, 64));
  EXPECT_THAT(coarse_sizes(70, 100, 4, whole), ElementsAre(70, 100));
}

TEST(crossover_search, halves_the_widest_bracket_until_it_is_narrow) {
  const std::vector<double> none;
  EXPECT_EQ(next_size({{1, 2}, {16, 0.5}}, 1.1, none, whole), 4);
  EXPECT_EQ(next_size({{1000, 2}, {1050, 0.5}}, 1.1, none, whole), std::nullopt) << "narrow enough";
  EXPECT_EQ(next_size({{1, 2}, {2, 0.5}}, 1.1, none, whole), std::nullopt) << "no size between";
  EXPECT_EQ(next_size({{1, 2}, {16, 3}}, 1.1, none, whole), std::nullopt) << "no bracket";
  const std::vector<double> failed{4};
  EXPECT_EQ(next_size({{1, 2}, {16, 0.5}}, 1.1, failed, whole), std::nullopt) << "measured in vain before";
}

TEST(crossover_search, converges_to_a_break_even_that_is_known) {
  const auto ratio = [](double size) { return 1000 / size; };
  std::vector<ratio_point> points{{1, ratio(1)}, {1e6, ratio(1e6)}};
  std::vector<double> tried;
  while (const auto next = next_size(points, 1.1, tried, whole)) {
    tried.push_back(*next);
    points.push_back({*next, ratio(*next)});
    ASSERT_LT(tried.size(), 20U);
  }
  EXPECT_NEAR(find_crossings(points).at(0).size, 1000, 1);
}

TEST(crossover_search, says_what_it_found) {
  EXPECT_EQ(describe_crossings({{1, 2}, {100, 0.5}}, "gpu", "cpu", text),
            "gpu overtakes cpu at 10 (measured at 1 and 100)");
  EXPECT_EQ(describe_crossings({{1, 2}, {100, 1.5}}, "gpu", "cpu", text), "gpu never overtakes cpu from 1 to 100");
  EXPECT_EQ(describe_crossings({{1, 0.2}, {100, 0.5}}, "gpu", "cpu", text),
            "gpu is faster than cpu at every size from 1 to 100");
  EXPECT_THAT(describe_crossings({{1, 2}, {2, 0.5}, {4, 3}}, "gpu", "cpu", text), HasSubstr("falls behind"));
  EXPECT_THAT(describe_crossings({}, "gpu", "cpu", text), HasSubstr("no size was measured on both"));
}

}  // namespace
}  // namespace prumo::bench
