// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reads an array as fast as a space can: the ceiling of operations that read much and write little.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/spaces.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::probe {

/// How an array of n elements is shared out. It depends on the length alone. The sums of the parts are the probe's
/// output. They are few, and because of them the compiler cannot leave out the reading, and the result can be verified.
template <bool OnHost>
struct read_partition {
  /// The number of elements that lie together: a stretch for a core's prefetcher on the host, a vector load on a
  /// device.
  static constexpr std::int64_t run_length = OnHost ? 4096 : 4;
  /// The number of runs that a thread of a device has under way at a time. On the host each run is a part.
  static constexpr int runs_at_once = 8;

  /// On a device, a short array gives each of many threads a run or two, because waiting for the first load is all the
  /// time. A long array uses the number of threads that a large device runs at once with the registers that
  /// runs_at_once take; with more threads, the last ones would run alone. Both were measured on an H200.
  KOKKOS_FUNCTION static std::int64_t parts(std::int64_t n) {
    constexpr std::int64_t long_array = std::int64_t{1} << 20, threads = std::int64_t{1} << 17;
    const std::int64_t runs = (n + run_length - 1) / run_length;
    const std::int64_t most = OnHost ? runs : runs < long_array ? 2 * threads : threads;
    return runs < most ? runs : most;
  }
};

inline namespace PRUMO_INSTRUCTION_SET {

/// partial_sums[p] = the sum of part p. On the host a part is one stretch.
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

/// The same on a device. A part has the runs p, p + parts, p + 2 parts, ..., so that neighbouring threads read
/// neighbouring runs. There is a sum for each place in a run, and the sums are joined in the order of the places.
template <class T>
struct read_runs_kernel {
  /// Allows enough registers for all loads of a thread before the first addition. Otherwise nvcc has only two under
  /// way.
  using launch_bounds = Kokkos::LaunchBounds<256, 4>;

  const T* source;
  std::int64_t n;
  T* partial_sums;

  KOKKOS_FUNCTION std::int64_t blocks() const { return read_partition<false>::parts(n); }

  KOKKOS_FUNCTION void operator()(std::int64_t part) const {
    constexpr int at_once = read_partition<false>::runs_at_once;
    T sums[length] = {};
    const std::int64_t step = blocks();
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(source) % sizeof(run) == 0;
    const std::int64_t whole_runs = is_aligned ? n / length : 0;
    std::int64_t at = part;
    PRUMO_KEEP_LOOP
    for (; whole_runs - at > (at_once - 1) * step; at += at_once * step) {
      run loaded[at_once];
      PRUMO_UNROLL
      for (int which = 0; which < at_once; ++which) loaded[which] = load(at + which * step);
      PRUMO_UNROLL
      for (int which = 0; which < at_once; ++which) add(loaded[which], sums);
    }
    PRUMO_KEEP_LOOP
    for (; at < whole_runs; at += step) add(load(at), sums);
    for (; at * length < n; at += step) {
      for (int place = 0; place < length && at * length + place < n; ++place) {
        sums[place] = sums[place] + source[at * length + place];
      }
    }
    T total = sums[0];
    for (int place = 1; place < length; ++place) total = total + sums[place];
    partial_sums[part] = total;
  }

 private:
  static constexpr int length = static_cast<int>(read_partition<false>::run_length);
  struct alignas(length * sizeof(T)) run {
    T values[length];
  };

  KOKKOS_FORCEINLINE_FUNCTION run load(std::int64_t index) const {
    return *reinterpret_cast<const run*>(source + index * length);
  }
  KOKKOS_FORCEINLINE_FUNCTION static void add(const run& loaded, T (&sums)[length]) {
    PRUMO_UNROLL
    for (int place = 0; place < length; ++place) sums[place] = sums[place] + loaded.values[place];
  }
};

}  // namespace prumo::probe
