// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How threads find the place of an item that they take: by products, because a division takes a device some twenty
/// instructions.

#include <prumo/detail/index_divider.hpp>

namespace prumo::nets {

/// Items that are numbered as [images][channels][rows][columns].
struct item_grid {
  prumo::detail::index_divider by_channels, by_rows, by_columns;
  int channels = 1, rows = 1, columns = 1;
  int of_an_image = 1;

  item_grid() = default;
  item_grid(int channel_count, int row_count, int column_count)
      : by_channels(channel_count),
        by_rows(row_count),
        by_columns(column_count),
        channels(channel_count),
        rows(row_count),
        columns(column_count),
        of_an_image(channel_count * row_count * column_count) {}
};

/// The place of an item.
struct item_place {
  int image, channel, row, column;

  KOKKOS_FUNCTION item_place(int item, const item_grid& grid) {
    const int all_rows = grid.by_columns.quotient(item);
    column = item - all_rows * grid.columns;
    const int all_channels = grid.by_rows.quotient(all_rows);
    row = all_rows - all_channels * grid.rows;
    image = grid.by_channels.quotient(all_channels);
    channel = all_channels - image * grid.channels;
  }
};

}  // namespace prumo::nets
