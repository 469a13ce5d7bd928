// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles of registers of channels: those that slide over a row against those that take one tap after the other.

#include "channel_tiles.hpp"

#include "uniform_numbers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace prumo::backend {
namespace {

template <class C>
class channel_tile_types : public testing::Test {};
TYPED_TEST_SUITE(channel_tile_types, tests::compute_types);

TYPED_TEST(channel_tile_types, have_the_same_bits_whether_they_slide_or_not) {
  using C = TypeParam;
  using tiles = channel_tiles<C>;
  constexpr std::int64_t filter_rows = 4, most_columns = 60;
  for (const std::int64_t filter_columns : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const std::int64_t pitch = most_columns + filter_columns - 1, count = filter_rows * filter_columns;
    const auto places = tests::uniform_numbers<C>(static_cast<std::size_t>(filter_rows * pitch), 1);
    std::vector<std::int64_t> offsets;
    for (std::int64_t tap = 0; tap < count; ++tap) {
      offsets.push_back(tap / filter_columns * pitch + tap % filter_columns);
    }
    for (std::int64_t vectors = 1; vectors <= tiles::most_vectors; ++vectors) {
      const std::int64_t channels = vectors * tiles::lanes;
      const auto weights = tests::uniform_numbers<C>(static_cast<std::size_t>(count * channels), 2);
      const filter_taps<C> one_by_one{count, weights.data(), offsets.data()};
      const filter_taps<C> by_rows{count, weights.data(), offsets.data(), filter_columns};
      for (std::int64_t columns = 1; columns <= most_columns; ++columns) {
        // Behind the sums, nothing is written.
        const auto size = static_cast<std::size_t>(columns * channels);
        std::vector<C> expected(size + 1, C(-9)), sums = expected;
        tiles::add_row(columns, channels, places.data(), one_by_one, expected.data());
        tiles::add_row(columns, channels, places.data(), by_rows, sums.data());
        ASSERT_EQ(sums, expected) << filter_columns << " columns of a filter, " << channels << " channels, " << columns
                                  << " places";
        ASSERT_EQ(sums.back(), C(-9));
      }
    }
  }
}

TEST(channel_tiles, slide_where_loads_would_bind) {
  using tiles = channel_tiles<float>;
  for (const std::int64_t filter_columns : {3, 5, 7}) {
    EXPECT_EQ(tiles::slides(1, filter_columns, 18), simd_has_many_registers);
    EXPECT_FALSE(tiles::slides(2, filter_columns, 18));
    EXPECT_FALSE(tiles::slides(1, filter_columns, 7));
  }
  EXPECT_FALSE(tiles::slides(1, 1, 18));
  EXPECT_FALSE(tiles::slides(1, 9, 18));
}

/// A tile has registers for 8 to 23 places.
TEST(channel_tiles, cut_rows_into_pieces_that_tiles_can_hold) {
  using tiles = channel_tiles<float>;
  for (std::int64_t columns = 1; columns <= 200; ++columns) {
    const row_pieces pieces = tiles::pieces_of(columns, 1, 5);
    const std::int64_t smallest = pieces.count == pieces.larger ? pieces.places : pieces.places - 1;
    EXPECT_LE(pieces.places, tiles::slides(1, 5, columns) ? 23 : 12) << columns;
    EXPECT_GE(smallest, std::min<std::int64_t>(columns, tiles::slides(1, 5, columns) ? 8 : 1)) << columns;
  }
}

}  // namespace
}  // namespace prumo::backend
