// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Elements of images and weights, as the kernels for matrix units take them.

#include "convolution_problem.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The bits of an element, in the lower half of the word if it has 16.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t bits_of_element(T element) {
  if constexpr (std::is_same_v<T, float>) {
    return Kokkos::bit_cast<std::uint32_t>(element);
  } else {
    return element.bits;
  }
}

/// Whether any of some elements is infinite or no number. The exponent of such an element has ones alone, and adding a
/// one carries into the sign's place.
template <class T>
class unusual_elements {
  static constexpr bool is_f32 = std::is_same_v<T, float>;
  static constexpr std::uint32_t exponents = is_f32 ? 0x7f800000u : std::is_same_v<T, f16> ? 0x7c007c00u : 0x7f807f80u;
  static constexpr std::uint32_t ones = is_f32 ? 0x00800000u : std::is_same_v<T, f16> ? 0x04000400u : 0x00800080u;

 public:
  /// \param word with one element of f32, or two of 16 bits
  KOKKOS_FORCEINLINE_FUNCTION void look_at(std::uint32_t word) { carries_ |= (word & exponents) + ones; }
  KOKKOS_FORCEINLINE_FUNCTION bool are_there() const { return (carries_ & (is_f32 ? 0x80000000u : 0x80008000u)) != 0; }

 private:
  std::uint32_t carries_ = 0;
};

/// sum + the products of a filter with the elements that it meets in a team's scratch memory, one after the other.
/// \param from where the filter begins
/// \param plane_elements from a channel to the next
/// \param pitch from a row to the next
template <class T>
KOKKOS_FORCEINLINE_FUNCTION float add_filter_products(const convolution_problem<T>& problem, const T* from,
                                                      int plane_elements, int pitch, int channel, float sum) {
  PRUMO_KEEP_LOOP
  for (int input = 0; input < problem.in_channels; ++input) {
    const T* const filter = problem.w.plane(channel, input);
    PRUMO_KEEP_LOOP
    for (int p = 0; p < problem.filter_rows; ++p) {
      PRUMO_KEEP_LOOP
      for (int q = 0; q < problem.filter_columns; ++q) {
        sum = prumo::fma(static_cast<float>(filter[p * problem.w.row_stride + q * problem.w.column_stride]),
                         static_cast<float>(from[input * plane_elements + p * pitch + q]), sum);
      }
    }
  }
  return sum;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
