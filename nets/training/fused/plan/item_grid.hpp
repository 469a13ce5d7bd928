// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How threads find the place of an item that they take: by products instead of divisions, which take a device some
/// twenty instructions each.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::nets {

/// Divides by a number that is known before a launch.
///
/// With l = ceil(log2(d)) and m = floor(2^(bits + l) / d) + 1, floor(n m / 2^(bits + l)) is floor(n / d) for all n
/// below 2^bits (Granlund and Montgomery, Division by invariant integers using multiplication, theorem 4.2).
class quick_divisor {
 public:
  /// Numbers below 2^bits can be divided.
  static constexpr int bits = 28;

  quick_divisor() = default;
  /// \param value from 1 to 2^bits
  explicit quick_divisor(int value) : value_(value) {
    int log = 0;
    while ((std::int64_t{1} << log) < value) ++log;
    shift_ = bits + log;
    factor_ = static_cast<std::uint32_t>((std::uint64_t{1} << shift_) / static_cast<std::uint64_t>(value) + 1);
  }

  KOKKOS_FUNCTION int value() const { return value_; }
  KOKKOS_FUNCTION int quotient(int number) const {
    return static_cast<int>((static_cast<std::uint64_t>(static_cast<std::uint32_t>(number)) * factor_) >> shift_);
  }

 private:
  int value_ = 1;
  int shift_ = bits;
  std::uint32_t factor_ = (std::uint32_t{1} << bits) + 1;
};

/// Items that are numbered as [images][channels][rows][columns].
struct item_grid {
  quick_divisor channels, rows, columns;
  int of_an_image = 1;

  item_grid() = default;
  item_grid(int channel_count, int row_count, int column_count)
      : channels(channel_count),
        rows(row_count),
        columns(column_count),
        of_an_image(channel_count * row_count * column_count) {}
};

/// The place of an item.
struct item_place {
  int image, channel, row, column;

  KOKKOS_FUNCTION item_place(int item, const item_grid& grid) {
    const int all_rows = grid.columns.quotient(item);
    column = item - all_rows * grid.columns.value();
    const int all_channels = grid.rows.quotient(all_rows);
    row = all_rows - all_channels * grid.rows.value();
    image = grid.channels.quotient(all_channels);
    channel = all_channels - image * grid.channels.value();
  }
};

}  // namespace prumo::nets
