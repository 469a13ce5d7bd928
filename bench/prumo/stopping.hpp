// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace prumo::bench {

/// When a case has been measured long enough.
struct stopping_rule {
  double target_noise = 0.02;  ///< relative inter-quartile range
  std::size_t minimum_samples = 10;
  double minimum_seconds = 0.1;  ///< of measuring time
};

/// Why measuring a case ended; as in the results file.
enum class stop_reason {
  settled,  ///< the spread is under the target
  budget    ///< its time was spent
};

[[nodiscard]] std::string_view to_string(stop_reason reason);

/// True where `samples`, taken in `measured_seconds`, satisfy the rule.
[[nodiscard]] bool is_measured_enough(std::span<const double> samples, double measured_seconds,
                                      const stopping_rule& rule);

/// The noise target of a backend, a fraction: GPUs hold their clock better than CPUs.
[[nodiscard]] double standard_noise_target(std::string_view backend);

/// How many seconds to spend on settling and on each request of a case.
struct pace {
  double settle_seconds = 0;  ///< discarded; 0: none
  double slice_seconds = 0;   ///< one `sample` request
};

/// The pace of a case with `share_seconds` to spend. Settling takes a tenth of the share, half a second at most.
[[nodiscard]] pace choose_pace(double share_seconds);

/// True where the samples of settling, which took `elapsed_seconds`, can be done without: where calls are so long that
/// settling took a good part of the share, they are the measurement.
[[nodiscard]] bool can_discard_settling(double elapsed_seconds, double share_seconds);

/// The place of the case that round number `round` begins with, among `count` cases: each is first equally often.
[[nodiscard]] std::size_t first_of_round(std::size_t round, std::size_t count);

/// The share of the `remaining` seconds that work of `weight` gets where `weight_left` is what is still to be done,
/// itself included.
[[nodiscard]] double budget_share(double remaining, double weight, double weight_left);

}  // namespace prumo::bench
