// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Whether strided arrays share memory, judged by their elements. Most pairs of arrays are decided in nanoseconds. The
/// general question is as hard as an integer program, so the search has a limit, and its answer may be `unknown`.

#include <cstdint>

namespace prumo::detail {

/// The highest rank of arrays that are compared here.
inline constexpr int max_compared_rank = 8;

/// How many nodes of its tree a search visits before it gives up. A node takes about 0.05 us.
inline constexpr int overlap_search_limit = 256;

/// Where the elements of an array lie: element (i, j, ...) occupies `element_bytes` bytes from
/// `address + (i * strides[0] + j * strides[1] + ...) * element_bytes` on. Strides may be negative or 0; those of
/// dimensions with fewer than two indices are not read.
struct strided_bytes {
  std::uintptr_t address;
  std::int64_t element_bytes;   ///< at least 1
  int rank;                     ///< at most max_compared_rank
  const std::int64_t* extents;  ///< `rank` numbers, at least 0
  const std::int64_t* strides;  ///< `rank` numbers, in elements
};

/// The answer to a question about shared memory.
enum class overlap : std::uint8_t {
  none,
  some,
  unknown,  ///< the search reached its limit, or an array spans more than 2^62 bytes, which no memory has
};

/// Whether two arrays have a byte in common. If `nodes` is given, the number of nodes searched is stored there.
overlap shared_bytes(const strided_bytes& first, const strided_bytes& second, int* nodes = nullptr);

/// Whether two different indices of one array name the same element. If `nodes` is given, the number of nodes searched
/// is stored there.
overlap repeated_elements(const strided_bytes& array, int* nodes = nullptr);

}  // namespace prumo::detail
