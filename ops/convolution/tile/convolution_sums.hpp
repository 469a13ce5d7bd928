// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The products that one thread of the direct convolution on a device adds to its tile of sums.

#include "convolution_problem.hpp"
#include "convolution_tile.hpp"
#include "load_neighbours.hpp"
#include "tile_sums.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C, convolution_tile Tile>
class convolution_sums : public tile_sums<C, Tile> {
  using tile_sums<C, Tile>::sums_;

 public:
  static constexpr int pack_elements = prumo::detail::device_pack_elements<C>;
  static constexpr int input_pack = Tile.input_pack(pack_elements);

  /// Adds the products with a row of the filters, whose columns are Tile.filter_columns.
  /// \param row where the tile's first row of x begins for this row of the filters
  /// \param distance from that to the next row of the tile
  KOKKOS_FORCEINLINE_FUNCTION void add_filter_row(const C* row, int distance, const C* weights) {
    constexpr int filter_columns = Tile.filter_columns, needed = Tile.columns + filter_columns - 1;
    constexpr auto weight_elements = static_cast<int>(Tile.weight_row_elements(filter_columns));
    C w[weight_elements];
    load_neighbours<weight_elements, pack_elements>(weights, w);
    PRUMO_UNROLL
    for (int r = 0; r < Tile.rows; ++r) {
      C x[needed];
      load_neighbours<needed, input_pack>(row + r * distance, x);
      add_row_products(r, x, w);
    }
  }

  /// The same for a row of x that is spread: sum s of a row gets the products of element k and weight q with
  /// k - q + Tile.filter_columns - 1 = s.
  KOKKOS_FORCEINLINE_FUNCTION void spread_row(const C* row, const C* weights) {
    constexpr int filter_columns = Tile.filter_columns;
    constexpr auto weight_elements = static_cast<int>(Tile.weight_row_elements(filter_columns));
    C w[weight_elements], x[Tile.columns];
    load_neighbours<weight_elements, pack_elements>(weights, w);
    load_neighbours<Tile.columns, input_pack>(row, x);
    PRUMO_UNROLL
    for (int k = 0; k < Tile.columns; ++k) {
      PRUMO_UNROLL
      for (int q = 0; q < filter_columns; ++q) {
        PRUMO_UNROLL
        for (int m = 0; m < Tile.channels; ++m) {
          C& sum = sums_[m][0][k - q + filter_columns - 1];
          sum = prumo::fma(w[q * Tile.channels + m], x[k], sum);
        }
      }
    }
  }

