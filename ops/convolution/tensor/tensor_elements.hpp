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

/// A result before it is activated: the products of a filter with the elements that it meets, one after the other.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION float filter_sum(const convolution_problem<T>& problem, std::int64_t image, int channel,
                                             int row, int column) {
  float sum = problem.bias == nullptr ? 0.0f : static_cast<float>(problem.bias[channel * problem.bias_stride]);
  const window_range rows = problem.filter_rows_at(row), columns = problem.filter_columns_at(column);
  const std::int64_t first_row = row * problem.row_stride - problem.row_padding;
  const std::int64_t first_column = column * problem.column_stride - problem.column_padding;
  PRUMO_KEEP_LOOP
  for (int input = 0; input < problem.in_channels; ++input) {
    const T* const filter = problem.w.plane(channel, input);
    const T* const from = problem.x.plane(image, input);
    PRUMO_KEEP_LOOP
    for (std::int64_t p = rows.begin; p < rows.end; ++p) {
      PRUMO_KEEP_LOOP
      for (std::int64_t q = columns.begin; q < columns.end; ++q) {
        const T element = from[(first_row + p) * problem.x.row_stride + (first_column + q) * problem.x.column_stride];
        sum = prumo::fma(static_cast<float>(filter[p * problem.w.row_stride + q * problem.w.column_stride]),
                         static_cast<float>(element), sum);
      }
    }
  }
  return sum;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
