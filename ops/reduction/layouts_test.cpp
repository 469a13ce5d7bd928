// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays of higher rank in any order, rows of any shape and alignment, and shapes that are refused.

#include "all_reductions.hpp"
#include "filling.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace prumo {
namespace {

using tests::all_reductions;
using tests::reduced_types;
using tests::space;
using tests::value_of;

template <class T>
class reductions_of_layouts : public testing::Test {
 protected:
  context<space> ctx_;
};
TYPED_TEST_SUITE(reductions_of_layouts, reduced_types);

/// Every element of a view of rank 3 its own number, from -n/2 on; the extremes in places of the caller's.
template <class View>
void expect_all_found(context<space>& ctx, const View& x, const std::string& what) {
  using T = typename View::non_const_value_type;
  double sum = 0;
  std::int64_t index = 0;
  std::int64_t highest = -1, lowest = -1;
  const auto count = static_cast<std::int64_t>(x.size());
  tests::set_elements(x, [&](auto...) {
    const double number = index == 2 * count / 3 || index == count - 1 ? 9
                          : index == count / 5                         ? -9
                          : index % 2 == 0                             ? 0
                                                                       : 1;
    sum += number;
    if (number == 9 && highest < 0) highest = index;
    if (number == -9) lowest = index;
    ++index;
    return static_cast<T>(static_cast<compute_t<T>>(number));
  });
  const all_reductions found(ctx, x);
  EXPECT_EQ(found.argmax, highest) << what;
  EXPECT_EQ(found.argmin, lowest) << what;
  EXPECT_EQ(found.max, 9) << what;
  EXPECT_EQ(found.min, -9) << what;
  const double rounded = value_of(static_cast<T>(static_cast<compute_t<T>>(sum)));
  EXPECT_EQ(found.sum, rounded) << what;
}

TYPED_TEST(reductions_of_layouts, arrays_of_rank_3_in_any_order) {
  struct extents {
    std::size_t i, j, k;
  };
  for (const auto [i, j, k] : {extents{2, 3, 5}, extents{7, 40, 90}, extents{50, 3, 700}, extents{1, 1000, 3}}) {
    const std::string what = std::to_string(i) + " x " + std::to_string(j) + " x " + std::to_string(k);
    expect_all_found(this->ctx_, Kokkos::View<TypeParam***, Kokkos::LayoutRight, space>("x", i, j, k), what + " right");
    expect_all_found(this->ctx_, Kokkos::View<TypeParam***, Kokkos::LayoutLeft, space>("x", i, j, k), what + " left");
    const Kokkos::View<TypeParam***, Kokkos::LayoutRight, space> wide("x", i + 1, j + 2, k + 3);
    expect_all_found(
        this->ctx_,
        Kokkos::subview(wide, std::pair<std::size_t, std::size_t>(1, i + 1),
                        std::pair<std::size_t, std::size_t>(1, j + 1), std::pair<std::size_t, std::size_t>(2, k + 2)),
        what + " inside");
    const Kokkos::LayoutStride mixed(i, 2 * k, j, 2 * k * i + 1, k, 2);
    expect_all_found(this->ctx_, Kokkos::View<TypeParam***, Kokkos::LayoutStride, space>("x", mixed), what + " mixed");
  }
}

/// Column-major matrices with few rows and with many, and matrices of rows at any alignment.
TYPED_TEST(reductions_of_layouts, rows_of_any_shape_and_alignment) {
  struct extents {
    std::size_t rows, columns;
  };
  for (const auto [rows, columns] :
       {extents{2, 5000}, extents{3, 20000}, extents{4, 9001}, extents{5, 77}, extents{33, 3000}, extents{1030, 600},
        extents{300, 17}, extents{4, 1}, extents{1500, 13}, extents{20011, 1}, extents{7001, 2}, extents{5003, 3},
        extents{1201, 5}, extents{700, 31}, extents{515, 33}, extents{260, 63}, extents{131, 65}}) {
    for (const bool column_major : {false, true}) {
      for (const std::size_t offset : {0u, 1u, 3u}) {
        const Kokkos::View<TypeParam*, space> memory("memory", rows * columns + offset);
        const Kokkos::LayoutStride layout(rows, column_major ? 1 : columns, columns, column_major ? rows : 1);
        const Kokkos::View<TypeParam**, Kokkos::LayoutStride, space, Kokkos::MemoryUnmanaged> x(memory.data() + offset,
                                                                                                layout);
        const auto host = tests::set_elements(x, [width = columns](std::size_t row, std::size_t column) {
          const double number = column == (row * 7) % width ? 5 : column % 2 == row % 2 ? 1 : -1;
          return static_cast<TypeParam>(static_cast<compute_t<TypeParam>>(number));
        });
        const Kokkos::View<TypeParam*, space> sums("sums", rows), largest("largest", rows);
        const Kokkos::View<std::int64_t*, space> places("places", rows);
        sum_rows(this->ctx_, x, sums);
        max_rows(this->ctx_, x, largest);
        argmax_rows(this->ctx_, x, places);
        this->ctx_.fence();
        const auto found_sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, sums);
        const auto found_largest = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, largest);
        const auto found_places = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, places);
        for (std::size_t row = 0; row < rows; ++row) {
          double expected = 0;
          for (std::size_t column = 0; column < columns; ++column) expected += value_of(host(row, column));
          const std::string what = std::to_string(rows) + " x " + std::to_string(columns) + ", row " +
                                   std::to_string(row) + (column_major ? " left" : " right");
          ASSERT_EQ(value_of(found_sums(row)),
                    value_of(static_cast<TypeParam>(static_cast<compute_t<TypeParam>>(expected))))
              << what;
          ASSERT_EQ(value_of(found_largest(row)), 5) << what;
          ASSERT_EQ(found_places(row), static_cast<std::int64_t>((row * 7) % columns)) << what;
        }
      }
    }
  }
}

