// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Prefetches for loops that read memory in its order. A processor sees such an order by itself, but looks no farther
/// ahead than its next page, and not beyond the instructions that it holds.

#include <cstddef>

namespace prumo::detail {

enum class prefetch_for { reading, writing };

/// Prefetches `bytes` that lie `Distance` bytes behind an address.
template <prefetch_for Use = prefetch_for::reading, std::size_t Distance = 2048>
[[gnu::always_inline]] inline void prefetch_from_far([[maybe_unused]] const void* address,
                                                     [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__)
  constexpr std::size_t line = 64;
  const auto* const first = static_cast<const char*>(address) + Distance;
  for (std::size_t at = 0; at < bytes; at += line) __builtin_prefetch(first + at, Use == prefetch_for::writing);
#endif
}

/// Prefetches `bytes` from an address on.
template <prefetch_for Use = prefetch_for::reading>
inline void prefetch_bytes([[maybe_unused]] const void* address, [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__)
  constexpr std::size_t line = 64;
  const auto* const first = static_cast<const char*>(address);
  for (std::size_t at = 0; at < bytes; at += line) __builtin_prefetch(first + at, Use == prefetch_for::writing);
  // The array need not begin where a line does.
  if (bytes > 0) __builtin_prefetch(first + bytes - 1, Use == prefetch_for::writing);
#endif
}

}  // namespace prumo::detail
