// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case does not reach: layouts that differ, parts of matrices, bits that no arithmetic makes, refusals.

#include "operation_test.hpp"
#include "transpose_direct_kernel.hpp"
#include <prumo/transpose.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace prumo {
namespace {

using namespace tests;

template <class T>
class transpose_types : public testing::Test {};
TYPED_TEST_SUITE(transpose_types, tests::all_scalars);

template <class X, class Y>
void expect_transposed(const X& x, const Y& y, std::size_t working_set = 0) {
  context<exec> ctx;
  ctx.set_working_set(working_set);
  const auto source = tests::set_elements(x, [](std::size_t r, std::size_t c) {
    return typename X::value_type(static_cast<float>((r * 131 + c * 7) % 1021) - 500.0f);
  });
  transpose(ctx, x, y);
  ctx.fence();
  const auto result = tests::host_copy(y);
  std::int64_t wrong = 0;
  tests::for_each_index(x, [&](auto r, auto c) { wrong += result(c, r) != source(r, c) ? 1 : 0; });
  EXPECT_EQ(wrong, 0) << x.extent(0) << " x " << x.extent(1);
}

TYPED_TEST(transpose_types, any_two_layouts) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, std::pair{1, 77}, std::pair{77, 1}, std::pair{64, 64},
                                      std::pair{128, 256}, std::pair{130, 67}, std::pair{511, 72}}) {
    expect_transposed(row_major<TypeParam>("x", rows, columns), row_major<TypeParam>("y", columns, rows));
    expect_transposed(row_major<TypeParam>("x", rows, columns), column_major<TypeParam>("y", columns, rows));
    expect_transposed(column_major<TypeParam>("x", rows, columns), row_major<TypeParam>("y", columns, rows));
    expect_transposed(column_major<TypeParam>("x", rows, columns), column_major<TypeParam>("y", columns, rows));
  }
}

/// Matrices of few rows or columns, whose first row begins at a pack or within one.
TYPED_TEST(transpose_types, narrow_matrices) {
  for (const int narrow : {2, 3, 4, 5, 6, 7, 8, 31, 32, 33, 63, 64, 65}) {
    for (const int wide : {1, 7, 64, 1021, 20011, narrow <= 8 ? 2200006 / narrow : 33013}) {
      for (const int begin : {0, 1}) {
        const row_major<TypeParam> narrow_rows("x", begin + wide, narrow), wide_rows("y", begin + narrow, wide);
        const auto x = Kokkos::subview(narrow_rows, std::pair{begin, begin + wide}, Kokkos::ALL);
        const auto y = Kokkos::subview(wide_rows, std::pair{begin, begin + narrow}, Kokkos::ALL);
        expect_transposed(x, y);
        expect_transposed(y, x);
      }
    }
  }
}

/// Extents around the sides of squares, lines, tiles and bands, and rows that share the sets of a cache.
TYPED_TEST(transpose_types, edges_of_squares) {
  const int sides[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 66, 67, 68, 71, 72, 127, 131, 135};
  for (const int rows : sides) {
    for (const int columns : sides) {
      expect_transposed(row_major<TypeParam>("x", rows, columns), row_major<TypeParam>("y", columns, rows));
    }
  }
  for (const int rows : {2, 16, 64, 67, 131}) {
    for (const int columns : {512, 1024, 1025, 2048, 2051}) {
      expect_transposed(row_major<TypeParam>("x", rows, columns), row_major<TypeParam>("y", columns, rows));
      expect_transposed(row_major<TypeParam>("x", columns, rows), row_major<TypeParam>("y", rows, columns));
    }
  }
}

