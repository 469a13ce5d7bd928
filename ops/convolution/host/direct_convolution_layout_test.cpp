// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which numbers the direct convolution of hosts keeps in a register, and how it cuts rows.

#include "direct_convolution_layout.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace prumo::backend {
namespace {

convolution_problem<float> problem_of(std::int64_t in_channels, std::int64_t out_channels, std::int64_t side,
                                      std::int64_t filter) {
  convolution_problem<float> problem{};
  problem.images = 10;
  problem.in_channels = in_channels;
  problem.out_channels = out_channels;
  problem.height = problem.width = side;
  problem.filter_rows = problem.filter_columns = filter;
  problem.row_stride = problem.column_stride = 1;
  problem.rows = problem.columns = problem.y_rows = problem.y_columns = side - filter + 1;
  return problem;
}

TEST(direct_layout, keeps_channels_in_registers_where_they_fill_them) {
  constexpr std::int64_t lanes = simd<float>::lanes, many = 4 * lanes;
  EXPECT_EQ(direct_layout::of(problem_of(4, many, lanes + 7, 7), 2, false).registers, register_kind::channels);
  EXPECT_EQ(direct_layout::of(problem_of(64, many, lanes + 3, 3), 2, false).registers, register_kind::channels);
}

/// With few taps the transposition of the sums costs more than the places at the end of a row.
TEST(direct_layout, keeps_places_in_registers_otherwise) {
  constexpr std::int64_t few = simd<float>::lanes / 2 + 1, many = 4 * simd<float>::lanes;
  EXPECT_EQ(direct_layout::of(problem_of(1, few, 48, 5), 2, false).registers, register_kind::places);
  EXPECT_EQ(direct_layout::of(problem_of(1, many, 200, 1), 2, false).registers, register_kind::places);
}

TEST(direct_layout, joins_rows_that_fill_no_register) {
  constexpr std::int64_t lanes = simd<float>::lanes;
  EXPECT_TRUE(direct_layout::of(problem_of(32, 4, lanes + 2, 2), 2, false).joins_rows);
  EXPECT_FALSE(direct_layout::of(problem_of(1, 1, 4 * lanes + 4, 5), 2, false).joins_rows);
}

/// What registers read behind the last row would not be the image's memory.
TEST(direct_layout, reads_images_where_they_lie_unless_registers_pass_their_end) {
  constexpr std::int64_t lanes = simd<float>::lanes;
  const auto lying = [](convolution_problem<float> problem) {
    problem.x.column_stride = 1;
    problem.x.row_stride = problem.width;
    problem.x.channel_stride = problem.width * problem.height;
    return problem;
  };
  convolution_problem<float> problem = lying(problem_of(2, 1, 4 * lanes + 4, 5));
  EXPECT_TRUE(direct_layout::of(problem, 2, false).takes_images);
  EXPECT_FALSE(direct_layout::of(lying(problem_of(2, 1, lanes / 2 + 4, 5)), 2, false).takes_images);
  problem.x.row_stride += 1;
  EXPECT_FALSE(direct_layout::of(problem, 2, false).takes_images);
  problem = lying(problem);
  problem.row_padding = 1;
  EXPECT_FALSE(direct_layout::of(problem, 2, false).takes_images);
}

/// Results that lie without gaps.
convolution_problem<float> streamed_problem(std::int64_t out_channels, std::int64_t side) {
  convolution_problem<float> problem = problem_of(1, out_channels, side + 4, 5);
  problem.y = {nullptr, out_channels * side * side, side * side, side, 1};
  return problem;
}

TEST(direct_layout, stores_small_images_at_once_if_their_planes_end_within_lines) {
  EXPECT_TRUE(direct_layout::of(streamed_problem(6, 22), 2, true).stages_results);
  EXPECT_FALSE(direct_layout::of(streamed_problem(6, 22), 2, false).stages_results);
  EXPECT_FALSE(direct_layout::of(streamed_problem(6, 24), 2, true).stages_results) << "planes are whole lines";
  EXPECT_FALSE(direct_layout::of(streamed_problem(60, 22), 2, true).stages_results) << "too large";
  convolution_problem<float> with_gaps = streamed_problem(6, 22);
  with_gaps.y.row_stride = 23;
  EXPECT_FALSE(direct_layout::of(with_gaps, 2, true).stages_results);
}

TEST(direct_layout, makes_blocks_of_whole_lines) {
  const direct_layout usual = direct_layout::of(streamed_problem(6, 44), 2, false);
  const direct_layout streamed = direct_layout::of(streamed_problem(6, 44), 2, true);
  ASSERT_LT(usual.block_rows, usual.band_rows);
  EXPECT_EQ(streamed.block_rows * 44 % 16, 0);
  EXPECT_GE(streamed.block_rows, usual.block_rows);
  EXPECT_LE(4 * streamed.block_rows, 5 * usual.block_rows);
}

TEST(direct_layout, gives_the_channels_of_all_tiles_a_weight) {
  const direct_layout layout =
      direct_layout::of(problem_of(64, 4 * simd<float>::lanes - 1, simd<float>::lanes + 3, 3), 2, false);
  ASSERT_EQ(layout.registers, register_kind::channels);
  EXPECT_EQ(layout.channels_of_tiles<float>(4 * simd<float>::lanes - 1), 4 * simd<float>::lanes);
  std::int64_t channels = 0;
  while (channels < 4 * simd<float>::lanes - 1) {
    channels += layout.channels_of_next<float>(4 * simd<float>::lanes - 1 - channels);
  }
  EXPECT_EQ(channels, 4 * simd<float>::lanes);
}

TEST(row_pieces, cover_a_row_and_differ_by_one_place_at_most) {
  for (std::int64_t most = 1; most <= 12; ++most) {
    for (std::int64_t columns = 1; columns <= 100; ++columns) {
      const row_pieces pieces(columns, most);
      EXPECT_LE(pieces.places, most);
      EXPECT_GE(pieces.larger, 1);
      EXPECT_LE(pieces.larger, pieces.count);
      EXPECT_EQ(pieces.larger * pieces.places + (pieces.count - pieces.larger) * (pieces.places - 1), columns);
    }
  }
}

}  // namespace
}  // namespace prumo::backend
