// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case does not reach: indices of 32 bits, indices that are no rows, long rows, layouts that differ, refusals.

#include "host_copy.hpp"
#include <prumo/error.hpp>
#include <prumo/gather.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;

template <class T>
class gather_types : public testing::Test {};
using all_types = testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(gather_types, all_types);

/// Gathers rows by indices of which every fifth is none, and looks at every element.
template <class Index, class X, class Y>
void expect_gathered(const X& x, const Y& y) {
  context<exec> ctx;
  const auto table = static_cast<std::int64_t>(x.extent(0));
  const Kokkos::View<Index*, exec> index("index", y.extent(0));
  const auto chosen = tests::host_copy(index);
  constexpr Index none[] = {-1, std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max()};
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    chosen(i) = i % 5 == 3   ? none[i % 3]
                : i % 5 == 4 ? static_cast<Index>(table)
                             : static_cast<Index>(i * 7 % x.extent(0));
  }
  tests::write_back(index, chosen);
  const auto source = tests::host_copy(x);
  for (std::size_t r = 0; r < x.extent(0); ++r) {
    for (std::size_t c = 0; c < x.extent(1); ++c) {
      source(r, c) = typename X::value_type(static_cast<float>((r * 31 + c) % 1021) - 500.0f);
    }
  }
  tests::write_back(x, source);
  gather_rows(ctx, x, index, y);
  ctx.fence();
  const auto result = tests::host_copy(y);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    const bool there = chosen(i) >= 0 && static_cast<std::int64_t>(chosen(i)) < table;
    for (std::size_t c = 0; c < y.extent(1); ++c) {
      const auto found = static_cast<double>(result(i, c));
      const bool right =
          there ? found == static_cast<double>(source(static_cast<std::size_t>(chosen(i)), c)) : std::isnan(found);
      wrong += right ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0) << y.extent(0) << " x " << y.extent(1) << " of " << x.extent(0);
}

TYPED_TEST(gather_types, indices_of_both_widths_some_of_which_are_no_rows) {
  using right = Kokkos::View<TypeParam**, Kokkos::LayoutRight, exec>;
  for (const int columns : {1, 7, 16, 64, 100, 1000, 1024, 70001}) {
    const right x("x", 23, columns), y("y", 40, columns);
    expect_gathered<std::int64_t>(x, y);
    expect_gathered<std::int32_t>(x, y);
  }
}

TYPED_TEST(gather_types, any_two_layouts) {
  using right = Kokkos::View<TypeParam**, Kokkos::LayoutRight, exec>;
  using left = Kokkos::View<TypeParam**, Kokkos::LayoutLeft, exec>;
  expect_gathered<std::int64_t>(right("x", 50, 33), left("y", 70, 33));
  expect_gathered<std::int64_t>(left("x", 50, 33), right("y", 70, 33));
  const auto part = Kokkos::subview(right("x", 50, 40), Kokkos::ALL, std::pair{3, 36});
  expect_gathered<std::int64_t>(part, right("y", 70, 33));
}

TEST(gather_rows, of_a_matrix_without_rows_is_nan) {
  using matrix = Kokkos::View<float**, Kokkos::LayoutRight, exec>;
  context<exec> ctx;
  const matrix x("x", 0, 5), y("y", 3, 5);
  const Kokkos::View<std::int64_t*, exec> index("index", 3);
  gather_rows(ctx, x, index, y);
  ctx.fence();
  EXPECT_TRUE(std::isnan(tests::host_copy(y)(2, 4)));
}

TEST(gather_rows, refuses_shapes_and_overlap) {
  using matrix = Kokkos::View<float**, Kokkos::LayoutRight, exec>;
  context<exec> ctx;
  const matrix x("my x", 4, 6), y("my y", 3, 6);
  const Kokkos::View<std::int32_t*, exec> index("my index", 2);
  std::string message = "nothing was thrown";
  try {
    gather_rows(ctx, x, index, y);
  } catch (const shape_error& caught) {
    message = caught.what();
  }
  EXPECT_THAT(message, testing::StartsWith("prumo::gather_rows: "));
  EXPECT_THAT(message, testing::HasSubstr("y with a row for each index"));
  EXPECT_THAT(message, testing::HasSubstr("'my index': i32 [2]"));
  EXPECT_THROW(gather_rows(ctx, x, index, matrix("y", 2, 5)), shape_error);
  EXPECT_THROW(gather_rows(ctx, x, index, Kokkos::subview(x, std::pair{0, 2}, Kokkos::ALL)), alias_error);
}

}  // namespace
}  // namespace prumo
