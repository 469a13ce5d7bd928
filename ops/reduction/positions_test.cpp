// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Positions of the first of equal extremes, in rows of any length: a host looks for them in stretches, and tells equal
// elements by their bits.

#include "all_reductions.hpp"
#include "all_scalars.hpp"
#include "filling.hpp"
#include <prumo/memory.hpp>
#include <prumo/reduction.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;

template <class T>
class positions : public testing::Test {};
TYPED_TEST_SUITE(positions, tests::all_scalars);

/// argmax and argmin of rows that are all the same.
template <class T>
void expect_positions(const std::vector<T>& values, std::int64_t largest, std::int64_t smallest) {
  context<exec> ctx;
  const tests::row_major<T> x("x", 3, values.size());
  tests::set_elements(x, [&](std::size_t, std::size_t c) { return values[c]; });
  const Kokkos::View<std::int64_t*, exec> by_row("by_row", 3);
  for (const auto& [smallest_wanted, expected] : {std::pair{false, largest}, std::pair{true, smallest}}) {
    if (smallest_wanted) {
      argmin_rows(ctx, x, by_row);
    } else {
      argmax_rows(ctx, x, by_row);
    }
    ctx.fence();
    const auto found = tests::host_copy(by_row);
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(found(r), expected) << (smallest_wanted ? "smallest" : "largest") << " of " << values.size();
    }
  }
}

constexpr std::int64_t lengths[] = {1,    15,   16,   31,   255,  256,  511,   512,  513,
                                    1000, 4096, 4097, 8192, 8193, 9001, 16400, 20000};

TYPED_TEST(positions, the_first_of_equal_ones) {
  for (const std::int64_t n : lengths) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      std::vector<TypeParam> values(static_cast<std::size_t>(n), TypeParam(0.5f));
      for (std::int64_t i = at; i < n; i += 97) values[static_cast<std::size_t>(i)] = TypeParam(5.0f);
      expect_positions(values, at, at == 0 && n > 1 ? 1 : 0);
      for (auto& value : values) value = TypeParam(-static_cast<float>(value));
      expect_positions(values, at == 0 && n > 1 ? 1 : 0, at);
    }
  }
}

TYPED_TEST(positions, zeros_of_either_sign_are_equal) {
  for (const std::int64_t n : lengths) {
    std::vector<TypeParam> values(static_cast<std::size_t>(n), TypeParam(0.0f));
    values[0] = TypeParam(-0.0f);
    expect_positions(values, 0, 0);
    for (auto& value : values) value = TypeParam(-0.0f);
    values[static_cast<std::size_t>(n - 1)] = TypeParam(0.0f);
    expect_positions(values, 0, 0);
  }
}

TYPED_TEST(positions, the_first_nan_whatever_its_bits) {
  using limits = std::numeric_limits<float>;
  for (const std::int64_t n : lengths) {
    std::vector<TypeParam> values(static_cast<std::size_t>(n), TypeParam(limits::infinity()));
    for (std::int64_t i = 1; i < n; i += 3) values[static_cast<std::size_t>(i)] = TypeParam(-limits::infinity());
    const std::int64_t first = n / 2;
    values[static_cast<std::size_t>(n - 1)] = TypeParam(limits::quiet_NaN());
    values[static_cast<std::size_t>(first)] = TypeParam(-limits::quiet_NaN());
    expect_positions(values, first, first);
    values[static_cast<std::size_t>(first)] = TypeParam(limits::quiet_NaN());
    values[static_cast<std::size_t>(n - 1)] = TypeParam(-limits::quiet_NaN());
    expect_positions(values, std::min(first, n - 1), std::min(first, n - 1));
  }
}

TYPED_TEST(positions, infinities) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t n : lengths) {
    std::vector<TypeParam> values(static_cast<std::size_t>(n), TypeParam(-infinity));
    expect_positions(values, 0, 0);
    values[static_cast<std::size_t>(n - 1)] = TypeParam(infinity);
    expect_positions(values, n - 1, 0);
  }
}

/// A device keeps a position in 32 bits where a row is short enough for that; these are not.
TEST(positions_on_a_device, beyond_32_bits) {
  if (is_host_space<exec>) GTEST_SKIP() << "a host has positions of 64 bits only";
  constexpr std::size_t count = (std::size_t{1} << 32) + 9;
  Kokkos::View<f16*, exec> x;
  try {
    x = Kokkos::View<f16*, exec>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "x"), count);
  } catch (const std::exception& error) {
    GTEST_SKIP() << "needs " << sizeof(f16) * count << " bytes on the device: " << error.what();
  }
  context<exec> ctx;
  fill(ctx, 1.0f, x);
  fill(ctx, 2.0f, Kokkos::subview(x, std::pair<std::size_t, std::size_t>(count - 4, count - 2)));
  fill(ctx, 0.5f, Kokkos::subview(x, std::pair<std::size_t, std::size_t>(count - 3, count)));
  const Kokkos::View<std::int64_t, exec> whole("whole");
  argmax(ctx, x, whole);
  ctx.fence();
  EXPECT_EQ(tests::scalar_of(whole), static_cast<std::int64_t>(count) - 4);
  argmin(ctx, x, whole);
  ctx.fence();
  EXPECT_EQ(tests::scalar_of(whole), static_cast<std::int64_t>(count) - 3);

  constexpr std::size_t apart = 2;
  const Kokkos::View<f16**, Kokkos::LayoutStride, exec> rows(x.data(),
                                                             Kokkos::LayoutStride(2, apart, count - apart, 1));
  const Kokkos::View<std::int64_t*, exec> by_row("by_row", 2);
  argmax_rows(ctx, rows, by_row);
  ctx.fence();
  const auto found = tests::host_copy(by_row);
  EXPECT_EQ(found(0), static_cast<std::int64_t>(count) - 4);
  EXPECT_EQ(found(1), static_cast<std::int64_t>(count - 4 - apart));
}

}  // namespace
}  // namespace prumo
