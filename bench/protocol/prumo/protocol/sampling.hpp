// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a call is timed: batches of calls of a millisecond or more, by the wall clock from the first enqueued to the
/// fence after the last.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prumo::protocol {

/// Calls that can be made again and again, each on one of several copies of its arrays.
class timed_calls {
 public:
  virtual ~timed_calls() = default;

  /// Makes one call; it may still be running when this returns.
  virtual void enqueue(std::size_t copy) = 0;
  /// Waits for every call made.
  virtual void fence() = 0;
};

/// Times of single calls in seconds: each an interval divided by its number of calls.
struct sample_times {
  std::vector<double> wall;
  std::uint64_t batch = 1;  ///< calls in an interval of these samples
};

/// Takes samples of one prepared case. The batch and the place in the rotation of copies stay from one request to the
/// next, so that short requests need no calibration of their own and cold cases stay cold.
class sampler {
 public:
  /// Intervals are made as long as `least_interval` seconds.
  sampler(timed_calls& calls, std::size_t copies, double least_interval = 1e-3);

  /// Measures for about so many seconds, at least one interval.
  sample_times sample(double seconds);

 private:
  double interval(std::uint64_t calls);
  void calibrate();

  timed_calls& calls_;
  std::size_t copies_;
  double least_interval_;
  std::size_t next_copy_ = 0;
  std::uint64_t batch_ = 0;  ///< 0: not calibrated yet
};

/// How many copies of arrays of `footprint` bytes keep calls from finding their data in a cache of `cache_bytes`: so
/// many that all together are at least twice as large.
std::size_t cold_copies(std::size_t footprint, std::size_t cache_bytes);

}  // namespace prumo::protocol
