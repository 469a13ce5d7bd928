// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reading an array as fast as a space can: the ceiling of everything that reads much and writes little.

#include <prumo/detail/lanes.hpp>
#include <prumo/spaces.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::probe {

/// How an array of n elements is shared out, by its length alone. The parts' sums are the probe's output: a
/// tiny one, which keeps the reading from being optimised away and lets it be verified.
template <bool OnHost>
struct read_partition {
  /// Elements that lie together: a stretch for a core's prefetcher on the host, a vector load on a device.
  static constexpr std::int64_t run_length = OnHost ? 4096 : 4;
  /// Enough for all threads of a large device. On the host each run is a part of its own.
  static constexpr std::int64_t most_parts = OnHost ? INT64_MAX : std::int64_t{1} << 18;

  KOKKOS_FUNCTION static std::int64_t parts(std::int64_t n) {
    const std::int64_t runs = (n + run_length - 1) / run_length;
    return runs < most_parts ? runs : most_parts;
  }
};

inline namespace PRUMO_INSTRUCTION_SET {

/// partial_sums[p] = the sum of part p, on the host: one stretch.
template <class T>
struct read_stretch_kernel {
  const T* source;
  std::int64_t n;
  T* partial_sums;

  std::int64_t blocks() const { return read_partition<true>::parts(n); }

  void operator()(std::int64_t part) const {
    constexpr std::int64_t length = read_partition<true>::run_length;
    const T* const first = source + part * length;
    partial_sums[part] = detail::reduce_lanes(std::min(length, n - part * length), T(0), detail::add_values{},
                                              [=](std::int64_t index) { return first[index]; });
  }
};

}  // namespace PRUMO_INSTRUCTION_SET

/// The same on a device: runs p, p + parts, p + 2 parts, ..., so that neighbouring threads read neighbouring
/// runs; a sum for each place in a run, joined in the order of the places.
template <class T>
struct read_runs_kernel {
  const T* source;
  std::int64_t n;
  T* partial_sums;

  KOKKOS_FUNCTION std::int64_t blocks() const { return read_partition<false>::parts(n); }

  KOKKOS_FUNCTION void operator()(std::int64_t part) const {
    constexpr int length = static_cast<int>(read_partition<false>::run_length);
    struct alignas(length * sizeof(T)) run {
      T values[length];
    };
    T sums[length] = {};
    const std::int64_t step = blocks();
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(source) % sizeof(run) == 0;
    const std::int64_t whole_runs = n / length;
    std::int64_t at = part;
    for (; is_aligned && at < whole_runs; at += step) {
      const run loaded = *reinterpret_cast<const run*>(source + at * length);
      for (int place = 0; place < length; ++place) sums[place] = sums[place] + loaded.values[place];
    }
    for (; at * length < n; at += step) {
      for (int place = 0; place < length && at * length + place < n; ++place) {
        sums[place] = sums[place] + source[at * length + place];
      }
    }
    T total = sums[0];
    for (int place = 1; place < length; ++place) total = total + sums[place];
    partial_sums[part] = total;
  }
};

}  // namespace prumo::probe