/// Hosts take short rows as many at a time as a vector has lanes, and pieces of them that follow from their length.
TYPED_TEST(reductions_of_layouts, short_rows_of_every_length) {
  constexpr std::size_t rows = 77;
  std::vector<std::size_t> lengths{100, 127, 128, 129, 200, 255, 256, 257};
  for (std::size_t length = 1; length < 70; ++length) lengths.push_back(length);
  for (const std::size_t columns : lengths) {
    for (const std::size_t gap : {0u, 3u}) {
      const Kokkos::View<TypeParam**, Kokkos::LayoutRight, space> memory("memory", rows, columns + gap);
      const auto x = Kokkos::subview(memory, Kokkos::ALL, std::pair<std::size_t, std::size_t>(0, columns));
      const auto number_at = [=](std::size_t row, std::size_t column) {
        return column == (row * 7) % columns ? 3.0 : static_cast<double>((row + column * column) % 3) - 2;
      };
      // Beside the rows there are numbers that would change each result.
      tests::set_elements(memory, [=](std::size_t row, std::size_t column) {
        const double number = column < columns ? number_at(row, column) : column % 2 == 0 ? 9 : -9;
        return static_cast<TypeParam>(static_cast<compute_t<TypeParam>>(number));
      });
      const Kokkos::View<TypeParam* [5], Kokkos::LayoutLeft, space> numbers("numbers", rows);
      const Kokkos::View<std::int64_t* [2], Kokkos::LayoutLeft, space> places("places", rows);
      const auto column_of = [](const auto& view, int which) { return Kokkos::subview(view, Kokkos::ALL, which); };
      sum_rows(this->ctx_, x, column_of(numbers, 0));
      sum_of_squares_rows(this->ctx_, x, column_of(numbers, 1));
      mean_rows(this->ctx_, x, column_of(numbers, 2));
      max_rows(this->ctx_, x, column_of(numbers, 3));
      min_rows(this->ctx_, x, column_of(numbers, 4));
      argmax_rows(this->ctx_, x, column_of(places, 0));
      argmin_rows(this->ctx_, x, column_of(places, 1));
      this->ctx_.fence();
      const auto found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, numbers);
      const auto found_places = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, places);
      for (std::size_t row = 0; row < rows; ++row) {
        double sum = 0, squares = 0;
        std::size_t highest = 0, lowest = 0;
        for (std::size_t column = 0; column < columns; ++column) {
          const double number = number_at(row, column);
          sum += number;
          squares += number * number;
          if (number > number_at(row, highest)) highest = column;
          if (number < number_at(row, lowest)) lowest = column;
        }
        const auto rounded = [](double number) {
          return value_of(static_cast<TypeParam>(static_cast<compute_t<TypeParam>>(number)));
        };
        const auto count = static_cast<compute_t<TypeParam>>(columns);
        const std::string what = std::to_string(columns) + " columns, row " + std::to_string(row);
        ASSERT_EQ(value_of(found(row, 0)), rounded(sum)) << what;
        ASSERT_EQ(value_of(found(row, 1)), rounded(squares)) << what;
        ASSERT_NEAR(value_of(found(row, 2)),
                    rounded(static_cast<double>(static_cast<compute_t<TypeParam>>(sum) / count)),
                    std::ldexp(4, -scalar_traits<TypeParam>::significand_bits))
            << what;
        ASSERT_EQ(value_of(found(row, 3)), rounded(number_at(row, highest))) << what;
        ASSERT_EQ(value_of(found(row, 4)), rounded(number_at(row, lowest))) << what;
        ASSERT_EQ(found_places(row, 0), static_cast<std::int64_t>(highest)) << what;
        ASSERT_EQ(found_places(row, 1), static_cast<std::int64_t>(lowest)) << what;
      }
    }
  }
}

TEST(reductions_refuse, wrong_shapes_and_overlaps) {
  context<space> ctx;
  const Kokkos::View<float**, space> x("the matrix", 3, 4);
  const Kokkos::View<float*, space> two("two", 2);
  const Kokkos::View<std::int64_t*, space> indices("indices", 2);
  EXPECT_THAT([&] { mean_rows(ctx, x, two); },
              testing::ThrowsMessage<shape_error>(testing::AllOf(
                  testing::HasSubstr("prumo::mean_rows: expected y with an element for each row of x"),
                  testing::HasSubstr("x 'the matrix': f32 [3 x 4]"), testing::HasSubstr("y 'two': f32 [2]"))));
  EXPECT_THAT([&] { argmax_rows(ctx, x, indices); },
              testing::ThrowsMessage<shape_error>(testing::HasSubstr("y 'indices': i64 [2]")));
  const Kokkos::View<float, space, Kokkos::MemoryUnmanaged> inside(x.data() + 5);
  EXPECT_THAT([&] { max(ctx, x, inside); }, testing::ThrowsMessage<alias_error>(testing::HasSubstr("prumo::max: ")));
  const Kokkos::View<float*, space, Kokkos::MemoryUnmanaged> row(x.data(), 3);
  EXPECT_THAT([&] { sum_of_squares_rows(ctx, x, row); },
              testing::ThrowsMessage<alias_error>(testing::HasSubstr("prumo::sum_of_squares_rows: ")));
}

}  // namespace
}  // namespace prumo
