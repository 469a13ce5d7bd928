// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The products of the convolution in matrix units.

#include "tensor_layout.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The sums of a thread. Of each tile, it has two neighbouring places of the row `lane / 4` of weights, and two of the
/// row 8 further down.
template <int WarpTiles>
struct tensor_sums {
  static constexpr int tiles = tensor_layout::tiles_of_turn;
  float values[WarpTiles][tiles][4];

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const Function& function) {
    PRUMO_UNROLL
    for (int of_weights = 0; of_weights < WarpTiles; ++of_weights) {
      PRUMO_UNROLL
      for (int tile = 0; tile < tiles; ++tile) {
        PRUMO_UNROLL
        for (int i = 0; i < 4; ++i) function(values[of_weights][tile][i]);
      }
    }
  }
};

/// What a thread needs for the products of a turn.
struct tensor_operands_place {
  scratch_place weights;    ///< of the first tile and this thread
  int tile_bytes;           ///< from a tile of weights to the next
  scratch_place places[4];  ///< whose addresses this thread tells: of each pair of tiles
  const int* distances;     ///< from there to the cells of each step; a few more are read than there are steps
};

/// Adds the products of tiles of weights with the cells of a turn of places.
/// \param bias that the sums of each tile begin with, if `is_first`
template <class T, int WarpTiles>
KOKKOS_FORCEINLINE_FUNCTION void add_products(const tensor_operands_place& from, int steps, bool is_first,
                                              const float (&bias)[WarpTiles][4], tensor_sums<WarpTiles>& sums) {
  constexpr int pairs = tensor_layout::tiles_of_turn / 2, step_bytes = tensor_layout::words_of_step * 4;
  struct operands {
    tensor_operand left[WarpTiles];
    std::uint32_t right[pairs][4];
  };
  scratch_place weights = from.weights;
  const auto load = [&](operands& to, int distance) {
    PRUMO_UNROLL
    for (int pair = 0; pair < pairs; ++pair) (from.places[pair] + distance).load_matrices(to.right[pair]);
    PRUMO_UNROLL
    for (int tile = 0; tile < WarpTiles; ++tile) (weights + tile * from.tile_bytes).load(to.left[tile].words);
    weights = weights + step_bytes;
  };
  const auto multiply = [&]<bool IsFirst>(const operands& of, std::bool_constant<IsFirst>) {
    PRUMO_UNROLL
    for (int pair = 0; pair < pairs; ++pair) {
      PRUMO_UNROLL
      for (int which = 0; which < 2; ++which) {
        PRUMO_UNROLL
        for (int tile = 0; tile < WarpTiles; ++tile) {
          float (&of_tile)[4] = sums.values[tile][2 * pair + which];
          const std::uint32_t upper = of.right[pair][2 * which], lower = of.right[pair][2 * which + 1];
          if constexpr (IsFirst) {
            add_product<T>(of.left[tile], upper, lower, bias[tile], of_tile);
          } else {
            add_product<T>(of.left[tile], upper, lower, of_tile, of_tile);
          }
        }
      }
    }
  };
  operands even;
  const int* distances = from.distances;
  load(even, distances[0]);
  int of_next = distances[2], of_second = distances[4];
  if (is_first) {
    multiply(even, std::true_type{});
  } else {
    multiply(even, std::false_type{});
  }
  if constexpr (WarpTiles == 2) {
    // There are no registers for the operands of two steps.
    PRUMO_KEEP_LOOP
    for (int step = 1; step < steps; ++step) {
      load(even, of_next);
      of_next = of_second;
      distances += 2;
      of_second = distances[4];
      multiply(even, std::false_type{});
    }
  } else {
    // A step's operands are loaded before the products of the step before it are made.
    if (steps == 1) return;
    operands odd;
    load(odd, of_next);
    int step = 2;
    PRUMO_KEEP_LOOP
    for (; step + 1 < steps; step += 2) {
      of_next = distances[6];
      load(even, of_second);
      multiply(odd, std::false_type{});
      of_second = distances[8];
      distances += 4;
      load(odd, of_next);
      multiply(even, std::false_type{});
    }
    if (step < steps) load(even, of_second);
    multiply(odd, std::false_type{});
    if (step < steps) multiply(even, std::false_type{});
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
