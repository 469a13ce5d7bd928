// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the reductions of a device have in common: how work is shared out among segments, teams and groups of threads.

#include "reduction_device_policy.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/published_values.hpp>

#include <climits>

#include <algorithm>

namespace prumo::detail {

/// All that there is to tune on a device. Found on an H200 (132 multiprocessors of 2048 threads, 4.8 TB/s) among 3 to 8
/// teams a multiprocessor, 2 to 8 loads and 256 to 8192 segments: registers that spill cost more than threads that are
/// missing, and a team more than fits at once costs a whole round. Results depend on these numbers, not on the device.
struct reduction_tuning {
  static constexpr int team_threads = 256;
  /// Teams a multiprocessor: what registers are limited for.
  static constexpr int resident_teams = 4;
  /// Packs of 16 bytes that a thread has under way at a time.
  static constexpr int loads_at_once = 8;
  /// The same where that would not leave registers enough: eight values a load, several loops.
  static constexpr int wide_loads_at_once = 4;
  /// Bytes of a segment of a long row: one round of loads of a team, or half of it where that leaves multiprocessors
  /// without a team.
  static constexpr std::int64_t round_bytes = std::int64_t{team_threads} * loads_at_once * 16;
  static constexpr std::int64_t few_segments = 128;
  /// Teams that are sure to run at the same time on the larger devices; no more segments than that.
  static constexpr std::int64_t teams_at_once = most_parts_of_an_array;
  /// Elements of a row of a column-major matrix that a thread has under way at a time.
  static constexpr int column_loads_at_once = 8;
  /// Teams for a column-major matrix.
  static constexpr std::int64_t column_major_teams = 2048;
  /// The fewest columns a thread takes.
  static constexpr std::int64_t shortest_column_chunk = 64;
};

/// The length of a segment in elements, where an array of `total` elements is to be shared out.
inline std::int64_t device_segment(std::int64_t total, std::size_t element_bytes) {
  using tuning = reduction_tuning;
  const auto size = static_cast<std::int64_t>(element_bytes);
  std::int64_t bytes = tuning::round_bytes;
  if (bytes / 2 / size * tuning::few_segments >= total) bytes /= 2;
  while (bytes / size * tuning::teams_at_once < total) bytes *= 2;
  return bytes / size;
}

/// The threads that share a stretch of this many elements.
template <class T>
int device_group(std::int64_t count) {
  constexpr std::int64_t at_once = std::int64_t{device_pack_elements<T>} * reduction_tuning::loads_at_once;
  return group_threads((count + at_once - 1) / at_once, reduction_tuning::team_threads);
}

/// The threads that share a row: half of them where no more teams are left than run at the same time.
template <class T>
int row_group(std::int64_t rows, std::int64_t columns) {
  const int threads = device_group<T>(columns);
  const std::int64_t teams = (rows * threads + reduction_tuning::team_threads - 1) / reduction_tuning::team_threads;
  const bool is_too_much = teams > reduction_tuning::teams_at_once && teams <= 2 * reduction_tuning::teams_at_once;
  return is_too_much && threads > 1 ? threads / 2 : threads;
}

/// Threads of a team that take a stretch together: a power of two, so that threads come to their first loads after few
/// instructions.
class any_group {
 public:
  static any_group of(int threads) {
    any_group result;
    while ((1 << result.shift_) < threads) ++result.shift_;
    return result;
  }
  KOKKOS_FORCEINLINE_FUNCTION int threads() const { return 1 << shift_; }
  KOKKOS_FORCEINLINE_FUNCTION int of_team() const { return reduction_tuning::team_threads >> shift_; }
  KOKKOS_FORCEINLINE_FUNCTION int number_of(int thread) const { return thread >> shift_; }
  KOKKOS_FORCEINLINE_FUNCTION int lane_of(int thread) const { return thread & (threads() - 1); }

 private:
  int shift_ = 0;
};

/// A group whose number of threads the compiler knows. This halves a thread's instructions before its first load.
template <int Threads>
class group_of {
 public:
  /// A type of its own: what std::integral_constant converts itself with is no function of a device.
  struct size {
    // NOLINTNEXTLINE(google-explicit-constructor)
    KOKKOS_FORCEINLINE_FUNCTION constexpr operator int() const { return Threads; }
  };
  KOKKOS_FORCEINLINE_FUNCTION static size threads() { return {}; }
  KOKKOS_FORCEINLINE_FUNCTION static int of_team() { return reduction_tuning::team_threads / Threads; }
  KOKKOS_FORCEINLINE_FUNCTION static int number_of(int thread) {
    return static_cast<int>(static_cast<unsigned>(thread) / Threads);
  }
  KOKKOS_FORCEINLINE_FUNCTION static int lane_of(int thread) {
    return static_cast<int>(static_cast<unsigned>(thread) % Threads);
  }
};
using whole_team = group_of<reduction_tuning::team_threads>;

/// What kernels of teams have in common.
template <class Policy>
struct reduction_team {
  using accumulator = typename Policy::accumulator;
  static constexpr int most_threads = reduction_tuning::team_threads;
  static constexpr int resident_teams = reduction_tuning::resident_teams;

  static int team_threads() { return most_threads; }
  static std::size_t scratch_bytes() { return join_scratch<accumulator>::bytes_for(most_threads); }
};

}  // namespace prumo::detail
