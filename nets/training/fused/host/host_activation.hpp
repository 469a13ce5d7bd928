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

/// Replaces each number x of neighbouring vectors by function(x).
template <int Registers, class C, class Function>
[[gnu::always_inline]] inline void change_group(C* numbers, const Function& function) {
  using detail::lane_order;
  detail::store_group<lane_order::memory>(function(detail::load_group<lane_order::memory, Registers>(numbers)),
                                          numbers);
}

/// Replaces numbers by function(number). Formulas are long chains of instructions, and those of several vectors
/// overlap.
template <class C, class Function>
void change_each(C* numbers, int count, const Function& function) {
  constexpr int registers = detail::group_registers, lanes = simd<C>::lanes;
  for (; count >= registers * lanes; numbers += registers * lanes, count -= registers * lanes) {
    change_group<registers>(numbers, function);
  }
  for (; count >= lanes; numbers += lanes, count -= lanes) change_group<1>(numbers, function);
  if (count <= 0) return;
  C rest[lanes] = {};
  std::copy_n(numbers, count, rest);
  change_group<1>(rest, function);
  std::copy_n(rest, count, numbers);
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

/// The activation of all elements of y of an image. Where nothing lies between rows or planes, they are one row.
template <class C>
void activate_image(const step_layer& it, C* image) {
  const int area = it.out_height * it.out_width;
  const bool has_gaps = it.y.pitch != it.out_width, is_whole = !has_gaps && it.y.plane == area;
  const int planes = is_whole ? 1 : it.out_channels, rows = has_gaps ? it.out_height : 1;
  const int count = is_whole ? it.out_channels * area : (has_gaps ? it.out_width : area);
  for (int plane = 0; plane < planes; ++plane) {
    C* row = image + it.y.begin + plane * it.y.plane;
    for (int i = 0; i < rows; ++i, row += it.y.pitch) activate_row(it.activate, row, count);
  }
}
template <class C>
void activate_planes(const step_layer& it, const step_images<C>& images) {
  if (it.activate == activation::none) return;
  for (int image = 0; image < images.count; ++image) activate_image(it, images.image(image));
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
