// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <Kokkos_Macros.hpp>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Loads neighbouring elements. The first is aligned for a load of Pack elements.
template <int Count, int Pack, class C>
KOKKOS_FORCEINLINE_FUNCTION void load_neighbours(const C* from, C* to) {
  using pack = prumo::detail::device_pack<C, Pack>;
  constexpr int whole = Count / Pack * Pack;
  PRUMO_UNROLL
  for (int at = 0; at < whole; at += Pack) {
    const pack loaded = *reinterpret_cast<const pack*>(from + at);
    PRUMO_UNROLL
    for (int i = 0; i < Pack; ++i) to[at + i] = loaded.values[i];
  }
  if constexpr (whole < Count) load_neighbours<Count - whole, Pack / 2>(from + whole, to + whole);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
