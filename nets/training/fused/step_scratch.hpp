// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A team's scratch memory, and the copies of parameters in it.

#include "step_data.hpp"
#include "step_table.hpp"
#include "update_tiles.hpp"

#include <cstddef>

namespace prumo::nets {

/// A team's scratch memory.
template <class C>
struct step_scratch {
  step_table* table;
  double* losses;     ///< of the images at once
  double* sums;       ///< of the group: loss, correct answers
  int* labels;        ///< of the images at once
  int* correct;       ///< of the images at once
  C* sums_of_slices;  ///< [step_slices][slice_sums]
  C* copies;
  C* gradients;
  C* memory;  ///< of the images at once
};

namespace detail {

KOKKOS_INLINE_FUNCTION constexpr std::size_t take_scratch(std::size_t& taken, std::size_t bytes) {
  const std::size_t begin = taken;
  taken += (bytes + 31) / 32 * 32;
  return begin;
}

}  // namespace detail

/// Goes over the arrays of scratch memory in order: visit(pointer of the array in `of`, elements).
template <class C, class Visit>
KOKKOS_INLINE_FUNCTION void visit_scratch(step_scratch<C>& of, const step_table& table, const Visit& visit) {
  visit(of.table, 1);
  visit(of.sums_of_slices, step_slices * slice_sums);
  visit(of.sums, 2);
  visit(of.losses, table.images_at_once);
  visit(of.labels, table.images_at_once);
  visit(of.correct, table.images_at_once);
  visit(of.copies, table.copies);
  visit(of.gradients, table.gradients);
  visit(of.memory, table.images_at_once * table.image_elements);
}

/// The bytes of scratch memory that a team has to have, aligned to 32 bytes.
template <class C>
KOKKOS_INLINE_FUNCTION std::size_t step_scratch_bytes(const step_table& table) {
  std::size_t taken = 0;
  step_scratch<C> arrays{};
  visit_scratch(arrays, table, [&]<class T>(T*&, int count) {
    detail::take_scratch(taken, static_cast<std::size_t>(count) * sizeof(T));
  });
  return taken;
}

/// The arrays in scratch memory.
template <class C>
KOKKOS_INLINE_FUNCTION step_scratch<C> step_scratch_in(unsigned char* memory, const step_table& table) {
  std::size_t taken = 0;
  step_scratch<C> arrays{};
  visit_scratch(arrays, table, [&]<class T>(T*& array, int count) {
    array = reinterpret_cast<T*>(memory + detail::take_scratch(taken, static_cast<std::size_t>(count) * sizeof(T)));
  });
  return arrays;
}

/// The bytes that changing the weights takes.
template <class C>
constexpr std::size_t update_scratch_bytes() {
  std::size_t taken = 0;
  detail::take_scratch(taken, sizeof(step_table));
  detail::take_scratch(taken, step_slices * slice_sums * sizeof(C));
  return taken;
}

/// The place of a weight of a convolution among the copies for x to y; `which` counts as in the array of parameters.
PRUMO_STEP_FUNCTION int forward_place(const step_layer& it, int which) {
  const int taps = it.filter_size();
  const int filter = which / taps, tap = which - filter * taps;
  const int map = filter / it.in_channels, channel = filter - map * it.in_channels;
  const int row = tap / it.filter_width, column = tap - row * it.filter_width;
  return it.forward_copy + (channel * taps + column * it.filter_height + row) * it.padded_out + map;
}

/// The same for dy to dx.
PRUMO_STEP_FUNCTION int backward_place(const step_layer& it, int which) {
  const int taps = it.filter_size();
  const int filter = which / taps, tap = which - filter * taps;
  const int map = filter / it.in_channels, channel = filter - map * it.in_channels;
  const int row = it.filter_height - 1 - tap / it.filter_width, column = it.filter_width - 1 - tap % it.filter_width;
  return it.backward_copy + (map * taps + column * it.filter_height + row) * it.padded_in + channel;
}

/// A pixel becomes a number.
template <class C>
PRUMO_STEP_FUNCTION void put_pixel(const step_layer& it, C* image, int pixel, std::uint8_t value) {
  const int rows = pixel / it.in_width, column = pixel - rows * it.in_width;
  const int channel = rows / it.in_height, row = rows - channel * it.in_height;
  image[it.x.begin + channel * it.x.plane + row * it.x.pitch + column] =
      static_cast<C>(static_cast<double>(value) * (1.0 / 255));
}

/// Keeps a weight in the copies of a team.
template <class C>
PRUMO_STEP_FUNCTION void keep_weight(const step_layer& it, int which, C value, C* copies) {
  if (it.forward_copy < 0) return;
  if (it.kind != step_kind::convolution) {
    copies[it.forward_copy + which] = value;
    return;
  }
  copies[forward_place(it, which)] = value;
  if (it.backward_copy >= 0) copies[backward_place(it, which)] = value;
}

}  // namespace prumo::nets
