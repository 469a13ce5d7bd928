// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The activations of a layer's result, on a host.

#include "host_rows.hpp"
#include "host_sigmoid.hpp"
#include <prumo/detail/group_conversions.hpp>
#include <prumo/detail/host/simd_group.hpp>

#include <algorithm>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// Replaces the first `count` numbers, or as many as the registers have lanes, by function(number).
template <int Registers, class C, class Function>
[[gnu::always_inline]] inline void change_group(C* numbers, int count, const Function& function) {
  using detail::lane_order;
  constexpr int lanes = Registers * simd<C>::lanes;
  C rest[lanes];
  C* const all = count >= lanes ? numbers : rest;
  if (all == rest) std::fill(std::copy_n(numbers, count, rest), rest + lanes, C(0));
  detail::store_group<lane_order::memory>(function(detail::load_group<lane_order::memory, Registers>(all)), all);
  if (all == rest) std::copy_n(rest, count, numbers);
}

/// Replaces numbers by function(number). Formulas are long chains of instructions, and those of several vectors
/// overlap.
template <class C, class Function>
void change_each(C* numbers, int count, const Function& function) {
  constexpr int registers = detail::group_registers;
  constexpr int half = registers / 2 * simd<C>::lanes;
  for (; count > half; numbers += 2 * half, count -= 2 * half) change_group<registers>(numbers, count, function);
  if (count > 0) change_group<registers / 2>(numbers, count, function);
}

/// The activations of neighbours, in their place.
template <class C>
void activate_row(activation function, C* row, int count) {
  if (function == activation::relu) {
    change_each(row, count, [](auto x) PRUMO_ALWAYS_INLINE { return prumo::maximum(x, decltype(x)(C(0))); });
  } else if (function == activation::sigmoid) {
    change_each(row, count, [](const auto& x) PRUMO_ALWAYS_INLINE { return host_sigmoid(x); });
  } else if (function == activation::tanh) {
    change_each(row, count, [](const auto& x) PRUMO_ALWAYS_INLINE { return prumo::tanh(x); });
  }
}

/// The activation of all elements of y. Where nothing lies between rows or planes, they are one row.
template <class C>
void activate_planes(const step_layer& it, const step_images<C>& images) {
  if (it.activate == activation::none) return;
  const int area = it.out_height * it.out_width;
  const bool has_gaps = it.y.pitch != it.out_width, is_whole = !has_gaps && it.y.plane == area;
  const int planes = is_whole ? 1 : it.out_channels, rows = has_gaps ? it.out_height : 1;
  const int count = is_whole ? it.out_channels * area : (has_gaps ? it.out_width : area);
  for (int image = 0; image < images.count; ++image) {
    for (int plane = 0; plane < planes; ++plane) {
      C* row = images.image(image) + it.y.begin + plane * it.y.plane;
      for (int i = 0; i < rows; ++i, row += it.y.pitch) activate_row(it.activate, row, count);
    }
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
