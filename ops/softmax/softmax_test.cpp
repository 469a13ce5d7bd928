// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: shapes that take every kernel of a device, infinities and NaN, in place, refusals.

#include "all_scalars.hpp"
#include "filling.hpp"
#include "message_of.hpp"
#include "registered_cases.hpp"
#include <prumo/case/prepared_case.hpp>
#include <prumo/error.hpp>
#include <prumo/softmax.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using testing::HasSubstr;

struct extents {
  std::int64_t rows, columns;
};

/// Rows of one segment and of many, a team a row, rows in scratch memory of one team or of several, tiles of short
/// rows, rows that begin and end within packs, rows of whole packs, packs of whole rows, and rows in the scratch memory
/// of a whole device.
constexpr extents shapes_of_every_kernel[] = {
    {1, 1 << 20}, {1, 300007}, {2, 100004}, {520, 33000}, {513, 32801}, {20000, 10}, {3001, 17},   {700, 130},
    {300, 511},   {40, 513},   {5000, 1},   {1000, 12},   {9, 4100},    {3, 8192},   {2, 16388},   {2, 32768},
    {70000, 2},   {17, 12289}, {64, 64},    {1, 4097},    {7001, 3},    {1501, 5},   {257, 31},    {129, 33},
    {100, 63},    {77, 65},    {130, 127},  {33, 129},    {2, 50257},   {300001, 1}, {1, 1},       {1, 7},
    {2, 5},       {120000, 5}, {85000, 7},  {60000, 11},  {40000, 33},  {300, 255},  {300, 20001}, {140, 60001},
    {1001, 2},    {600001, 2}, {70001, 4},  {30001, 8},   {45, 9283},   {70, 25003}, {40, 50257},  {20, 100003},
    {700, 40001}, {7, 300001}, {3, 900007}, {5, 16385},   {3, 32769},   {2, 65536},  {2, 65537},   {3, 262144},
    {2, 262145}};

/// A host writes these past its caches. It collects several of the shorter rows first, and writes the longer ones one
/// by one. Some rows end within a cache line. The shortest ones are computed side by side, some types on some machines.
constexpr extents streamed_shapes[] = {{131, 16},  {97, 17},   {129, 37}, {100, 45}, {70, 55},   {513, 63}, {501, 79},
                                       {300, 128}, {250, 130}, {70, 511}, {33, 513}, {40, 1001}, {9, 4100}};

class softmax_shapes : public testing::TestWithParam<std::tuple<const char*, dtype, cases::array_layout>> {
 public:
  static void verify(std::size_t working_set, std::span<const extents> shapes);
};

void softmax_shapes::verify(std::size_t working_set, std::span<const extents> shapes) {
  const auto& [op, type, layout] = GetParam();
  const auto* const operation = cases::registries().of<exec>().find(op);
  ASSERT_NE(operation, nullptr);
  context<exec> ctx;
  ctx.set_working_set(working_set);
  for (const extents& it : shapes) {
    cases::specification choice;
    choice.op = op;
    choice.type = type;
    choice.layout = layout;
    choice.shape = {{"rows", it.rows}, {"columns", it.columns}};
    choice.implementation = "kernel";
    choice.seed = 20261121;
    cases::prepared_case<exec> prepared(ctx, *operation, choice, 1);
    const cases::check_result result = prepared.verify(2e8);
    EXPECT_TRUE(result.verified) << op << " " << dtype_name(type) << " " << it.rows << " x " << it.columns << ": error "
                                 << result.error << "; " << result.message;
  }
}

TEST_P(softmax_shapes, every_kernel) { verify(0, shapes_of_every_kernel); }
TEST_P(softmax_shapes, past_the_caches) { verify(std::size_t{1} << 40, streamed_shapes); }

