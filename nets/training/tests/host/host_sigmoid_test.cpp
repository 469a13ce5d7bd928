// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sigmoid of a host's steps, which is another one than prumo::sigmoid() where registers have eight floats.

#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#include "fused/host/host_sigmoid.hpp"

#include <prumo/detail/group_conversions.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

namespace prumo::nets {
namespace {

/// The results for numbers whose count is a multiple of those of a group.
template <bool IsBounded = false>
std::vector<float> sigmoids(const std::vector<float>& x) {
  constexpr int registers = 2;
  using group = simd_group<float, registers>;
  std::vector<float> results(x.size());
  for (std::size_t i = 0; i < x.size(); i += group::lanes) {
    using prumo::detail::lane_order;
    const group numbers = prumo::detail::load_group<lane_order::memory, registers>(&x[i]);
    prumo::detail::store_group<lane_order::memory>(host_sigmoid<IsBounded>(numbers), &results[i]);
  }
  return results;
}

/// Errors are relative: four units in the last place are at most 2^-21 of a number, and six 1.5 times that.
TEST(host_sigmoid, is_within_six_units_in_the_last_place) {
  std::vector<float> x;
  for (int i = -81920; i < 81920; ++i) x.push_back(static_cast<float>(i) * (1.0F / 1024) + 0.0003F);
  const std::vector<float> results = sigmoids(x);
  double largest = 0, largest_near = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = 1 / (1 + std::exp(-static_cast<double>(x[i])));
    const double error = std::fabs(static_cast<double>(results[i]) - exact) / exact;
    largest = std::max(largest, error);
    if (std::fabs(x[i]) <= 40) largest_near = std::max(largest_near, error);
  }
  EXPECT_LE(largest_near, 0x1p-21);
  EXPECT_LE(largest, 0x1.8p-21);
}

TEST(host_sigmoid, has_limits_and_keeps_nan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(32, 0.0F);
  const float some[] = {infinity, -infinity, 200, -200, 3e38F, -3e38F, std::numeric_limits<float>::quiet_NaN(), -0.0F};
  std::copy(std::begin(some), std::end(some), x.begin());
  const std::vector<float> results = sigmoids(x);
  for (const std::size_t i : std::vector<std::size_t>{0, 2, 4}) EXPECT_EQ(results[i], 1) << i;
  for (const std::size_t i : std::vector<std::size_t>{1, 3, 5}) {
    EXPECT_GE(results[i], 0) << i;
    EXPECT_LE(results[i], 2e-35F) << i;
  }
  EXPECT_TRUE(std::isnan(results[6]));
  EXPECT_EQ(results[7], 0.5F);
  EXPECT_EQ(results[8], 0.5F);
}

TEST(host_sigmoid, is_the_same_for_bounded_numbers) {
  std::vector<float> x;
  const auto bound = static_cast<int>(sigmoid_bound) + 1;
  for (int i = -512 * bound; i < 512 * bound; ++i) x.push_back(static_cast<float>(i) * (1.0F / 512) + 0.0003F);
  EXPECT_EQ(sigmoids<true>(x), sigmoids(x));
}

}  // namespace
}  // namespace prumo::nets
#endif
