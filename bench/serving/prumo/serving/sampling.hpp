// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a call is timed: in batches of a millisecond or more, from the first call to the fence after the last one. If
/// the device has a clock of its own, that clock measures the batch, too.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace prumo::protocol {

/// The times of some calls, one after the other, together. In seconds.
struct timed_interval {
  std::uint64_t calls = 0;
  double wall = 0;               ///< end to end
  std::optional<double> device;  ///< by the device's clock
  std::optional<double> h2d;     ///< the part for copies to the device, if calls contain copies
  std::optional<double> d2h;     ///< the part for copies back
};

/// Calls that can be made again and again, each on one of several copies of its arrays.
class timed_calls {
 public:
  virtual ~timed_calls() = default;

  /// Makes one call; it may still be running when this returns.
  virtual void enqueue(std::size_t copy) = 0;
  /// Waits for every call made.
  virtual void fence() = 0;

  /// Makes about this number of calls and waits for them. They use the copies of the arrays in turns, from number
  /// `first` on.
  virtual timed_interval run(std::uint64_t calls, std::size_t first, std::size_t copies);

  /// The copy that run() uses last if it is called like this. \pre settle() was called
  virtual std::size_t last_copy(std::uint64_t calls, std::size_t first, std::size_t copies) const {
    return (first + calls - 1) % copies;
  }

  /// The largest number of calls that run() makes.
  virtual std::uint64_t most_calls() const { return std::uint64_t{1} << 24; }

  /// Called once it is known how many calls make an interval. From then on run() makes all calls in one way (recorded,
  /// or launched one by one), so that what a verification has seen is what is timed later.
  virtual void settle(std::uint64_t calls, std::size_t copies);

  /// Makes a single call in the way that is settled, and waits for it.
  virtual void run_once(std::size_t copy);
};

/// Times of single calls in seconds. Each is the time of a batch divided by its number of calls.
struct sample_times {
  std::vector<double> wall;
  std::vector<double> device;  ///< empty if there is only the wall clock; the same holds for the next two
  std::vector<double> h2d;
  std::vector<double> d2h;
  std::uint64_t batch = 1;  ///< calls in an interval of these samples
  double seconds = 0;       ///< of all intervals together, by the wall's clock
};

/// Takes samples of one prepared case. The batch and the next copy of the arrays are kept from one request to the next.
/// So short requests need no new calibration, and cold cases stay cold.
class sampler {
 public:
  /// Intervals are made as long as `least_interval` seconds.
  sampler(timed_calls& calls, std::size_t copies, double least_interval = 1e-3);

  /// Finds out how many calls make an interval, unless that is known. What follows this measures nothing else.
  void calibrate();

  /// True if the next sample() gives samples that calibrate() took.
  bool holds_samples() const { return !calibrated_.wall.empty(); }

  /// The copy of the arrays that the next interval uses last. \pre calibrate() was called
  std::size_t last_copy() const { return calls_.last_copy(batch_, next_copy_, copies_); }

  /// Makes the calls of one interval exactly as sample() does, and keeps no times. A verification looks at what they
  /// wrote. \pre calibrate() was called
  void run_interval() { interval(batch_); }

  /// Measures for about this many seconds, at least one interval. Calls of the calibration that were long enough are
  /// samples, too.
  sample_times sample(double seconds);

 private:
  timed_interval interval(std::uint64_t calls);
  void find_batch();
  static void add(sample_times& times, const timed_interval& measured);

  timed_calls& calls_;
  std::size_t copies_;
  double least_interval_;
  std::size_t next_copy_ = 0;
  std::uint64_t batch_ = 0;  ///< 0: not calibrated yet
  sample_times calibrated_;  ///< samples of the calibration that no answer has had yet
};

/// The number of copies of arrays of `footprint` bytes, so that calls do not find their data in a cache of
/// `cache_bytes`: together the copies are at least twice as large as the cache.
std::size_t cold_copies(std::size_t footprint, std::size_t cache_bytes);

/// The same where a call brings `touched` bytes into the caches. They are more than the arrays have where these fill a
/// part of a line. They are fewer where a call touches only a part of its arrays, as one that looks up a few rows of a
/// large table: then there are as many copies as that part needs, or as fit into 2 GiB.
std::size_t cold_copies(std::size_t footprint, std::size_t touched, std::size_t cache_bytes);

}  // namespace prumo::protocol
