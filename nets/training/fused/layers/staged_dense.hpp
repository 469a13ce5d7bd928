// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Dense layers of a step for all images of a stage. What the layers read and write lies in memory, among the factors
/// of which gradients are made, so each number is written once.

#include "convolution_tiles.hpp"
#include "row_products.hpp"

namespace prumo::nets {

/// An array of a stage's images in memory.
template <class C>
struct stage_array {
  C* begin;
  int apart;  ///< elements from an image to the next
};

/// The rows of an array of images, of which each has `depth` numbers. All arrays begin at multiples of 16 bytes.
template <class C>
PRUMO_STEP_FUNCTION number_rows<C> rows_of(const stage_array<C>& array, int depth) {
  return {array.begin, array.apart, 1, depth % prumo::detail::device_pack_elements<C> == 0};
}

/// y of a dense layer. Ends with a barrier.
template <class Team, class C>
PRUMO_STEP_FUNCTION void multiply_stage(const Team& team, const step_layer& it, int images, const stage_array<C>& x,
                                        const stage_array<C>& y, const C* weights, const C* bias, C* scratch,
                                        int elements) {
  const int inputs = it.in_size(), outputs = it.out_channels;
  const activation function = it.activate;
  const auto begin = [&](int output) { return bias == nullptr ? C(0) : bias[output]; };
  const auto write = [&](const product_tile& tile, C(&sum)[product_sums], const sums_of_lane& mine) {
    if (function == activation::relu) activate_all(activation::relu, sum);
    PRUMO_UNROLL
    for (int i = 0; i < product_sums; ++i) {
      if (i >= mine.count) break;
      const int image = tile.left_of(mine.first + i), output = tile.right_of(mine.first + i);
      if (image < images && output < outputs) y.begin[image * y.apart + output] = sum[i];
    }
    if (function == activation::none || function == activation::relu) return;
    // The code of these activations is long, so there is one copy of it.
    PRUMO_KEEP_LOOP
    for (int i = 0; i < mine.count; ++i) {
      const int image = tile.left_of(mine.first + i), output = tile.right_of(mine.first + i);
      if (image >= images || output >= outputs) continue;
      C* const place = y.begin + image * y.apart + output;
      *place = activated(function, *place);
    }
  };
  multiply_rows(team, rows_of(x, inputs), images, {weights, inputs, 1, it.has_packs}, outputs, inputs, scratch,
                elements, begin, write);
}

/// dx of a dense layer, times the slope of the activation that made x. Ends with a barrier.
template <class Team, class C>
PRUMO_STEP_FUNCTION void multiply_stage_backward(const Team& team, const step_layer& it, int images,
                                                 const stage_array<C>& x, const stage_array<C>& dy,
                                                 const stage_array<C>& dx, const C* weights, C* scratch, int elements) {
  const int inputs = it.in_size(), outputs = it.out_channels;
  const activation below = it.below;
  const auto write = [&](const product_tile& tile, C(&sum)[product_sums], const sums_of_lane& mine) {
    const auto is_there = [&](int i) {
      return i < mine.count && tile.left_of(mine.first + i) < images && tile.right_of(mine.first + i) < inputs;
    };
    if (below != activation::none) {
      C y[product_sums];
      PRUMO_UNROLL
      for (int i = 0; i < product_sums; ++i) {
        y[i] = is_there(i) ? x.begin[tile.left_of(mine.first + i) * x.apart + tile.right_of(mine.first + i)] : C(0);
      }
      multiply_by_slopes(below, y, sum);
    }
    PRUMO_UNROLL
    for (int i = 0; i < product_sums; ++i) {
      if (is_there(i)) dx.begin[tile.left_of(mine.first + i) * dx.apart + tile.right_of(mine.first + i)] = sum[i];
    }
  };
  multiply_rows(
      team, rows_of(dy, outputs), images, {weights, 1, inputs}, inputs, outputs, scratch, elements,
      [](int) { return C(0); }, write);
}

}  // namespace prumo::nets
