// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How many threads of a host pay for a kernel: all of the instance's threads, or only the one that calls.
///
/// To start the threads and to wait for all of them costs more the more they are. GCC's OpenMP wakes them one after the
/// other, and they meet at one counter. A launch on 2 threads was measured to take 0.77 us longer than a plain call
/// (AMD Zen 4), or 1.2 to 1.9 us (Intel Emerald Rapids, whose cores exchange lines by a mesh), and one on 16 threads
/// 3.9 us (Emerald Rapids). So prumo measures it. A kernel that would save less time than a launch takes runs on the
/// thread that calls.
///
/// No number in between is used. GCC's OpenMP ends the threads that a region leaves out, and the next region has to
/// start them again.

#include <prumo/spaces.hpp>
#include <prumo/types.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace prumo::detail {

/// The time that a kernel takes one thread of a host, roughly. It decides about time only, never about results.
struct host_work {
  double nanoseconds = 0;

  /// Of kernels that do not tell: all threads share it, if there is something to share.
  static constexpr host_work unknown() { return {std::numeric_limits<double>::max()}; }
  /// To read or write arrays of this number of elements of each type in the caches, one behind the other.
  template <class... T>
  static constexpr host_work streaming(std::int64_t elements) {
    return repeated(elements, (0.0 + ... + nanoseconds_of<T>));
  }
  /// What takes `each` nanoseconds, `count` times.
  static constexpr host_work repeated(std::int64_t count, double each) { return {each * static_cast<double>(count)}; }

  /// To read or write an element. Numbers of 16 bits are computed in f32.
  template <class T>
  static constexpr double nanoseconds_of = 0.01 * sizeof(T) + (stored_scalar<T> && sizeof(T) == 2 ? 0.03 : 0);

  friend constexpr host_work operator+(const host_work& x, const host_work& y) {
    return {x.nanoseconds + y.nanoseconds};
  }
};

/// The time that one thread waits for memory when it reads or writes arrays of `bytes` bytes: none if they fit into the
/// caches. exceeds_caches() tells this from their size and the working set.
host_work memory_work(std::size_t bytes, std::size_t working_set);

/// How much longer a launch on this number of OpenMP's threads takes than a plain call, to be compared with host_work.
/// Some calls measure an empty parallel region. The least time so far counts, so the answer never grows.
double launch_nanoseconds(int threads);

/// Whether threads, of which the busiest gets a share of the work, save more time than their launch takes.
bool pays_for_launch(const host_work& work, double largest_share, double launch_nanoseconds);
/// Whether `threads` threads, of which the busiest gets a share of the work, are faster than the calling one alone.
bool threads_pay(const host_work& work, int threads, double largest_share);

/// The number of threads that pay for work that can be shared out evenly: all of the instance's, or one.
template <class Exec>
int threads_for(const Exec& instance, const host_work& work) {
  const int threads = concurrency_of(instance);
  return threads_pay(work, threads, 1.0 / threads) ? threads : 1;
}

/// The same for work that lies in this number of equal blocks, each of which is one thread's.
template <class Exec>
int threads_for_blocks(const Exec& instance, const host_work& work, std::int64_t blocks) {
  if (blocks <= 1) return 1;
  const int threads = concurrency_of(instance);
  const std::int64_t most_blocks = (blocks + threads - 1) / threads;
  const double largest_share = static_cast<double>(most_blocks) / static_cast<double>(blocks);
  return threads_pay(work, threads, largest_share) ? threads : 1;
}

}  // namespace prumo::detail
