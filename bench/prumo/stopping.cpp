// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stopping.hpp"

#include "statistics.hpp"

#include <algorithm>

namespace prumo::bench {

std::string_view to_string(stop_reason reason) { return reason == stop_reason::settled ? "settled" : "budget"; }

bool is_measured_enough(std::span<const double> samples, double measured_seconds, const stopping_rule& rule) {
  if (samples.empty() || measured_seconds < rule.minimum_seconds) return false;
  return is_settled(summarize(samples), rule.target_noise, rule.minimum_samples);
}

double standard_noise_target(std::string_view backend) {
  const bool gpu = backend == "cuda" || backend == "hip" || backend == "sycl";
  return gpu ? 0.005 : 0.02;
}

pace choose_pace(double share_seconds) {
  constexpr double longest_settle = 0.5;
  constexpr double shortest_slice = 0.01;
  constexpr double longest_slice = 0.1;
  pace chosen;
  chosen.slice_seconds = std::clamp(share_seconds / 20, shortest_slice, longest_slice);
  chosen.settle_seconds = std::clamp(share_seconds / 10, 0.0, longest_settle);
  return chosen;
}

bool can_discard_settling(double elapsed_seconds, double share_seconds) {
  return elapsed_seconds < 0.3 * share_seconds;
}

std::size_t first_of_round(std::size_t round, std::size_t count) { return count == 0 ? 0 : round % count; }

double budget_share(double remaining, double weight, double weight_left) {
  if (remaining <= 0 || weight <= 0) return 0;
  return weight >= weight_left ? remaining : remaining * weight / weight_left;
}

}  // namespace prumo::bench
