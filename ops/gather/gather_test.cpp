// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case does not reach: indices of 32 bits, indices that are no rows, long rows, layouts that differ, refusals.

#include "gather_device_kernel.hpp"
#include "gather_host_kernel.hpp"
#include "operation_test.hpp"
#include <prumo/gather.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace prumo {
namespace {

using namespace tests;

template <class T>
class gather_types : public testing::Test {};
TYPED_TEST_SUITE(gather_types, tests::all_scalars);

/// Gathers rows by indices of which every fifth is none, and looks at every element.
template <class Index, class X, class Y>
void expect_gathered(const X& x, const Y& y, std::size_t working_set = 0) {
  context<exec> ctx;
  ctx.set_working_set(working_set);
  const auto table = static_cast<std::int64_t>(x.extent(0));
  const Kokkos::View<Index*, exec> index("index", y.extent(0));
  constexpr Index none[] = {-1, std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max()};
  const auto chosen = tests::set_elements(index, [&](std::size_t i) {
    if (i % 5 == 3) return none[i % 3];
    return i % 5 == 4 ? static_cast<Index>(table) : static_cast<Index>(i * 7 % x.extent(0));
  });
  const auto source = tests::set_elements(x, [](std::size_t r, std::size_t c) {
    return typename X::value_type(static_cast<float>((r * 31 + c) % 1021) - 500.0f);
  });
  gather_rows(ctx, x, index, y);
  ctx.fence();
  const auto result = tests::host_copy(y);
  std::int64_t wrong = 0;
  tests::for_each_index(y, [&](auto i, auto c) {
    const bool there = chosen(i) >= 0 && static_cast<std::int64_t>(chosen(i)) < table;
    const auto found = static_cast<double>(result(i, c));
    const bool right =
        there ? found == static_cast<double>(source(static_cast<std::size_t>(chosen(i)), c)) : std::isnan(found);
    wrong += right ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0) << y.extent(0) << " x " << y.extent(1) << " of " << x.extent(0);
}

/// So many that a host prefetches the lines that it will write, or writes past its caches.
TYPED_TEST(gather_types, many_rows_that_share_lines) {
  for (const int columns : {33, 70, 141, 555}) {
    const row_major<TypeParam> x("x", 23, columns), y("y", 4'000'000 / columns, columns);
    expect_gathered<std::int64_t>(x, y);
    expect_gathered<std::int64_t>(x, y, std::size_t{1} << 40);
  }
}

TYPED_TEST(gather_types, indices_of_both_widths_some_of_which_are_no_rows) {
  for (const int columns : {1, 2, 3, 5, 7, 16, 31, 33, 63, 64, 65, 100, 1000, 1024, 70001}) {
    const row_major<TypeParam> x("x", 23, columns), y("y", 40, columns);
    expect_gathered<std::int64_t>(x, y);
    expect_gathered<std::int32_t>(x, y);
  }
}

TYPED_TEST(gather_types, any_two_layouts) {
  expect_gathered<std::int64_t>(row_major<TypeParam>("x", 50, 33), column_major<TypeParam>("y", 70, 33));
  expect_gathered<std::int64_t>(column_major<TypeParam>("x", 50, 33), row_major<TypeParam>("y", 70, 33));
  const auto part = Kokkos::subview(row_major<TypeParam>("x", 50, 40), Kokkos::ALL, std::pair{3, 36});
  expect_gathered<std::int64_t>(part, row_major<TypeParam>("y", 70, 33));
}

/// Devices move large targets in words as wide as the rows allow, or in packs that may have the end of a row and the
/// beginning of the next.
TYPED_TEST(gather_types, large_targets_that_begin_anywhere) {
  constexpr std::size_t bytes = (std::size_t{5} << 19) / sizeof(TypeParam);
  using view = Kokkos::View<TypeParam**, Kokkos::LayoutRight, exec, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  for (const std::size_t columns : {1, 2, 6, 9, 16, 17, 67, 513}) {
    const std::size_t table = 37, rows = bytes / columns + 1;
    const Kokkos::View<TypeParam*, exec> source("source", table * columns + 3), target("target", rows * columns + 9);
    for (const std::size_t begin : {0, 1, 7}) {
      const TypeParam untouched(320.0f);
      Kokkos::deep_copy(target, untouched);
      expect_gathered<std::int64_t>(view(source.data() + begin % 4, table, columns),
                                    view(target.data() + begin, rows, columns));
      const auto found = tests::host_copy(target);
      for (const std::size_t outside : {begin - 1, begin + rows * columns}) {
        if (outside >= target.extent(0)) continue;
        EXPECT_EQ(static_cast<double>(found(outside)), 320.0) << columns << " columns at " << begin;
      }
    }
  }
}

TYPED_TEST(gather_types, large_targets_with_gaps) {
  for (const std::size_t columns : {3, 8, 40}) {
    const std::size_t rows = (std::size_t{5} << 19) / sizeof(TypeParam) / columns;
    const row_major<TypeParam> x("x", 41, columns + 8), y("y", rows, columns + 8);
    expect_gathered<std::int32_t>(Kokkos::subview(x, Kokkos::ALL, std::pair<std::size_t, std::size_t>{8, 8 + columns}),
                                  Kokkos::subview(y, Kokkos::ALL, std::pair<std::size_t, std::size_t>{0, columns}));
  }
}

/// A target beyond what a kernel can count is cut into parts. Here parts are small.
TEST(gather_rows, parts_are_the_whole) {
  constexpr std::int64_t rows = 7, columns = 10, table = 5;
  std::vector<std::uint32_t> source(table * columns), target(rows * columns), counts(rows * columns);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint32_t>(i) + 100;
  const std::vector<std::int32_t> index = {4, 2, 0, 1, 3, 3, 2};
  detail::gather_problem<std::uint32_t, std::int32_t> problem;
  problem.source = source.data();
  problem.index = index.data();
  problem.target = target.data();
  problem.source_rows = table;
  problem.rows = rows;
  problem.columns = problem.source_row_stride = problem.target_row_stride = columns;
  for (const std::int64_t most : {1, 3, 10, 19, 20, 69, 70, 1000}) {
    std::fill(counts.begin(), counts.end(), 0u);
    detail::for_each_part_to_gather(problem, most, [&](const auto& part) {
      EXPECT_LE(part.rows * part.columns, most);
      for (std::int64_t row = 0; row < part.rows; ++row) {
        for (std::int64_t column = 0; column < part.columns; ++column) {
          std::uint32_t* const to = part.target + row * part.target_row_stride + column;
          *to = part.source[part.index[row] * part.source_row_stride + column];
          ++counts[static_cast<std::size_t>(to - target.data())];
        }
      }
    });
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t from = index[static_cast<std::size_t>(i / columns)] * columns + i % columns;
      EXPECT_EQ(target[static_cast<std::size_t>(i)], source[static_cast<std::size_t>(from)]) << most << ' ' << i;
      EXPECT_EQ(counts[static_cast<std::size_t>(i)], 1u) << most << ' ' << i;
    }
  }
}

/// Hosts store large arrays past the caches. Here small arrays are stored so, with rows that begin anywhere in a cache
/// line.
TEST(gather_rows, hosts_store_rows_past_the_caches) {
  using word = std::uint16_t;
  constexpr std::int64_t table = 11, rows = 1501;
  constexpr word untouched = 0xdead, missing = 0x7e00;
  for (const std::int64_t columns : {1, 2, 3, 7, 31, 32, 33, 64, 65, 127, 128, 129, 1000}) {
    std::vector<word> source(static_cast<std::size_t>(table * columns));
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<word>(i * 40503u % 50021u);
    std::vector<std::int32_t> index(rows);
    for (std::int32_t i = 0; i < rows; ++i) index[static_cast<std::size_t>(i)] = i % 5 == 3 ? -1 : i * 7 % 13;
    std::vector<word> target(static_cast<std::size_t>(rows * columns) + 2, untouched);
    detail::gather_problem<word, std::int32_t> problem;
    problem.source = source.data();
    problem.index = index.data();
    problem.target = target.data() + 1;
    problem.source_rows = table;
    problem.rows = rows;
    problem.columns = problem.source_row_stride = problem.target_row_stride = columns;
    problem.missing = missing;
    const detail::gather_host_kernel<word, std::int32_t> kernel(problem, 2, true);
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t chosen = index[static_cast<std::size_t>(row)];
      for (std::int64_t c = 0; c < columns; ++c) {
        const bool is_there = chosen >= 0 && chosen < table;
        const word expected = is_there ? source[static_cast<std::size_t>(chosen * columns + c)] : missing;
        wrong += target[static_cast<std::size_t>(1 + row * columns + c)] != expected ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, 0) << columns;
    EXPECT_EQ(target.front(), untouched) << columns;
    EXPECT_EQ(target.back(), untouched) << columns;
  }
}

TEST(gather_rows, of_a_matrix_without_rows_is_nan) {
  context<exec> ctx;
  const row_major<float> x("x", 0, 5), y("y", 3, 5);
  const Kokkos::View<std::int64_t*, exec> index("index", 3);
  gather_rows(ctx, x, index, y);
  ctx.fence();
  EXPECT_TRUE(std::isnan(tests::host_copy(y)(2, 4)));
}

TEST(gather_rows, refuses_shapes_and_overlap) {
  context<exec> ctx;
  const row_major<float> x("my x", 4, 6), y("my y", 3, 6);
  const Kokkos::View<std::int32_t*, exec> index("my index", 2);
  EXPECT_THAT(tests::message_of<shape_error>([&] { gather_rows(ctx, x, index, y); }),
              AllOf(StartsWith("prumo::gather_rows: "), HasSubstr("y with a row for each index"),
                    HasSubstr("'my index': i32 [2]")));
  EXPECT_THROW(gather_rows(ctx, x, index, row_major<float>("y", 2, 5)), shape_error);
  EXPECT_THROW(gather_rows(ctx, x, index, Kokkos::subview(x, std::pair{0, 2}, Kokkos::ALL)), alias_error);
}

}  // namespace
}  // namespace prumo
