// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/sampling.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace prumo::protocol {
namespace {

using wall_clock = std::chrono::steady_clock;

double seconds_since(wall_clock::time_point start) {
  return std::chrono::duration<double>(wall_clock::now() - start).count();
}

/// A batch is calibrated this much longer than asked for: calls become faster as clocks rise and pages settle.
constexpr double margin = 1.25;
/// Beyond this no single call is long enough to be timed at all.
constexpr std::uint64_t largest_batch = std::uint64_t{1} << 24;

}  // namespace

sampler::sampler(timed_calls& calls, std::size_t copies, double least_interval)
    : calls_(calls), copies_(std::max<std::size_t>(copies, 1)), least_interval_(least_interval) {}

double sampler::interval(std::uint64_t calls) {
  std::size_t copy = next_copy_;
  const auto start = wall_clock::now();
  for (std::uint64_t call = 0; call < calls; ++call) {
    calls_.enqueue(copy);
    if (++copy == copies_) copy = 0;
  }
  calls_.fence();
  const double elapsed = seconds_since(start);
  next_copy_ = copy;
  return elapsed;
}

void sampler::calibrate() {
  interval(1);  // starts threads, loads code, makes a library's plans
  batch_ = 1;
  while (batch_ < largest_batch) {
    const double elapsed = interval(batch_);
    if (elapsed >= least_interval_) {
      const double needed = std::ceil(static_cast<double>(batch_) * margin * least_interval_ / elapsed);
      batch_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(needed));
      return;
    }
    // Far below, the estimate is poor: at most tenfold at once.
    const double growth = std::clamp(margin * least_interval_ / std::max(elapsed, 1e-9), 2.0, 10.0);
    batch_ = static_cast<std::uint64_t>(std::ceil(static_cast<double>(batch_) * growth));
  }
}

sample_times sampler::sample(double seconds) {
  if (batch_ == 0) calibrate();
  constexpr std::size_t most_samples = 1 << 20;
  sample_times times;
  // Nothing may be allocated between intervals: an allocation returns memory to the system or takes page faults.
  times.wall.reserve(std::min(most_samples, static_cast<std::size_t>(seconds / least_interval_) + 8));
  times.batch = batch_;
  const auto calls = static_cast<double>(batch_);
  const auto start = wall_clock::now();
  double shortest = 1e300;
  do {
    const double elapsed = interval(batch_);
    shortest = std::min(shortest, elapsed);
    times.wall.push_back(std::max(elapsed, 1e-9) / calls);
  } while (seconds_since(start) < seconds && times.wall.size() < times.wall.capacity());
  if (shortest < least_interval_ && batch_ < largest_batch) {
    // The next samples get the length that these turned out to lack.
    batch_ = static_cast<std::uint64_t>(std::ceil(calls * margin * least_interval_ / std::max(shortest, 1e-9)));
    batch_ = std::min(batch_, largest_batch);
  }
  return times;
}

std::size_t cold_copies(std::size_t footprint, std::size_t cache_bytes) {
  if (footprint == 0) return 1;
  return std::max<std::size_t>(1, (2 * cache_bytes + footprint - 1) / footprint);
}

}  // namespace prumo::protocol