INSTANTIATE_TEST_SUITE_P(all, softmax_shapes,
                         testing::Combine(testing::Values("softmax", "log_softmax"),
                                          testing::Values(dtype::f32, dtype::f64, dtype::f16, dtype::bf16),
                                          testing::Values(cases::array_layout::right, cases::array_layout::left)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + "_" +
                                  std::string(dtype_name(std::get<1>(tested.param))) + "_" +
                                  std::string(cases::layout_name(std::get<2>(tested.param)));
                         });

template <class T>
class softmax_types : public testing::Test {
 public:
  using matrix = tests::row_major<T>;
  using host_matrix = decltype(tests::host_copy(matrix()));

  struct results {
    host_matrix softmax, log_softmax;
  };

  /// Rows of zeros, of which the test sets what it likes.
  static results of(std::int64_t rows, std::int64_t columns, const std::function<void(const host_matrix&)>& set) {
    context<exec> ctx;
    const matrix x("x", rows, columns), y("y", rows, columns), z("z", rows, columns);
    const auto on_host = tests::host_copy(x);
    set(on_host);
    tests::write_back(x, on_host);
    softmax(ctx, x, y);
    log_softmax(ctx, x, z);
    ctx.fence();
    return {tests::host_copy(y), tests::host_copy(z)};
  }
  static float number(const T& value) { return static_cast<float>(value); }
};
TYPED_TEST_SUITE(softmax_types, tests::all_scalars);

/// Lengths that take a kernel each: short rows, tiles, one chunk, one team, scratch memory, segments.
constexpr std::int64_t lengths[] = {2, 3, 4, 8, 10, 33, 64, 150, 1000, 4096, 5000, 20000, 33000, 100000, 262145};
/// As many rows as some kernels take at a time, and more.
constexpr std::int64_t many_rows = 70;

TYPED_TEST(softmax_types, rows_with_infinities_and_nan) {
  using fixture = softmax_types<TypeParam>;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t columns : lengths) {
    const std::size_t last = static_cast<std::size_t>(columns) - 1;
    const auto found = fixture::of(many_rows, columns, [&](const auto& x) {
      x(0, last) = TypeParam(std::numeric_limits<float>::quiet_NaN());
      x(1, last / 2) = TypeParam(infinity);
      for (std::size_t i = 0; i <= last; ++i) x(2, i) = TypeParam(-infinity);
      for (std::size_t i = 0; i <= last; ++i) x(3, i) = TypeParam(-infinity);
      x(3, 1) = TypeParam(-3.0f);
      x(4, 0) = TypeParam(-infinity);
      x(5, 0) = TypeParam(infinity);
      x(5, last) = TypeParam(-infinity);
    });
    SCOPED_TRACE(columns);
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, last / 2, last}) {
      for (const std::size_t row : {0, 1, 2, 5}) {
        EXPECT_TRUE(std::isnan(fixture::number(found.softmax(row, at)))) << "row " << row << ", column " << at;
        EXPECT_TRUE(std::isnan(fixture::number(found.log_softmax(row, at)))) << "row " << row << ", column " << at;
      }
      EXPECT_EQ(fixture::number(found.softmax(3, at)), at == 1 ? 1.0f : 0.0f);
      EXPECT_EQ(fixture::number(found.log_softmax(3, at)), at == 1 ? 0.0f : -infinity);
    }
    EXPECT_EQ(fixture::number(found.softmax(4, 0)), 0.0f);
    EXPECT_EQ(fixture::number(found.log_softmax(4, 0)), -infinity);
    const double others = static_cast<double>(last);
    EXPECT_NEAR(static_cast<double>(fixture::number(found.softmax(4, last))), 1 / others, 0.01 / others);
    EXPECT_NEAR(static_cast<double>(fixture::number(found.log_softmax(4, last))), -std::log(others),
                0.01 + 0.004 * std::log(others));
  }
}

