// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Weights as operands in a device's constant memory.
///
/// A multiply-add of NVIDIA's GPUs takes one of its operands from constant memory, at no cost if the cache for
/// constants has it, which holds some kilobytes. Such weights take no registers and no loads, and a multiply-add reads
/// two registers instead of three. The address is a part of the instruction. So each process has one place for them,
/// and one context of it uses them (constant_claim.hpp).

#include "convolution_problem.hpp"
#include "convolution_tile.hpp"
#include <prumo/detail/instruction_set.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

#if defined(KOKKOS_ENABLE_CUDA)
inline constexpr bool has_constant_operands = true;
inline constexpr int most_constant_weights = 256;
/// Each source that includes this has an array of its own.
[[maybe_unused]] static __constant__ float constant_weight_values[most_constant_weights];
#else
inline constexpr bool has_constant_operands = false;
#endif

/// The weights of a tile for images of one channel, which lie without gaps: [output channel][row][column].
template <class C, convolution_tile Tile>
class constant_weights {
 public:
  /// \param filters what the constant memory holds, for kernels that run on the host
  KOKKOS_FORCEINLINE_FUNCTION constant_weights(const C* filters, std::int64_t channels)
      : on_host_(filters), channels_(channels) {}

  /// Of a channel that the problem does not have, any number.
  KOKKOS_FORCEINLINE_FUNCTION C at(int channel, int row, int column) const {
    const int index = (channel * Tile.filter_rows + row) * Tile.filter_columns + column;
#if defined(__CUDA_ARCH__)
    static_assert(std::is_same_v<C, float> &&
                  Tile.channels * Tile.filter_rows * Tile.filter_columns <= most_constant_weights);
    return constant_weight_values[index];
#else
    return channel < channels_ ? on_host_[index] : C(0);
#endif
  }

 private:
  const C* on_host_;
  std::int64_t channels_;
};

/// Whether the weights of the problem can be brought to constant memory by one copy.
template <class C>
bool has_weights_without_gaps(const convolution_problem<C>& problem) {
  const auto& w = problem.w;
  return w.column_stride == 1 && w.row_stride == problem.filter_columns &&
         (problem.out_channels == 1 || w.image_stride == problem.filter_rows * problem.filter_columns);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
