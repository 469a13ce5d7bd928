// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/seconds_since.hpp>
#include <prumo/serving/sampling.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace prumo::protocol {
namespace {

using wall_clock = std::chrono::steady_clock;

/// A batch is made longer than needed by this factor, because calls become faster as clocks rise and pages settle.
constexpr double margin = 1.25;

/// If a call of the calibration takes this time in seconds, it is already a sample: the first call, which also starts
/// threads and loads code, or a later one.
constexpr double long_first_call = 1;
constexpr double long_call = 0.1;

/// The number of calls `wanted`, limited to 1 ... `most`. `wanted` may be infinite or too large for the type, so it
/// must not be cast before.
std::uint64_t whole_calls(double wanted, std::uint64_t most) {
  const double calls = std::ceil(wanted);
  if (!(calls < static_cast<double>(most))) return most;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(calls));
}

/// The time that decides whether an interval is long enough.
double length_of(const timed_interval& interval) { return std::max(interval.device.value_or(interval.wall), 1e-9); }

}  // namespace

timed_interval timed_calls::run(std::uint64_t calls, std::size_t first, std::size_t copies) {
  const auto start = wall_clock::now();
  for (std::uint64_t call = 0; call < calls; ++call) {
    enqueue(first);
    if (++first == copies) first = 0;
  }
  fence();
  timed_interval result;
  result.calls = calls;
  result.wall = seconds_since(start);
  return result;
}

void timed_calls::settle(std::uint64_t, std::size_t) {}

void timed_calls::run_once(std::size_t copy) {
  enqueue(copy);
  fence();
}

sampler::sampler(timed_calls& calls, std::size_t copies, double least_interval)
    : calls_(calls), copies_(std::max<std::size_t>(copies, 1)), least_interval_(least_interval) {}

timed_interval sampler::interval(std::uint64_t calls) {
  const timed_interval measured = calls_.run(calls, next_copy_, copies_);
  next_copy_ = (next_copy_ + measured.calls) % copies_;
  return measured;
}

void sampler::calibrate() {
  if (batch_ > 0) return;
  find_batch();
  calls_.settle(batch_, copies_);
}

void sampler::find_batch() {
  batch_ = 1;
  const timed_interval first = interval(1);
  if (length_of(first) >= long_first_call) return add(calibrated_, first);
  const std::uint64_t largest_batch = calls_.most_calls();
  while (batch_ < largest_batch) {
    const timed_interval measured = interval(batch_);
    const double elapsed = length_of(measured);
    if (elapsed >= least_interval_) {
      batch_ = whole_calls(static_cast<double>(batch_) * margin * least_interval_ / elapsed, largest_batch);
      if (elapsed >= long_call) add(calibrated_, measured);
      return;
    }
    // If the interval is much too short, the estimate is poor, so the batch grows at most tenfold at once.
    const double growth = std::clamp(margin * least_interval_ / elapsed, 2.0, 10.0);
    batch_ = whole_calls(static_cast<double>(batch_) * growth, largest_batch);
  }
}

void sampler::add(sample_times& times, const timed_interval& measured) {
  const auto calls = static_cast<double>(measured.calls);
  times.batch = measured.calls;
  times.wall.push_back(std::max(measured.wall, 1e-9) / calls);
  if (measured.device) times.device.push_back(std::max(*measured.device, 1e-9) / calls);
  if (measured.h2d) times.h2d.push_back(*measured.h2d / calls);
  if (measured.d2h) times.d2h.push_back(*measured.d2h / calls);
  times.seconds += measured.wall;
}

sample_times sampler::sample(double seconds) {
  constexpr std::uint64_t most_samples = 1 << 20;
  calibrate();
  sample_times times = std::exchange(calibrated_, {});
  // Nothing may be allocated between intervals, because that may return memory to the system or cause page faults.
  const std::uint64_t expected = whole_calls(seconds / least_interval_ + 8, most_samples);
  for (auto* list : {&times.wall, &times.device, &times.h2d, &times.d2h}) list->reserve(expected);
  double shortest = 1e300;
  while (times.wall.empty() || (times.seconds < seconds && times.wall.size() < expected)) {
    const timed_interval measured = interval(batch_);
    shortest = std::min(shortest, length_of(measured));
    add(times, measured);
  }
  const std::uint64_t largest_batch = calls_.most_calls();
  if (shortest < least_interval_ && batch_ < largest_batch) {
    // These intervals were too short, so the next ones get more calls.
    batch_ = whole_calls(static_cast<double>(batch_) * margin * least_interval_ / shortest, largest_batch);
  }
  return times;
}

std::size_t cold_copies(std::size_t footprint, std::size_t cache_bytes) {
  if (footprint == 0) return 1;
  return std::max<std::size_t>(1, (2 * cache_bytes + footprint - 1) / footprint);
}

std::size_t cold_copies(std::size_t footprint, std::size_t touched, std::size_t cache_bytes) {
  constexpr std::size_t most_bytes = std::size_t{2} << 30;
  if (touched >= footprint) return cold_copies(touched, cache_bytes);
  const std::size_t usual = cold_copies(footprint, cache_bytes);
  if (touched == 0) return usual;
  return std::clamp(cold_copies(touched, cache_bytes), usual, std::max(usual, most_bytes / footprint));
}

}  // namespace prumo::protocol
