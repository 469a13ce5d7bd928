// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A team's scratch memory, and the copies of parameters in it.

#include "step_data.hpp"
#include "step_table.hpp"
#include "update_tiles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace prumo::nets {

/// The elements that partial sums have room for: those of filters, or those of the weights that change.
template <class C>
inline constexpr int partial_elements = std::max(partial_sums * partial_threads<C>, update_sums);

/// A team's scratch memory.
template <class C>
struct step_scratch {
  step_table* table;
  double* losses;    ///< of the images at once
  double* sums;      ///< of the group: loss, correct answers
  int* labels;       ///< of the images at once
  int* correct;      ///< of the images at once
  int* next_images;  ///< the numbers in the set of the images that come next
  int* next_labels;
  std::uint8_t* next_bytes;  ///< their pixels
  C* partials;               ///< of filters' gradients, [partial_sums][partial_threads], while images are in memory
  C* sums_of_slices;         ///< [slices][sums of a tile], in the same place, while weights change
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
  visit(of.partials, partial_elements<C>);
  visit(of.sums, 2);
  visit(of.losses, table.images_at_once);
  visit(of.labels, table.images_at_once);
  visit(of.correct, table.images_at_once);
  visit(of.next_images, table.images_at_once);
  visit(of.next_labels, table.images_at_once);
  visit(of.next_bytes, table.bytes_ahead);
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
  arrays.sums_of_slices = arrays.partials;
  return arrays;
}

/// The bytes that changing the weights takes.
template <class C>
constexpr std::size_t update_scratch_bytes() {
  std::size_t taken = 0;
  detail::take_scratch(taken, sizeof(step_table));
  detail::take_scratch(taken, partial_elements<C> * sizeof(C));
  return taken;
}

/// A pixel becomes a number.
template <class C>
PRUMO_STEP_FUNCTION void put_pixel(const step_layer& it, C* image, const item_place& at, std::uint8_t value) {
  image[it.x.begin + at.channel * it.x.plane + at.row * it.x.pitch + at.column] =
      static_cast<C>(static_cast<double>(value) * (1.0 / 255));
}

}  // namespace prumo::nets