/// The threads of a device's kernel for small matrices, one after the other on the host.
TEST(transpose_direct_kernel, moves_each_element_once) {
  for (const std::int64_t rows : {2, 3, 4, 61, 256}) {
    for (const std::int64_t columns : {2, 5, 64, 697}) {
      for (const std::size_t begin : {0, 1}) {
        const std::int64_t stride = columns + 3;
        const auto elements = static_cast<std::size_t>(rows * columns);
        std::vector<std::uint16_t> source(static_cast<std::size_t>(rows * stride)),
            target(elements + begin + 1, 0xffff);
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i * 7919 % 65521);
        const detail::transpose_problem<std::uint16_t> problem{
            source.data(), target.data() + begin, rows, columns, stride, 1, rows, 1, 0};
        ASSERT_TRUE(detail::transpose_direct_kernel<std::uint16_t>::can_take(problem));
        const detail::transpose_direct_kernel<std::uint16_t> kernel(problem);
        for (std::int64_t thread = 0; thread < kernel.blocks(); ++thread) kernel(thread);
        std::int64_t wrong = 0;
        for (std::int64_t c = 0; c < columns; ++c) {
          for (std::int64_t r = 0; r < rows; ++r) {
            const std::uint16_t moved = target[begin + static_cast<std::size_t>(c * rows + r)];
            wrong += moved != source[static_cast<std::size_t>(r * stride + c)] ? 1 : 0;
          }
        }
        EXPECT_EQ(wrong, 0) << rows << " x " << columns;
        EXPECT_EQ(target.back(), 0xffff);
      }
    }
  }
}

TEST(transpose_direct_kernel, leaves_large_matrices_and_targets_with_gaps_to_others) {
  using kernel = detail::transpose_direct_kernel<float>;
  const auto takes = [](std::int64_t rows, std::int64_t columns, std::int64_t target_stride) {
    return kernel::can_take({nullptr, nullptr, rows, columns, columns, 1, target_stride, 1, 0});
  };
  EXPECT_TRUE(takes(1024, 176, 1024));
  EXPECT_FALSE(takes(1024, 177, 1024));
  EXPECT_TRUE(takes(640, 512, 640));
  EXPECT_FALSE(takes(640, 513, 640));
  EXPECT_TRUE(takes(320, 3276, 320));
  EXPECT_FALSE(takes(320, 3277, 320));
  EXPECT_TRUE(takes(780, 63, 780));
  EXPECT_FALSE(takes(781, 63, 781));
  EXPECT_TRUE(takes(96, 32768, 96));
  EXPECT_FALSE(takes(96, 32769, 96));
  EXPECT_TRUE(takes(256, 8192, 256));
  EXPECT_FALSE(takes(256, 8193, 256));
  EXPECT_TRUE(takes(699050, 3, 699050));
  EXPECT_FALSE(takes(699051, 3, 699051));
  EXPECT_TRUE(takes(65536, 4, 65536));
  EXPECT_FALSE(takes(65537, 4, 65537));
  EXPECT_TRUE(takes(30037, 6, 30037));
  EXPECT_FALSE(takes(30038, 6, 30038));
  EXPECT_TRUE(takes(14043, 7, 14043));
  EXPECT_FALSE(takes(14044, 7, 14044));
  EXPECT_FALSE(takes(std::int64_t{1} << 40, std::int64_t{1} << 40, std::int64_t{1} << 40));
  EXPECT_FALSE(takes(8, 16, 9));
}

/// Rows that begin at a pack and end within one, and rows that do not.
TYPED_TEST(transpose_types, parts_of_matrices) {
  for (const int begin : {0, 3, 8}) {
    const auto x =
        Kokkos::subview(row_major<TypeParam>("x", 160, 240), std::pair{0, 131}, std::pair{begin, begin + 149});
    const auto y =
        Kokkos::subview(row_major<TypeParam>("y", 160, 240), std::pair{0, 149}, std::pair{begin, begin + 131});
    expect_transposed(x, y);
  }
}

