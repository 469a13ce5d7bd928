// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reads an array as fast as a space can: the ceiling of operations that read much and write little. The sums of the
/// parts of the array are the probe's output. They are few, and because of them the compiler cannot leave out the
/// reading, and the result can be verified.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/spaces.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace prumo::probe {

/// The elements of a part on a host: enough to read it in several places at once.
inline constexpr std::int64_t read_stretch = 8192;

/// The number of parts of n elements on a host.
inline std::int64_t read_stretches(std::int64_t n) { return (n + read_stretch - 1) / read_stretch; }

inline namespace PRUMO_INSTRUCTION_SET {

/// partial_sums[p] = the sum of stretch p.
template <class T>
struct read_stretch_kernel {
  const T* source;
  std::int64_t n;
  T* partial_sums;

  std::int64_t blocks() const { return read_stretches(n); }

  void operator()(std::int64_t part) const {
    const T* const first = source + part * read_stretch;
    partial_sums[part] =
        detail::reduce_lanes(std::min(read_stretch, n - part * read_stretch), T(0), detail::add_values{},
                             detail::loads_from_far<detail::neighbours<T>>{{first}});
  }
};

}  // namespace PRUMO_INSTRUCTION_SET

/// The ways in which a device's threads can share an array. Which of them is the fastest depends on the size and on the
/// cache state, so the ceiling is the fastest of all. They are the ways of prumo's reductions and one more.
enum class read_way : std::uint8_t {
  tiles,     ///< a team takes one round of loads and ends, as in sums of short rows
  segments,  ///< all teams run at once and each takes a long stretch, as in sums of arrays
  rounds     ///< all teams run at once, and each round of loads goes across the whole array
};
inline constexpr read_way read_ways[] = {read_way::tiles, read_way::segments, read_way::rounds};
inline constexpr std::string_view read_way_names[] = {"tiles", "segments", "rounds"};

/// The threads whose sums are joined to one entry of the output, which is at most a hundredth of what they read.
inline constexpr int read_part_threads = detail::exchange_threads;

/// How an array is shared out to teams of threads. All numbers are packs of 16 bytes unless they say otherwise. It
/// depends on the length alone.
struct read_shares {
  static constexpr int team_threads = 256;
  /// The loads that a thread has under way at a time. With fewer, an H200 reads less from its memory.
  static constexpr int loads_at_once = 8;
  static constexpr std::int64_t round = std::int64_t{team_threads} * loads_at_once;

  std::int64_t packs = 0;        ///< of the array
  std::int64_t teams = 0;        ///< number of teams
  std::int64_t team_stride = 0;  ///< from the first pack of a team to that of the next team
  std::int64_t step = 0;         ///< from one load of a thread to its next one
  std::int64_t length = 0;       ///< from the first pack of a team to where it ends

  /// 512 teams of 256 threads run at the same time on large devices with the registers that the loads take, and so do
  /// those of prumo's sums. Short arrays in rounds have twice the number of threads, with one or two loads each.
  static read_shares of(read_way way, std::int64_t packs) {
    constexpr std::int64_t teams_at_once = 512, few_teams = 128, long_array = std::int64_t{1} << 20;
    const auto teams_of = [&](std::int64_t length) { return std::max<std::int64_t>(1, (packs + length - 1) / length); };
    if (way == read_way::rounds) {
      const std::int64_t most = packs < long_array ? 2 * teams_at_once : teams_at_once;
      const std::int64_t teams = std::min(teams_of(team_threads), most);
      return {packs, teams, team_threads, teams * team_threads, packs};
    }
    std::int64_t length = round;
    if (way == read_way::segments) {
      if (length / 2 * few_teams >= packs) length /= 2;
      while (length * teams_at_once < packs) length *= 2;
    }
    return {packs, teams_of(length), length, team_threads, length};
  }

  KOKKOS_FUNCTION std::int64_t threads() const { return teams * team_threads; }
  /// The number of sums. It depends on the way.
  KOKKOS_FUNCTION std::int64_t parts() const { return threads() / read_part_threads; }
};

