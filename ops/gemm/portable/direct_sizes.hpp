// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What fits into registers and caches in the direct product of direct_gemm_host.hpp.

#include "gemm_problem.hpp"
#include <prumo/detail/host/simd.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether numbers are widened before they are multiplied: those of 16 bits.
template <class T>
inline constexpr bool widens_for_direct = sizeof(T) < sizeof(compute_t<T>);

/// Extents of tiles, and elements of arrays, for a compute type.
template <class C>
struct direct_sizes {
  static constexpr int lanes = simd<C>::lanes;
  /// Processors with registers of 64 bytes have second-level caches of 1 MiB or more. What is behind these is far away.
  static constexpr bool has_large_caches = simd_bytes >= 64;
  /// Rows of the highest tile of sums, which has two vectors a row.
  static constexpr int tile_rows = simd_has_many_registers ? 12 : 6;
  static constexpr std::int64_t panel = std::int64_t{2} * lanes;
  /// Elements of a block's sums while they are not in registers, and of the columns of B that are copied.
  static constexpr std::int64_t kept_elements = 32768 / static_cast<std::int64_t>(sizeof(C));
  static constexpr std::int64_t copied_elements =
      std::max<std::int64_t>(16384 / static_cast<std::int64_t>(sizeof(C)), panel * 256);

  /// Of A, 16-bit numbers are widened for a tile at a time, over this depth at most.
  static constexpr std::int64_t widened_depth = 256;
  static constexpr std::int64_t widened_elements =
      (std::int64_t{2} * tile_rows + lanes - 1) / lanes * lanes * (widened_depth + lanes);

  /// The most columns of a block in which tiles add a bias and bound results while sums are in registers.
  static constexpr std::int64_t epilogue_columns = 512;

  /// Elements of B that stay in a second-level cache, a block of it or all.
  static constexpr std::int64_t cached_elements = 131072 / static_cast<std::int64_t>(sizeof(C));
  static constexpr std::int64_t most_cached_elements = (has_large_caches ? 8 : 2) * cached_elements;

  /// Bytes of C that stay in it.
  static constexpr std::int64_t cached_bytes = std::int64_t{1} << (has_large_caches ? 21 : 18);

  /// Elements of B that are copied where tiles write whole rows of C.
  static constexpr std::int64_t whole_rows_elements = (has_large_caches ? 2 : 1) * copied_elements;

  /// Vectors of a row. Low tiles are wider and narrow ones higher: enough sums must be independent of each other.
  static constexpr int vectors_of(int rows) {
    constexpr int lowest = simd_has_many_registers ? 2 : 1, low = 3 * lowest;
    return rows <= lowest ? 8 : rows <= low ? 4 : rows <= tile_rows ? 2 : 1;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
