// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How kernels of a device move neighbouring elements in packs, wherever these begin.

#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::detail {

/// Neighbouring elements that may begin and end within a pack: `head` elements, then `whole` elements that are packs,
/// then others. The elements outside of packs, the ends, are fewer than two units, a pack or more. A thread takes one
/// of them.
template <class T, class Index>
struct pack_run {
  static constexpr int pack_elements = device_pack_elements<T>;

  int head = 0;
  int ends = 0;
  Index whole;

  /// \tparam Unit in elements, a multiple of a pack: the packs begin and end at multiples of it in memory
  template <int Unit = pack_elements>
  KOKKOS_FORCEINLINE_FUNCTION static pack_run of(const T* first, Index count) {
    const auto element = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(first) / sizeof(T));
    const int to_pack = static_cast<int>((0u - element) % static_cast<unsigned>(Unit));
    const int head = count < to_pack ? static_cast<int>(count) : to_pack;
    const Index whole = (count - head) / Unit * Unit;
    return {head, static_cast<int>(count - whole), whole};
  }
  /// A run that is taken as it is, without ends.
  KOKKOS_FORCEINLINE_FUNCTION static pack_run without_ends(Index count) { return {0, 0, count}; }

  KOKKOS_FORCEINLINE_FUNCTION bool has_end_for(int thread) const { return thread < ends; }
  KOKKOS_FORCEINLINE_FUNCTION Index end_of(int thread) const { return thread < head ? thread : whole + thread; }
};

/// Copies a run between the device's memory and a team's scratch memory, where it begins at the same place of a pack.
/// All loads come before the first store.
///
/// Packs: the most that a thread has, of a run that all `Threads` threads of the team copy.
template <int Packs, int Threads, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_run(const T* from, T* to, const pack_run<T, int>& parts, int thread) {
  using pack = device_pack<T>;
  const auto* const from_packs = reinterpret_cast<const pack*>(from + parts.head);
  auto* const to_packs = reinterpret_cast<pack*>(to + parts.head);
  const int pack_count = parts.whole / device_pack_elements<T>;
  pack held[Packs];
  PRUMO_UNROLL
  for (int i = 0; i < Packs; ++i) {
    const int place = i * Threads + thread;
    if (place < pack_count) held[i] = from_packs[place];
  }
  if (parts.has_end_for(thread)) to[parts.end_of(thread)] = from[parts.end_of(thread)];
  PRUMO_UNROLL
  for (int i = 0; i < Packs; ++i) {
    const int place = i * Threads + thread;
    if (place < pack_count) to_packs[place] = held[i];
  }
}

/// Where in a pack an element lies.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION int place_in_pack(const T* at) {
  constexpr auto elements = static_cast<std::uintptr_t>(device_pack_elements<T>);
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) / sizeof(T) % elements);
}

}  // namespace prumo::detail