/// Transposes that are written past the caches on a host, which those of few bytes never are: whole and partial tiles,
/// targets whose rows begin within a cache line, at different words or all at the same one, and more than one strip of
/// columns.
TYPED_TEST(transpose_types, streamed) {
  constexpr std::size_t much = std::size_t{1} << 40;
  for (const auto& [rows, columns] :
       {std::pair{128, 576}, std::pair{384, 194}, std::pair{257, 321}, std::pair{131, 2300}, std::pair{1031, 67},
        std::pair{3, 23000}, std::pair{7, 10530}, std::pair{14000, 5}, std::pair{2, 34100}, std::pair{29, 2300},
        std::pair{64, 1100}, std::pair{67, 1260}, std::pair{34100, 2}, std::pair{7500, 9}, std::pair{2400, 28},
        std::pair{2300, 29}, std::pair{900, 85}, std::pair{800, 86}, std::pair{80, 850}}) {
    for (const int begin : {0, 1, 8}) {
      for (const int beside : {0, 5, 64}) {
        const row_major<TypeParam> whole("y", columns, begin + rows + beside);
        expect_transposed(row_major<TypeParam>("x", rows, columns),
                          Kokkos::subview(whole, std::pair{0, columns}, std::pair{begin, begin + rows}), much);
        const auto copy = tests::host_copy(whole);
        std::int64_t touched = 0;
        for (int c = 0; c < columns; ++c) {
          for (int r = 0; r < begin; ++r) touched += static_cast<float>(copy(c, r)) != 0.0f ? 1 : 0;
          for (int r = begin + rows; r < begin + rows + beside; ++r) {
            touched += static_cast<float>(copy(c, r)) != 0.0f ? 1 : 0;
          }
        }
        EXPECT_EQ(touched, 0) << rows << " x " << columns << " from " << begin;
      }
    }
  }
}

TYPED_TEST(transpose_types, what_lies_beside_the_output_stays) {
  context<exec> ctx;
  const row_major<TypeParam> x("x", 350, 260), whole("whole", 270, 380);
  Kokkos::deep_copy(whole, TypeParam(7.0f));
  ctx.set_working_set(std::size_t{1} << 40);  // streamed, on a host
  transpose(ctx, x, Kokkos::subview(whole, std::pair{4, 264}, std::pair{8, 358}));
  ctx.fence();
  const auto result = tests::host_copy(whole);
  std::int64_t wrong = 0;
  tests::for_each_index(whole, [&](auto r, auto c) {
    const bool inside = r >= 4 && r < 264 && c >= 8 && c < 358;
    wrong += static_cast<float>(result(r, c)) != (inside ? 0.0f : 7.0f) ? 1 : 0;
  });
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(transpose_types, infinities_nan_and_the_sign_of_zero_are_moved) {
  context<exec> ctx;
  const row_major<TypeParam> x("x", 64, 64), y("y", 64, 64);
  const auto source = tests::host_copy(x);
  source(1, 2) = TypeParam(std::numeric_limits<float>::quiet_NaN());
  source(3, 4) = TypeParam(-std::numeric_limits<float>::infinity());
  source(5, 6) = TypeParam(-0.0f);
  tests::write_back(x, source);
  transpose(ctx, x, y);
  ctx.fence();
  const auto result = tests::host_copy(y);
  EXPECT_TRUE(std::isnan(static_cast<float>(result(2, 1))));
  EXPECT_EQ(static_cast<float>(result(4, 3)), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(static_cast<float>(result(6, 5))));
}

TEST(transpose, refuses_shapes_and_overlap) {
  context<exec> ctx;
  const row_major<float> x("my x", 4, 6), y("my y", 4, 6), square("square", 5, 5);
  EXPECT_THAT(tests::message_of<shape_error>([&] { transpose(ctx, x, y); }),
              AllOf(StartsWith("prumo::transpose: "), HasSubstr("y with the rows of x as its columns"),
                    HasSubstr("'my y': f32 [4 x 6]")));
  EXPECT_THROW(transpose(ctx, square, square), alias_error);
  EXPECT_THROW(transpose(ctx, x, row_major<float>("y", 6, 5)), shape_error);
}

TEST(transpose, nothing_to_do) {
  context<exec> ctx;
  transpose(ctx, row_major<float>("x", 0, 7), row_major<float>("y", 7, 0));
  transpose(ctx, row_major<float>("x", 7, 0), row_major<float>("y", 0, 7));
  ctx.fence();
}

}  // namespace
}  // namespace prumo