TYPED_TEST(softmax_types, rows_of_one_element) {
  using fixture = softmax_types<TypeParam>;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t rows : {6, 1000}) {
    const auto found = fixture::of(rows, 1, [&](const auto& x) {
      x(0, 0) = TypeParam(-60000.0f);
      x(1, 0) = TypeParam(std::numeric_limits<float>::quiet_NaN());
      x(2, 0) = TypeParam(infinity);
      x(3, 0) = TypeParam(-infinity);
      x(4, 0) = TypeParam(-0.0f);
    });
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      const float one = fixture::number(found.softmax(row, 0)), zero = fixture::number(found.log_softmax(row, 0));
      const bool is_number = row == 0 || row > 3;
      EXPECT_EQ(std::isnan(one), !is_number) << row;
      EXPECT_EQ(std::isnan(zero), !is_number) << row;
      if (!is_number) continue;
      EXPECT_EQ(one, 1.0f) << row;
      EXPECT_EQ(zero, 0.0f) << row;
      EXPECT_FALSE(std::signbit(zero)) << row;
    }
  }
}

/// Values far apart: exponentials underflow, logarithms do not.
TYPED_TEST(softmax_types, log_softmax_reaches_where_softmax_underflows) {
  using fixture = softmax_types<TypeParam>;
  for (const std::int64_t columns : lengths) {
    const std::size_t last = static_cast<std::size_t>(columns) - 1;
    const auto found = fixture::of(40, columns, [&](const auto& x) {
      for (std::size_t i = 0; i <= last; ++i) x(0, i) = TypeParam(-2000.0f);
      x(0, 0) = TypeParam(-1000.0f);
      x(0, last) = TypeParam(2000.0f);
    });
    SCOPED_TRACE(columns);
    // Written in ones of each type: bf16 holds -1000 and 2000 exactly, and their difference to 16.
    EXPECT_EQ(fixture::number(found.softmax(0, 0)), 0.0f);
    EXPECT_EQ(fixture::number(found.softmax(0, last)), 1.0f);
    EXPECT_NEAR(fixture::number(found.log_softmax(0, 0)), -3000.0f, 16.0f);
    EXPECT_EQ(fixture::number(found.log_softmax(0, last)), 0.0f);
  }
}

/// Results below the smallest normal number of bf16 (1.2e-38), which f16 does not have.
TYPED_TEST(softmax_types, small_results_are_not_lost) {
  using fixture = softmax_types<TypeParam>;
  for (const std::int64_t columns : lengths) {
    const std::size_t last = static_cast<std::size_t>(columns) - 1;
    const auto found = fixture::of(many_rows, columns, [&](const auto& x) {
      for (std::size_t i = 0; i < last; ++i) x(0, i) = TypeParam(-89.0f);
      x(0, last) = TypeParam(0.0f);
    });
    SCOPED_TRACE(columns);
    const double exact = std::is_same_v<TypeParam, f16> ? 0.0 : std::exp(-89.0);
    for (const std::size_t at : {std::size_t{0}, last / 2}) {
      if (at == last) continue;
      EXPECT_NEAR(static_cast<double>(fixture::number(found.softmax(0, at))), exact, 0.03 * exact);
    }
  }
}

TYPED_TEST(softmax_types, in_place_gives_the_same_bits) {
  context<exec> ctx;
  for (const std::int64_t columns : lengths) {
    const typename TestFixture::matrix x("x", many_rows, columns), y("y", many_rows, columns);
    tests::set_elements(
        x, [](std::size_t r, std::size_t c) { return TypeParam(static_cast<float>((c * 7 + r * 3) % 31) * 0.125f); });
    softmax(ctx, x, y);
    softmax(ctx, x, x);
    ctx.fence();
    const auto there = tests::host_copy(y);
    const auto in_place = tests::host_copy(x);
    std::int64_t different = 0;
    tests::for_each_index(there, [&](auto r, auto c) { different += there(r, c) != in_place(r, c) ? 1 : 0; });
    EXPECT_EQ(different, 0) << columns;
  }
}

