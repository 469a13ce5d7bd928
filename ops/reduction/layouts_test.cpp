// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays of higher rank in any order, rows of any shape and alignment, and shapes that are refused.

#include "all_reductions.hpp"
#include "filling.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>

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
       {extents{2, 5000}, extents{3, 20000}, extents{5, 77}, extents{33, 3000}, extents{1030, 600}, extents{300, 17},
        extents{4, 1}, extents{1500, 13}, extents{20011, 1}, extents{7001, 2}, extents{5003, 3}, extents{1201, 5},
        extents{700, 31}, extents{515, 33}, extents{260, 63}, extents{131, 65}}) {
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
