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
  double minimum_seconds = 0.1;    ///< of measuring time
  std::size_t minimum_rounds = 3;  ///< in which they were taken: one moment does not tell of the next
};

/// Why measuring a case ended; as in the results file.
enum class stop_reason {
  settled,  ///< the spread is under the target
  budget    ///< its time was spent
};

[[nodiscard]] std::string_view to_string(stop_reason reason);

/// True where `samples`, taken in `measured_seconds` and `rounds`, satisfy the rule.
[[nodiscard]] bool is_measured_enough(std::span<const double> samples, double measured_seconds, std::size_t rounds,
                                      const stopping_rule& rule);

/// The noise target of a backend, a fraction: GPUs hold their clock better than CPUs.
[[nodiscard]] double standard_noise_target(std::string_view backend);

/// How many seconds to spend on settling and on each request of a case.
struct pace {
  double settle_seconds = 0;  ///< discarded; 0: none
  double slice_seconds = 0;   ///< one `sample` request
};

/// How many rounds a case's share of the time is meant for. Where versions are compared there are more, and shorter
/// ones: times of the same round are set against each other, and the closer they are the less a machine that other
/// programs use, too, changes in between.
[[nodiscard]] double rounds_of_a_share(std::size_t process_runs);

/// The pace of a case with `share_seconds` to spend in this many rounds. Settling takes a tenth of the share, half a
/// second at most.
[[nodiscard]] pace choose_pace(double share_seconds, double rounds);

/// True where the samples of settling, which was asked for `asked_seconds` and took `elapsed_seconds`, can be done
/// without. Where it took much longer, calls are so long that they are the measurement: the worker has called them to
/// warm up already.
[[nodiscard]] bool can_discard_settling(double elapsed_seconds, double asked_seconds);

/// The place of the case that round number `round` begins with, among `count` cases: each is first equally often.
[[nodiscard]] std::size_t first_of_round(std::size_t round, std::size_t count);

}  // namespace prumo::bench
