// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What one thread of the gradient of filters on a device computes: a tile of sums, held in registers.

#include "convolution_geometry.hpp"
#include "tile/load_neighbours.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The output channels of a tile, and the filters that it is made for.
struct weights_tile {
  int channels;
  int filter_columns;  ///< with a column stride of 1; 0: any filter and stride, one weight of each channel

  KOKKOS_FUNCTION constexpr int columns() const { return filter_columns == 0 ? 1 : filter_columns; }
  KOKKOS_FUNCTION constexpr int sums() const { return channels * columns(); }

  constexpr bool suits(const convolution_geometry& geometry) const {
    return filter_columns == 0 || (filter_columns == geometry.filter_columns && geometry.column_stride == 1);
  }

  /// What an element of x and one of dy cost the threads, about: multiply-adds, those of channels that are not there
  /// included, and loads, of which those of x serve all channels of a tile and those of dy all columns.
  constexpr double cost(std::int64_t out_channels) const {
    const std::int64_t padded = (out_channels + channels - 1) / channels * channels;
    return static_cast<double>(padded) * (1 + 1.0 / channels + 1.0 / columns());
  }
};

template <class C, weights_tile Tile>
class weights_sums {
 public:
  /// The places of a row of dy that are taken at once.
  static constexpr int segment = prumo::detail::device_pack_elements<C>;

  KOKKOS_FORCEINLINE_FUNCTION void clear() {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int q = 0; q < Tile.columns(); ++q) sums_[m][q] = C(0);
    }
  }

  /// Adds the products of a segment.
  /// \param x the element that the first place meets with the first weight; aligned for packs if the columns are known
  /// \param dy the first place, aligned for packs, of the first channel
  /// \param plane from a channel of dy to the next
  KOKKOS_FORCEINLINE_FUNCTION void add(const C* x, int column_stride, const C* dy, int plane) {
    constexpr int columns = Tile.columns(), needed = segment + columns - 1;
    C elements[needed];
    if constexpr (Tile.filter_columns > 0) {
      load_neighbours<needed, segment>(x, elements);
    } else {
      PRUMO_UNROLL
      for (int j = 0; j < segment; ++j) {
        const int place = j * column_stride;
        elements[j] = x[place];
      }
    }
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      C gradient[segment];
      load_neighbours<segment, segment>(dy + m * plane, gradient);
      PRUMO_UNROLL
      for (int j = 0; j < segment; ++j) {
        PRUMO_UNROLL
        for (int q = 0; q < columns; ++q) sums_[m][q] = prumo::fma(gradient[j], elements[q + j], sums_[m][q]);
      }
    }
  }

  /// Calls visit(number of the sum, sum). Numbers are channel * columns + column.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const Visit& visit) const {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int q = 0; q < Tile.columns(); ++q) visit(m * Tile.columns() + q, sums_[m][q]);
    }
  }

 private:
  C sums_[Tile.channels][Tile.columns()];
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
