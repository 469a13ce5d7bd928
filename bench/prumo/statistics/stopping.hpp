// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/run_values.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace prumo::bench {

/// When a case has been measured long enough.
struct stopping_rule {
  double target_noise = 0.01;  ///< half of the interval of the median, over the median
  std::size_t minimum_samples = 10;
  double minimum_seconds = 0.1;  ///< of measuring time
  /// Rounds of the samples, because the next moment may differ from this one. Two builds are compared by their rounds.
  std::size_t minimum_rounds = fewest_rounds;
};

/// Why measuring a case ended; as in the results file.
enum class stop_reason {
  settled,  ///< the median is known as exactly as was asked for
  steady,   ///< the noise no longer changes, and is too large for what was asked for
  budget    ///< its time was spent
};

[[nodiscard]] std::string_view to_string(stop_reason reason);

/// True if samples that took `measured_seconds` satisfy the rule. `rounds` has the number of samples of each round.
///
/// What is judged is how exactly the median is known (interval_by_rounds()), and not how much the samples spread: a
/// median of many noisy samples is exact. The times must not have a trend either: the median of the later half of the
/// rounds may differ from that of the earlier half by twice the target, which chance does in one of twenty cases.
[[nodiscard]] bool is_measured_enough(std::span<const double> samples, std::span<const std::size_t> rounds,
                                      double measured_seconds, const stopping_rule& rule);

/// The noise of a case, once it no longer changes.
struct steady_noise {
  std::size_t rounds = 0;
  double half_width = 0;  ///< half of the interval of the median, over the median
};

/// What further rounds could do is known of a case if
/// - it has the samples and the time that the rule asks for, and twice the rounds;
/// - the times have no trend: neither the halves of the rounds differ by more than chance explains, nor do later rounds
///   tend to be slower or faster (Mann, "Nonparametric tests against trend", Econometrica 13, 1945);
/// - the noise stays what it was while the later half of the rounds was added.
///
/// The noise is the spread of the rounds' medians, since the interval comes from these: the median of the distances of
/// all pairs (Shamos 1976; Bickel and Lehmann, "Descriptive statistics for nonparametric models IV", 1979). It bears
/// outliers in a quarter of the rounds, needs less than half of the rounds of quartiles to be known as exactly, and
/// does not keep still while times change between two values. That of some tens of rounds is known to a tenth or so
/// only, and halves could not be compared to within a few percent. What is looked at, as in nvbench, is how much the
/// noise of all rounds so far changes with further ones: by a standard deviation of 5 % at most.
///
/// Who looks after each round finds by chance what is not there. So looks are rare: whenever an eighth of the rounds
/// was added.
/// \return absent between the looks, and as long as further rounds may show something new
[[nodiscard]] std::optional<steady_noise> find_steady_noise(std::span<const double> samples,
                                                            std::span<const std::size_t> rounds,
                                                            double measured_seconds, const stopping_rule& rule);

/// A case that stops because its noise is known may have an interval this many times as wide as its whole time would
/// give.
inline constexpr double most_widening = 1.5;

/// True if this many further rounds, the most that a case can get, would be in vain: the interval, which shrinks as one
/// over the root of the rounds, would still be above the target, and now is at most `most_widening` times as wide.
[[nodiscard]] bool is_out_of_reach(const steady_noise& noise, double further_rounds, double target_noise);

/// The target of a backend for stopping_rule::target_noise: GPUs hold their clock better than CPUs.
[[nodiscard]] double standard_noise_target(std::string_view backend);

/// How many seconds to spend on settling and on each request of a case.
struct pace {
  double settle_seconds = 0;  ///< discarded; 0: none
  double slice_seconds = 0;   ///< one `sample` request
};

/// The number of rounds that a case's share of the time is divided into, with `runs` process runs. If versions are
/// compared, rounds are more and shorter: times of the same round are compared, and the closer they are in time, the
/// less the machine changes between them.
[[nodiscard]] double rounds_of_a_share(std::size_t runs);

/// The pace of a case with `share_seconds` to spend in this many rounds. Settling takes a tenth of the share, half a
/// second at most.
[[nodiscard]] pace choose_pace(double share_seconds, double rounds);

/// True if the samples of settling, which was to take `asked_seconds` and took `elapsed_seconds`, can be dropped. If it
/// took much longer, the calls are so long that they are the measurement. The worker has already made calls to warm up.
[[nodiscard]] bool can_discard_settling(double elapsed_seconds, double asked_seconds);

/// The place of the case that round number `round` begins with, among `count` cases: each is first equally often.
[[nodiscard]] std::size_t first_of_round(std::size_t round, std::size_t count);

}  // namespace prumo::bench
