// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/initial_weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace prumo::data {
namespace {

TEST(initial_weights, are_the_values_of_the_specification) {
  const nets::description net = nets::named_net("lenet5");
  const auto weights = initial_weights(net, 1);
  const auto parameters = nets::facts_of(net).all_parameters();
  ASSERT_EQ(weights.size(), parameters.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(weights[i].size()), parameters[i].size());
  }
  // The first values of f64, seed 1, stream 0 of docs/random.md; a sum of conv1 has 25 products.
  EXPECT_DOUBLE_EQ(weights[0][0], 0.78936943267018489 * (1 / std::sqrt(25.0)));
  EXPECT_DOUBLE_EQ(weights[0][3], 0.31220633698422151 * (1 / std::sqrt(25.0)));
  EXPECT_DOUBLE_EQ(initial_weights(net, 1, weight_range::half)[0][1], 0.42253615315338877 * 0.5);
}

TEST(initial_weights, of_a_filter_that_channels_share_count_its_places) {
  const nets::description net = nets::named_net("mnist-2f");
  const auto weights = initial_weights(net, 7);
  const auto parameters = nets::facts_of(net).all_parameters();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool is_shared = parameters[i].name.starts_with("shared");
    const double end = parameters[i].name.starts_with("conv") ? 0.2 : is_shared ? 0.25 : 1 / std::sqrt(216.0);
    const double largest =
        std::fabs(*std::ranges::max_element(weights[i], {}, [](double it) { return std::fabs(it); }));
    EXPECT_LT(largest, end) << parameters[i].name;
    if (weights[i].size() > 10) {
      EXPECT_GT(largest, 0.8 * end) << parameters[i].name;
    }
  }
}

TEST(initial_weights, of_other_seeds_are_others) {
  const nets::description net = nets::named_net("lenet5");
  EXPECT_NE(initial_weights(net, 1), initial_weights(net, 2));
  EXPECT_EQ(initial_weights(net, 1), initial_weights(net, 1));
}

}  // namespace
}  // namespace prumo::data