/// Rows that begin and end within packs of 16 bytes, in x and y at the same place of a pack or at different ones, with
/// and without other elements between them.
TYPED_TEST(softmax_types, rows_within_packs) {
  using matrix = typename TestFixture::matrix;
  const double tolerance = sizeof(TypeParam) == 2 ? 1e-2 : sizeof(TypeParam) == 4 ? 1e-5 : 1e-13;
  const auto number = [](const TypeParam& value) {
    if constexpr (std::is_same_v<TypeParam, double>) return value;
    return static_cast<double>(static_cast<float>(value));
  };
  context<exec> ctx;
  for (const std::int64_t columns : {1, 3, 17, 31, 65, 130, 1001, 33001}) {
    for (const std::int64_t begin_x : {0, 1, 7}) {
      for (const std::int64_t begin_y : {0, 1}) {
        for (const std::int64_t beside : {0, 8}) {
          SCOPED_TRACE(std::to_string(columns) + " from " + std::to_string(begin_x) + " and " +
                       std::to_string(begin_y));
          const matrix all_x("x", 5, columns + begin_x + beside), all_y("y", 5, columns + begin_y + beside);
          const auto x = Kokkos::subview(all_x, Kokkos::ALL, std::pair{begin_x, begin_x + columns});
          const auto y = Kokkos::subview(all_y, Kokkos::ALL, std::pair{begin_y, begin_y + columns});
          const auto given = tests::set_elements(x, [](std::size_t r, std::size_t c) {
            return TypeParam(static_cast<float>((c * 37 + r * 11) % 64) / 32.0f - 1.0f);
          });
          softmax(ctx, x, y);
          ctx.fence();
          const auto found = tests::host_copy(all_y);
          for (std::int64_t r = 0; r < 5; ++r) {
            double total = 0, worst = 0, outside = 0;
            for (std::int64_t c = 0; c < columns; ++c) total += std::exp(number(given(r, c)));
            for (std::int64_t c = 0; c < columns; ++c) {
              const double exact = std::exp(number(given(r, c))) / total;
              worst = std::max(worst, std::abs(number(found(r, begin_y + c)) - exact) / exact);
            }
            for (std::int64_t c = 0; c < begin_y; ++c) outside += std::abs(number(found(r, c)));
            for (std::int64_t c = 0; c < beside; ++c) {
              outside += std::abs(number(found(r, begin_y + columns + c)));
            }
            EXPECT_LE(worst, tolerance) << "row " << r;
            EXPECT_EQ(outside, 0) << "row " << r;
          }
        }
      }
    }
  }
}

TEST(softmax, refuses_what_it_cannot_do) {
  using matrix = tests::row_major<float>;
  context<exec> ctx;
  const matrix x("my x", 4, 6), y("my y", 4, 5);
  EXPECT_THAT(tests::message_of<shape_error>([&] { log_softmax(ctx, x, y); }),
              testing::AllOf(testing::StartsWith("prumo::log_softmax: "), HasSubstr("'my x': f32 [4 x 6]"),
                             HasSubstr("'my y': f32 [4 x 5]")));
  const auto left = Kokkos::subview(x, Kokkos::ALL, std::pair{0, 4});
  const auto right = Kokkos::subview(x, Kokkos::ALL, std::pair{2, 6});
  EXPECT_THROW(softmax(ctx, left, right), alias_error);
  EXPECT_THAT(tests::message_of<alias_error>([&] { log_softmax(ctx, left, right); }),
              testing::StartsWith("prumo::log_softmax: "));
}

TEST(softmax, rows_and_columns_of_none_are_nothing_to_do) {
  using matrix = tests::row_major<float>;
  context<exec> ctx;
  for (const auto& [rows, columns] : {extents{0, 5}, extents{5, 0}, extents{0, 0}}) {
    const matrix x("x", rows, columns), y("y", rows, columns);
    softmax(ctx, x, y);
    log_softmax(ctx, x, y);
  }
  ctx.fence();
}

}  // namespace
}  // namespace prumo
