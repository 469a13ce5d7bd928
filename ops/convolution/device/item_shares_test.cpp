// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "item_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace prumo::backend {
namespace {

/// The items of a team: the first image of each, and their number.
std::vector<std::pair<std::int64_t, int>> items_of(const item_shares& shares, int team) {
  std::vector<std::pair<std::int64_t, int>> items;
  for (std::int64_t image = shares.first(team); image < shares.end(team); image = shares.after(team, image)) {
    items.emplace_back(image, shares.count(team, image));
  }
  return items;
}

TEST(item_shares, take_each_image_once_and_are_equal) {
  for (const auto& [images, teams, of_item] : {std::tuple{1, 1, 1},
                                               {1, 7, 3},
                                               {10, 3, 8},
                                               {24, 3, 8},
                                               {25, 3, 8},
                                               {47, 3, 8},
                                               {48, 3, 4},
                                               {1000, 264, 8},
                                               {10000, 264, 8},
                                               {9973, 132, 1}}) {
    const auto shares = item_shares::of(images, teams, of_item);
    std::vector<int> taken(static_cast<std::size_t>(images));
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    std::size_t most_items = 0;
    for (int team = 0; team < teams; ++team) {
      std::int64_t of_team = 0;
      const auto items = items_of(shares, team);
      for (const auto& [first, count] : items) {
        ASSERT_GT(count, 0);
        ASSERT_LE(count, of_item);
        for (int i = 0; i < count; ++i) ++taken.at(static_cast<std::size_t>(first + i));
        of_team += count;
      }
      least = std::min(least, of_team);
      most = std::max(most, of_team);
      most_items = std::max(most_items, items.size());
    }
    EXPECT_EQ(std::ranges::count(taken, 1), images) << images << " images, " << teams << " teams, " << of_item;
    EXPECT_LE(most - least, 1) << images << " images, " << teams << " teams, " << of_item;
    EXPECT_EQ(most, shares.whole_items * of_item + shares.most_of_rest());
    EXPECT_EQ(most_items, static_cast<std::size_t>(shares.whole_items + (shares.most_of_rest() > 0 ? 1 : 0)));
  }
}

TEST(item_shares, neighbouring_teams_have_neighbouring_images) {
  const auto shares = item_shares::of(100, 4, 8);
  using items = std::vector<std::pair<std::int64_t, int>>;
  EXPECT_EQ(items_of(shares, 0), (items{{0, 8}, {32, 8}, {64, 8}, {96, 1}}));
  EXPECT_EQ(items_of(shares, 3), (items{{24, 8}, {56, 8}, {88, 8}, {99, 1}}));
}

TEST(item_shares, may_be_empty) {
  EXPECT_TRUE(items_of(item_shares::of(0, 3, 4), 2).empty());
  EXPECT_EQ(item_shares::of(0, 0, 4).whole_items, 0);
  const auto few = item_shares::of(2, 5, 4);
  std::size_t items = 0;
  for (int team = 0; team < 5; ++team) items += items_of(few, team).size();
  EXPECT_EQ(items, 2);
}

}  // namespace
}  // namespace prumo::backend
