// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The products of the convolution in matrix units.

#include "tensor_inputs.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The sums of a thread: of each unit of rows, those of two tiles. Of a tile, two neighbours of a row of weights, and
/// two of the row 8 further down. The neighbours of both tiles are four neighbouring results.
struct tensor_sums {
  static constexpr int units = tensor_layout::block_units;
  float values[units][2][4];

  KOKKOS_FORCEINLINE_FUNCTION float& at(int unit, int half, int column) {
    return values[unit][column / 2][half * 2 + column % 2];
  }
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const Function& function) {
    PRUMO_UNROLL
    for (int unit = 0; unit < units; ++unit) {
      PRUMO_UNROLL
      for (int tile = 0; tile < 2; ++tile) {
        PRUMO_UNROLL
        for (int i = 0; i < 4; ++i) function(values[unit][tile][i]);
      }
    }
  }
};

/// T is f16, bf16 or float.
template <class T>
class tensor_products : protected tensor_inputs<T> {
  using inputs = tensor_inputs<T>;
  static constexpr int units = tensor_layout::block_units;

 protected:
  using inputs::layout_;
  using inputs::problem_;
  using inputs::unit_distance;
  using typename inputs::form;
  using typename inputs::scratch;
  using typename inputs::word;

  using inputs::inputs;

  /// Where a block begins in an item.
  struct block_place {
    int image;
    int row;
    int column;
  };

  /// What a thread has of the right operands of both tiles of a unit.
  struct unit_words {
    word upper[2];
    word lower[2];

    KOKKOS_FORCEINLINE_FUNCTION void load(const scratch_place (&places)[2], int bytes) {
      PRUMO_UNROLL
      for (int tile = 0; tile < 2; ++tile) (places[tile] + bytes).load(upper[tile], lower[tile]);
    }
  };

  /// Sets the sums to the bias and the products of four blocks with a tile of weights.
  /// \param at the block of which a thread brings two columns
  KOKKOS_FORCEINLINE_FUNCTION void add_products(const scratch& memory, const block_place& at, int of_part, int lane,
                                                const float (&bias)[4], tensor_sums& sums) const {
    // A thread brings column `lane / 4` of each tile. Two columns of both tiles are those of a block.
    scratch_place first[2] = {scratch_place(memory.copies), scratch_place(memory.copies)};
    const int element =
        at.image * layout_.image_elements + at.row * static_cast<int>(problem_.row_stride) * layout_.pitch;
    PRUMO_UNROLL
    for (int tile = 0; tile < 2; ++tile) {
      const int column = at.column + lane / 4 % 2 + tile * 2;
      const int begin = element + column * static_cast<int>(problem_.column_stride), copy = begin % form::copies;
      first[tile] = first[tile] + (copy * layout_.copy_words * 4 + (begin - copy) * static_cast<int>(sizeof(T)));
    }
    const int unit_bytes = unit_distance() * layout_.pitch * static_cast<int>(sizeof(T));
    const word* weights = memory.weights + of_part * layout_.steps() * 128 + lane * 4;
    tensor_operand left = *reinterpret_cast<const tensor_operand*>(weights);
    const int* lines = memory.lines + lane % 4;
    unit_words right[units];
    scratch_place places[2] = {first[0], first[1]};
    const auto begin_run = [&](int slot_of_first) {
      const int line = *lines;
      lines += tensor_layout::lines_of_step;
      places[0] = first[0] + line;
      places[1] = first[1] + line;
      PRUMO_UNROLL
      for (int unit = 0; unit < units; ++unit) right[(unit + slot_of_first) % units].load(places, unit * unit_bytes);
      places[0] = places[0] + units * unit_bytes;
      places[1] = places[1] + units * unit_bytes;
    };
    // A step with the first unit's elements at a place among the four. The last unit meets new ones in the next step.
    const auto multiply = [&]<bool IsFirst>(int slot_of_first, std::bool_constant<IsFirst>) {
      const tensor_operand now = left;
      weights += 128;
      left = *reinterpret_cast<const tensor_operand*>(weights);
      PRUMO_UNROLL
      for (int unit = 0; unit < units; ++unit) {
        unit_words& of_unit = right[(slot_of_first + unit) % units];
        PRUMO_UNROLL
        for (int tile = 0; tile < 2; ++tile) {
          float (&of_tile)[4] = sums.values[unit][tile];
          if constexpr (IsFirst) {
            add_product<T>(now, of_unit.upper[tile], of_unit.lower[tile], bias, of_tile);
          } else {
            add_product<T>(now, of_unit.upper[tile], of_unit.lower[tile], of_tile, of_tile);
          }
        }
        if (unit > 0) continue;
        of_unit.load(places, 0);
        places[0] = places[0] + unit_bytes;
        places[1] = places[1] + unit_bytes;
      }
    };
    begin_run(0);
    multiply(0, std::true_type{});
    int run = 0, step = 1;
    PRUMO_KEEP_LOOP
    while (true) {
      PRUMO_KEEP_LOOP
      while (true) {
        if (step++ == layout_.run_steps) break;
        multiply(1, std::false_type{});
        if (step++ == layout_.run_steps) break;
        multiply(2, std::false_type{});
        if (step++ == layout_.run_steps) break;
        multiply(3, std::false_type{});
        if (step++ == layout_.run_steps) break;
        multiply(0, std::false_type{});
      }
      if (++run == layout_.runs) break;
      begin_run(1);
      step = 0;
    }
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
