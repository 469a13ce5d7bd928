// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/stopping.hpp"

#include "statistics/median_interval.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

namespace prumo::bench {

std::string_view to_string(stop_reason reason) { return reason == stop_reason::settled ? "settled" : "budget"; }

bool is_measured_enough(std::span<const double> samples, std::span<const std::size_t> rounds, double measured_seconds,
                        const stopping_rule& rule) {
  if (samples.size() < rule.minimum_samples || measured_seconds < rule.minimum_seconds) return false;
  const std::vector<double> medians = medians_of_rounds(samples, rounds);
  if (medians.size() < rule.minimum_rounds) return false;
  const std::optional<median_interval> interval = interval_of_median(medians);
  const double median = summarize(samples).median;
  if (!interval || !(median > 0) || interval->high - interval->low > 2 * rule.target_noise * median) return false;
  const std::span<const double> all = medians;
  const double early = summarize(all.first(all.size() / 2)).median;
  const double late = summarize(all.last(all.size() / 2)).median;
  return std::abs(late - early) <= 2 * rule.target_noise * median;
}

double standard_noise_target(std::string_view backend) {
  // Those whose own clock times them; peers name their devices after themselves.
  constexpr std::array<std::string_view, 6> timed_by_device{"cuda", "hip", "sycl", "torch-cuda", "torch-mps", "cupy"};
  return std::ranges::find(timed_by_device, backend) != timed_by_device.end() ? 0.005 : 0.02;
}

double rounds_of_a_share(std::size_t process_runs) { return process_runs > 1 ? 60 : 20; }

pace choose_pace(double share_seconds, double rounds) {
  constexpr double longest_settle = 0.5;
  constexpr double shortest_slice = 0.01;
  constexpr double longest_slice = 0.1;
  pace chosen;
  chosen.slice_seconds = std::clamp(share_seconds / rounds, shortest_slice, longest_slice);
  chosen.settle_seconds = std::clamp(share_seconds / 10, 0.0, longest_settle);
  return chosen;
}

bool can_discard_settling(double elapsed_seconds, double asked_seconds) {
  constexpr double calibration = 0.02;  // of short calls: some milliseconds on a quiet machine
  return elapsed_seconds < 2 * asked_seconds + calibration;
}

std::size_t first_of_round(std::size_t round, std::size_t count) { return count == 0 ? 0 : round % count; }

}  // namespace prumo::bench
