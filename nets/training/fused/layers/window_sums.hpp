// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Runs of numbers in registers: how threads load them, and how lanes add theirs and share out the totals.

#include "convolution_tiles.hpp"
#include "step_team.hpp"

namespace prumo::nets {

/// Loads neighbouring numbers in packs.
template <int Count, class C>
PRUMO_STEP_FUNCTION void load_run(const C* from, C (&to)[Count]) {
  constexpr int elements = prumo::detail::device_pack_elements<C>;
  static_assert(Count % elements == 0);
  PRUMO_UNROLL
  for (int i = 0; i < Count; i += elements) {
    const auto pack = *reinterpret_cast<const prumo::detail::device_pack<C>*>(from + i);
    PRUMO_UNROLL
    for (int e = 0; e < elements; ++e) to[i + e] = pack.values[e];
  }
}

/// Adds each of several sums over a group of lanes, and stores each total once. Lanes give away half of their sums for
/// half of another lane's in each round, so the exchanges are fewer than the sums. All lanes of a stretch must call.
/// \tparam Distance,End the lanes of a group differ in the bits from Distance to before End
/// \param store(place, total), where the first sum has the place `first`
template <int Count, int Distance, int End, int Size, class Team, class C, class Store>
PRUMO_STEP_FUNCTION void share_some(const Team& team, C (&sum)[Size], int first, int end, const Store& store) {
  if constexpr (Distance >= End) {
    PRUMO_UNROLL
    for (int i = 0; i < Count; ++i) {
      if (first + i < end) store(first + i, sum[i]);
    }
  } else {
    constexpr int half = (Count + 1) / 2;
    const bool upper = (team.lane() & Distance) != 0;
    PRUMO_UNROLL
    for (int i = 0; i < half; ++i) {
      if (i + half < Count) {
        const C other = team.across(upper ? sum[i] : sum[i + half], Distance);
        sum[i] = (upper ? sum[i + half] : sum[i]) + other;
      } else {
        sum[i] += team.across(sum[i], Distance);
      }
    }
    const int middle = first + half;
    share_some<half, 2 * Distance, End>(team, sum, upper ? middle : first, upper || middle > end ? end : middle, store);
  }
}
template <int Count, int Distance, int End, class Team, class C, class Store>
PRUMO_STEP_FUNCTION void share_out(const Team& team, C (&sum)[Count], int first, const Store& store) {
  share_some<Count, Distance, End>(team, sum, first, first + Count, store);
}

}  // namespace prumo::nets
