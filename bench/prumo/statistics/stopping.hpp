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
  std::size_t minimum_rounds = 3;  ///< rounds of the samples, because the next moment may differ from this one
};

/// Why measuring a case ended; as in the results file.
enum class stop_reason {
  settled,  ///< the spread is under the target
  budget    ///< its time was spent
};

[[nodiscard]] std::string_view to_string(stop_reason reason);

/// True if `samples`, taken in `measured_seconds` and `rounds`, satisfy the rule.
[[nodiscard]] bool is_measured_enough(std::span<const double> samples, double measured_seconds, std::size_t rounds,
                                      const stopping_rule& rule);

/// The noise target of a backend, a fraction: GPUs hold their clock better than CPUs.
[[nodiscard]] double standard_noise_target(std::string_view backend);

/// How many seconds to spend on settling and on each request of a case.
struct pace {
  double settle_seconds = 0;  ///< discarded; 0: none
  double slice_seconds = 0;   ///< one `sample` request
};

/// The number of rounds that a case's share of the time is divided into. If versions are compared, rounds are more and
/// shorter: times of the same round are compared, and the closer they are in time, the less the machine changes between
/// them.
[[nodiscard]] double rounds_of_a_share(std::size_t process_runs);

/// The pace of a case with `share_seconds` to spend in this many rounds. Settling takes a tenth of the share, half a
/// second at most.
[[nodiscard]] pace choose_pace(double share_seconds, double rounds);

/// True if the samples of settling, which was to take `asked_seconds` and took `elapsed_seconds`, can be dropped. If it
/// took much longer, the calls are so long that they are the measurement. The worker has already made calls to warm up.
[[nodiscard]] bool can_discard_settling(double elapsed_seconds, double asked_seconds);

/// The place of the case that round number `round` begins with, among `count` cases: each is first equally often.
[[nodiscard]] std::size_t first_of_round(std::size_t round, std::size_t count);

}  // namespace prumo::bench
