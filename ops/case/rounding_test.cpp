// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bounds of rounding errors.

#include <prumo/case/rounding.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace prumo::cases {
namespace {

TEST(rounding, gamma_holds_for_factors_that_all_round_the_same_way) {
  for (const double count : {1.0, 7.0, 1000.0}) {
    const long double unit = unit_roundoff(dtype::f16), bound = gamma(dtype::f16, count);
    EXPECT_LE(std::pow(1 + unit, static_cast<long double>(count)) - 1, bound);
    EXPECT_LE(std::pow(1 / (1 - unit), static_cast<long double>(count)) - 1, bound * (1 + 1e-15L));
    EXPECT_LE(bound, count * unit / (1 - count * unit));
  }
}

TEST(rounding, gamma_is_positive_and_grows_where_roundings_outnumber_the_values_of_a_type) {
  long double before = 0;
  for (const double count : {1e3, 1e6, 16777216.0, 31143277.0, 1e8}) {
    const long double bound = gamma(dtype::f32, count);
    EXPECT_GT(bound, before);
    EXPECT_TRUE(std::isfinite(bound));
    before = bound;
  }
}

}  // namespace
}  // namespace prumo::cases
