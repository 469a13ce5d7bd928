// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The threads that take a training step together, as its functions see them. A team has
/// - `rank()` and `size()`, `barrier()`;
/// - `lanes`, the number of neighbouring threads that read each other's registers; `lane()`, `stretch()` and
///   `stretches()`, the place of a thread in such a stretch, and the stretch's place in the team;
/// - `across(value, distance)`, the value of the lane whose number differs in the bit `distance`;
/// - `same_in_stretch(value)`, a value that all threads of a stretch have, so that the compiler knows it;
/// - `shape`, the step_table::shape for which its functions are compiled;
/// - `takes_vectors`, whether it has functions of its own for the layers in which a step spends its time.

#include "fused/plan/step_table.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

/// Before a function of a device that must not be compiled into its caller, so that it has registers of its own. What
/// the caller needs afterwards is saved in memory.
#if defined(__CUDACC__)
#define PRUMO_STEP_APART __noinline__
#else
#define PRUMO_STEP_APART
#endif

namespace prumo::nets {

/// A team without functions of its own. Functions for such teams refuse the others. Otherwise a team whose own function
/// is missing would take the slow one without a word.
template <class Team>
concept scalar_step_team = !Team::takes_vectors;

/// Whether a team has functions for many images at once.
template <class Team>
inline constexpr bool has_many_images = has_large_tiles(Team::shape);

/// A team that any function can make anew. Parts of a step are then functions with registers of their own: the values
/// that a launch keeps from step to step take so many of them that loads, which shall be under way together, would wait
/// for each other.
template <class Team>
concept remakable_step_team = requires { Team::memory(); };

/// Whether parts of a step are such functions.
template <class Team>
inline constexpr bool has_parts_apart = false;
template <remakable_step_team Team>
inline constexpr bool has_parts_apart<Team> = has_many_weights(Team::shape);

/// The threads of a device's kernel.
template <class Member, step_shape Shape>
class device_step_team {
 public:
  static constexpr int lanes = prumo::detail::exchange_threads;
  static constexpr bool takes_vectors = false;
  static constexpr step_shape shape = Shape;

  PRUMO_STEP_FUNCTION device_step_team(const Member& member, int size)
      : member_(member), rank_(member.team_rank()), size_(size) {}

  PRUMO_STEP_FUNCTION int rank() const { return rank_; }
  PRUMO_STEP_FUNCTION int size() const { return size_; }
  PRUMO_STEP_FUNCTION void barrier() const { member_.team_barrier(); }
  PRUMO_STEP_FUNCTION int lane() const { return rank_ & (lanes - 1); }
  PRUMO_STEP_FUNCTION int stretch() const { return rank_ / lanes; }
  PRUMO_STEP_FUNCTION int stretches() const { return size_ / lanes; }
  PRUMO_STEP_FUNCTION static bool same_in_stretch(bool value) { return value; }
  template <class C>
  PRUMO_STEP_FUNCTION C across(C value, int distance) const {
    return prumo::detail::value_across(value, distance);
  }

 private:
  const Member& member_;
  int rank_;
  int size_;
};

/// One thread.
struct single_step_team {
  static constexpr int lanes = 1;
  static constexpr bool takes_vectors = false;
  static constexpr step_shape shape = step_shape::few_images;

  PRUMO_STEP_FUNCTION static int rank() { return 0; }
  PRUMO_STEP_FUNCTION static int size() { return 1; }
  PRUMO_STEP_FUNCTION static void barrier() {}
  PRUMO_STEP_FUNCTION static int lane() { return 0; }
  PRUMO_STEP_FUNCTION static int stretch() { return 0; }
  PRUMO_STEP_FUNCTION static int stretches() { return 1; }
  PRUMO_STEP_FUNCTION static bool same_in_stretch(bool value) { return value; }
  template <class C>
  PRUMO_STEP_FUNCTION static C across(C value, int) {
    return value;
  }
};

/// The sum of the values of all lanes, the same in each. All lanes must call.
template <class Team, class C>
PRUMO_STEP_FUNCTION C sum_of_lanes(const Team& team, C value) {
  PRUMO_UNROLL
  for (int distance = 1; distance < Team::lanes; distance *= 2) value += team.across(value, distance);
  return value;
}

/// Neighbouring lanes that share a sum: as many as there are threads for.
struct sum_lanes {
  int shift = 0;

  template <class Team>
  PRUMO_STEP_FUNCTION static sum_lanes of(const Team& team, int sums) {
    int shift = 0;
    while (2 << shift <= Team::lanes && sums << (shift + 1) <= team.size()) ++shift;
    return {shift};
  }
  PRUMO_STEP_FUNCTION int count() const { return 1 << shift; }
  /// The sum of the values of these lanes. All lanes of a stretch must call.
  template <class Team, class C>
  PRUMO_STEP_FUNCTION C sum(const Team& team, C value) const {
    PRUMO_UNROLL
    for (int distance = 1; distance < Team::lanes; distance *= 2) {
      if (distance < count()) value += team.across(value, distance);
    }
    return value;
  }
};

/// Which sums a lane has after share_sums().
struct sums_of_lane {
  int first, count;
};

/// A round of share_sums(): gives away `Half` sums for as many of the lane at a distance, or adds up a single one.
/// \return the first of the sums that this lane keeps
template <int Half, int Count, class Team, class C>
PRUMO_STEP_FUNCTION int share_half_of_sums(const Team& team, C (&sum)[Count], int distance) {
  static_assert(2 * Half <= Count);
  const bool upper = (team.lane() & distance) != 0;
  if constexpr (Half == 0) {
    sum[0] += team.across(sum[0], distance);
  } else {
    PRUMO_UNROLL
    for (int i = 0; i < Half; ++i) {
      const C other = team.across(upper ? sum[i] : sum[i + Half], distance);
      sum[i] = (upper ? sum[i + Half] : sum[i]) + other;
    }
  }
  return upper ? Half : 0;
}

/// The rounds of share_sums() from one on.
template <int Round, int Count, class Team, class C>
PRUMO_STEP_FUNCTION int share_sums_from_round(const Team& team, C (&sum)[Count], int group, int apart) {
  if constexpr (Round < Team::lanes) {
    if (Round >= group) return 0;
    const int first = share_half_of_sums<Count / (2 * Round)>(team, sum, Round * apart);
    return first + share_sums_from_round<2 * Round>(team, sum, group, apart);
  } else {
    return 0;
  }
}

/// Adds up each of several sums over a group of lanes, and gives each lane its share of the totals, in the first places
/// of `sum`. Lanes give away half of their sums for half of another lane's in each round, so the exchanges are fewer
/// than the sums. All lanes of a stretch must call.
/// \param apart how far apart the lanes of a group are, and `group` how many they are: powers of two, the same in all
///        lanes
template <int Count, class Team, class C>
PRUMO_STEP_FUNCTION sums_of_lane share_sums(const Team& team, C (&sum)[Count], int group, int apart = 1) {
  static_assert((Count & (Count - 1)) == 0);
  return {share_sums_from_round<1>(team, sum, group, apart), group < Count ? Count / group : 1};
}

/// The larger of two numbers, the first one if one of them is a NaN.
template <class Team, class C>
PRUMO_STEP_FUNCTION C largest_of_lanes(const Team& team, C value) {
  PRUMO_UNROLL
  for (int distance = 1; distance < Team::lanes; distance *= 2) {
    value = prumo::maximum(value, team.across(value, distance));
  }
  return value;
}

}  // namespace prumo::nets