  /// Adds the last sums of the tile on the left, if `adds`, to those at the same places.
  /// \param of_left tells the value that the thread before this one has
  template <class OfLeft>
  KOKKOS_FORCEINLINE_FUNCTION void add_shared(bool adds, const OfLeft& of_left) {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int s = Tile.columns; s < Tile.sum_columns(); ++s) {
        const C shared = of_left(sums_[m][0][s]);
        C& sum = sums_[m][0][s - Tile.columns];
        if (adds) sum = sum + shared;
      }
    }
  }

  /// The weights of whole filters, in registers.
  struct held_weights {
    static constexpr auto row_elements = static_cast<int>(Tile.weight_row_elements(Tile.filter_columns));
    C values[Tile.filter_rows > 0 ? Tile.filter_rows : 1][row_elements > 0 ? row_elements : 1];

    KOKKOS_FORCEINLINE_FUNCTION void load(const C* weights) {
      PRUMO_UNROLL
      for (int p = 0; p < Tile.filter_rows; ++p) {
        // Loaded one by one, weights that are kept lie in any registers. Four that are loaded at once must be
        // neighbours, and more operands of multiply-adds then come from one bank.
        load_neighbours<row_elements, Tile.keeps_weights ? 1 : pack_elements>(weights + p * row_elements, values[p]);
      }
    }
  };

  /// Adds the products with a whole filter of Tile.filter_rows rows. Each row of x is loaded once for all rows of the
  /// tile that it meets.
  /// \param row where the tile's first row of x begins
  /// \param pitch from a row of x to the next
  template <bool First = false>
  KOKKOS_FORCEINLINE_FUNCTION void add_filter(const C* row, int pitch, const held_weights& w) {
    constexpr int needed = Tile.columns + Tile.filter_columns - 1;
    PRUMO_UNROLL
    for (int i = 0; i < Tile.rows + Tile.filter_rows - 1; ++i) {
      C x[needed];
      load_neighbours<needed, input_pack>(row + i * pitch, x);
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows; ++r) {
        if (First && i == r) {
          add_row_products<First>(r, x, w.values[0]);
        } else if (i >= r && i < r + Tile.filter_rows) {
          add_row_products(r, x, w.values[i - r]);
        }
      }
    }
  }

  /// Sets the sums to the products with a whole filter.
  KOKKOS_FORCEINLINE_FUNCTION void set_to_filter(const C* row, int pitch, const held_weights& w) {
    add_filter<true>(row, pitch, w);
  }

  /// The same with weights that are operands of the instructions: weights.at(channel, row, column). All products with
  /// an element of x follow each other.
  template <class Weights>
  KOKKOS_FORCEINLINE_FUNCTION void set_to_filter_of_operands(const C* row, int pitch, const Weights& weights) {
    constexpr int needed = Tile.columns + Tile.filter_columns - 1;
    PRUMO_UNROLL
    for (int i = 0; i < Tile.rows + Tile.filter_rows - 1; ++i) {
      C x[needed];
      load_neighbours<needed, input_pack>(row + i * pitch, x);
      PRUMO_UNROLL
      for (int q = 0; q < Tile.filter_columns; ++q) {
        PRUMO_UNROLL
        for (int r = 0; r < Tile.rows; ++r) {
          if (i < r || i >= r + Tile.filter_rows) continue;
          PRUMO_UNROLL
          for (int k = 0; k < Tile.columns; ++k) {
            PRUMO_UNROLL
            for (int m = 0; m < Tile.channels; ++m) {
              const C weight = weights.at(m, i - r, q);
              C& sum = sums_[m][r][k];
              sum = i == r && q == 0 ? weight * x[k] : prumo::fma(weight, x[q + k], sum);
            }
          }
        }
      }
    }
  }

  /// The same with weights in the scratch memory. The rows of x that a row of the filter meets are in registers. With
  /// the next row of the filter, one of them makes place for the next row of x.
  KOKKOS_FORCEINLINE_FUNCTION void add_filter_by_rows(const C* row, int pitch, const C* weights) {
    constexpr int rows = Tile.rows, needed = Tile.columns + Tile.filter_columns - 1;
    constexpr auto weight_elements = static_cast<int>(Tile.weight_row_elements(Tile.filter_columns));
    C x[rows][needed];
    PRUMO_UNROLL
    for (int r = 0; r + 1 < rows; ++r) load_neighbours<needed, input_pack>(row + r * pitch, x[r]);
    PRUMO_UNROLL
    for (int p = 0; p < Tile.filter_rows; ++p) {
      load_neighbours<needed, input_pack>(row + (p + rows - 1) * pitch, x[(p + rows - 1) % rows]);
      C w[weight_elements];
      load_neighbours<weight_elements, pack_elements>(weights + p * weight_elements, w);
      // A weight stays an operand for all places of the tile.
      PRUMO_UNROLL
      for (int q = 0; q < Tile.filter_columns; ++q) {
        PRUMO_UNROLL
        for (int m = 0; m < Tile.channels; ++m) {
          PRUMO_UNROLL
          for (int r = 0; r < rows; ++r) {
            PRUMO_UNROLL
            for (int k = 0; k < Tile.columns; ++k) {
              C& sum = sums_[m][r][k];
              sum = prumo::fma(w[q * Tile.channels + m], x[(p + r) % rows][q + k], sum);
            }
          }
        }
      }
    }
  }

  /// Adds the products with one column of a row of the filters, for any distance of columns.
  KOKKOS_FORCEINLINE_FUNCTION void add_tap(const C* element, int distance, int column_distance, const C* weights) {
    constexpr int weight_pack = Tile.channels % pack_elements == 0 ? pack_elements : Tile.channels % 2 == 0 ? 2 : 1;
    C w[Tile.channels];
    load_neighbours<Tile.channels, weight_pack>(weights, w);
    PRUMO_UNROLL
    for (int r = 0; r < Tile.rows; ++r) {
      PRUMO_UNROLL
      for (int k = 0; k < Tile.columns; ++k) {
        const C x = element[r * distance + k * column_distance];
        PRUMO_UNROLL
        for (int m = 0; m < Tile.channels; ++m) sums_[m][r][k] = prumo::fma(w[m], x, sums_[m][r][k]);
      }
    }
  }

 private:
  /// Adds to row r of the tile the products of a row of x with a row of the filters.
  /// \tparam First whether the sums begin with them
  template <bool First = false>
  KOKKOS_FORCEINLINE_FUNCTION void add_row_products(int r, const C* x, const C* w) {
    const auto add = [&](int m, int q, int k) {
      const C weight = w[q * Tile.channels + m];
      sums_[m][r][k] = First && q == 0 ? weight * x[k] : prumo::fma(weight, x[q + k], sums_[m][r][k]);
    };
    // An instruction of three operands waits where they are more than two banks of registers bring in a cycle, unless
    // the one before it has used one of them. Which registers and what order nvcc takes follows from the order here. In
    // turns, neighbouring products share an element or a weight. Tiles of several rows are best with columns inside.
    constexpr int channels = Tile.channels, columns = Tile.columns, filter_columns = Tile.filter_columns;
    constexpr bool is_in_turns = Tile.filter_rows == 0 && channels % 4 == 0 && Tile.sums() <= 48;
    constexpr bool is_tall = Tile.filter_rows == 0 && channels % 4 == 0 && Tile.rows >= 4;
    if constexpr (is_tall || (is_in_turns && Tile.rows > 1 && columns > 4)) {
      PRUMO_UNROLL
      for (int q = 0; q < filter_columns; ++q) {
        PRUMO_UNROLL
        for (int i = 0; i < columns; ++i) {
          // The last element of a column of the filter is the first one of the next.
          const int k = !is_tall || q == 0 || i == columns - 1 ? i : columns - 2 - i;
          PRUMO_UNROLL
          for (int m = 0; m < channels; ++m) add((q * columns + i) % 2 == 0 ? m : channels - 1 - m, q, k);
        }
      }
    } else if constexpr (is_in_turns) {
      PRUMO_UNROLL
      for (int k = 0; k < columns; ++k) {
        PRUMO_UNROLL
        for (int q = 0; q < filter_columns; ++q) {
          PRUMO_UNROLL
          for (int m = 0; m < channels; ++m) add((q + k) % 2 == 0 ? m : channels - 1 - m, q, k);
        }
      }
    } else {
      constexpr int outer = Tile.keeps_weights ? 1 : channels, inner = channels / outer;
      PRUMO_UNROLL
      for (int o = 0; o < outer; ++o) {
        PRUMO_UNROLL
        for (int q = 0; q < filter_columns; ++q) {
          PRUMO_UNROLL
          for (int k = 0; k < columns; ++k) {
            PRUMO_UNROLL
            for (int i = 0; i < inner; ++i) add(o + i, q, k);
          }
        }
      }
    }
  }

  // Neighbours share no more than one of them has.
  static_assert(!Tile.spreads || (Tile.rows == 1 && Tile.columns >= Tile.filter_columns - 1));
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