/// The length of a device's output for n elements: the sums of the way and the type that have the most.
inline std::int64_t read_entries(std::int64_t n) {
  std::int64_t most = 0;
  for (const read_way way : read_ways) {
    for (const int pack_elements : {detail::device_pack_elements<float>, detail::device_pack_elements<double>}) {
      most = std::max(most, read_shares::of(way, n / pack_elements).parts());
    }
  }
  return n == 0 ? 0 : most;
}

/// partial_sums[p] = the sum of what threads 32 p ... 32 p + 31 read, and 0 in the entries beyond the parts: outputs
/// have the same length in all ways, and a way with fewer parts has entries left.
///
/// KnowsStep: the step between the loads of a thread is that of tiles and segments. Knowing it spares the threads
/// instructions.
template <class T, bool KnowsStep>
class read_device_kernel {
 public:
  /// Allows enough registers for all loads of a thread before the first addition.
  using launch_bounds = Kokkos::LaunchBounds<read_shares::team_threads, 4>;
  using pack = detail::device_pack<T>;
  static constexpr int pack_elements = detail::device_pack_elements<T>;

  /// `partial_sums` has `entries` entries, at least one for each part of `shares`.
  read_device_kernel(const T* source, std::int64_t n, const read_shares& shares, T* partial_sums, std::int64_t entries)
      : source_(source), n_(n), shares_(shares), partial_sums_(partial_sums), entries_(entries) {}

  /// Whole teams, so that the threads of a part are all there.
  KOKKOS_FUNCTION std::int64_t blocks() const { return shares_.threads(); }

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const {
    const T total = detail::join_neighbours(read_part_threads, sum_of(thread), [](T a, T b) { return a + b; });
    if (thread % read_part_threads == 0) partial_sums_[thread / read_part_threads] = total;
    PRUMO_KEEP_LOOP
    for (std::int64_t entry = shares_.parts() + thread; entry < entries_; entry += blocks()) {
      partial_sums_[entry] = T(0);
    }
  }

  /// The sum of what one thread reads.
  KOKKOS_FUNCTION T sum_of(std::int64_t thread) const {
    constexpr int loads = read_shares::loads_at_once;
    const std::int64_t step = KnowsStep ? read_shares::team_threads : shares_.step;
    const std::int64_t team = thread / read_shares::team_threads;
    const std::int64_t begin = team * shares_.team_stride;
    const std::int64_t left = shares_.packs - begin;
    const std::int64_t length = left < shares_.length ? left : shares_.length;
    const pack* const first = reinterpret_cast<const pack*>(source_) + begin;
    const pack* const end = first + length;
    const pack* at = first + thread % read_shares::team_threads;
    T sums[pack_elements] = {};
    PRUMO_KEEP_LOOP
    for (; end - at > (loads - 1) * step; at += loads * step) {
      pack loaded[loads];
      PRUMO_UNROLL
      for (int load = 0; load < loads; ++load) loaded[load] = at[load * step];
      PRUMO_UNROLL
      for (int load = 0; load < loads; ++load) add(loaded[load], sums);
    }
    if (at < end) {
      // Fewer loads than a round has. All of them are under way before the first addition all the same. The first pack
      // is there; reading it again costs nothing.
      pack loaded[loads - 1];
      PRUMO_UNROLL
      for (int load = 0; load < loads - 1; ++load) loaded[load] = end - at > load * step ? at[load * step] : *at;
      PRUMO_UNROLL
      for (int load = 0; load < loads - 1; ++load) {
        if (end - at > load * step) add(loaded[load], sums);
      }
    }
    PRUMO_KEEP_LOOP
    for (std::int64_t rest = shares_.packs * pack_elements + thread; rest < n_; rest += blocks()) {
      sums[0] = sums[0] + source_[rest];
    }
    T total = sums[0];
    for (int place = 1; place < pack_elements; ++place) total = total + sums[place];
    return total;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static void add(const pack& loaded, T (&sums)[pack_elements]) {
    PRUMO_UNROLL
    for (int place = 0; place < pack_elements; ++place) sums[place] = sums[place] + loaded.values[place];
  }

  const T* source_;
  std::int64_t n_;
  read_shares shares_;
  T* partial_sums_;
  std::int64_t entries_;
};

}  // namespace prumo::probe
