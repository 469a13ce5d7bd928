// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace prumo::bench {

/// Bounds between which a median lies with a certain confidence, in the unit of the values.
struct median_interval {
  double low = 0;
  double high = 0;

  bool operator==(const median_interval&) const = default;
};

/// The confidence of the intervals that results files hold.
inline constexpr double interval_confidence = 0.95;

/// With fewer values than this even their extremes do not cover the median with that confidence: 2 * 2^-n > 5 %.
inline constexpr std::size_t fewest_interval_values = 6;

/// The interval of the median of the distribution that independent values come from, whatever that distribution is. Its
/// bounds are order statistics (David and Nagaraja, Order Statistics, 3rd edition, 2003, section 7.1). They are
/// interpolated between two neighbours, so that the confidence is the one that was asked for (Hettmansperger and
/// Sheather, "Confidence intervals based on interpolated order statistics", Statistics and Probability Letters 4,
/// 1986).
/// \return absent for values that are too few for the confidence
/// \throws std::invalid_argument for a value that is not finite, or a confidence outside of (0, 1)
[[nodiscard]] std::optional<median_interval> interval_of_median(std::span<const double> values,
                                                                double confidence = interval_confidence);

/// The median of each round's samples. `rounds` has the number of samples of each round, from the first sample on.
/// Rounds without samples, and samples after the last round, give none.
[[nodiscard]] std::vector<double> medians_of_rounds(std::span<const double> samples,
                                                    std::span<const std::size_t> rounds);

/// The interval of the median of samples that were taken in rounds. Neighbouring samples depend on each other, since
/// the machine is faster now and slower a second later. So each round counts once, with its median.
[[nodiscard]] std::optional<median_interval> interval_by_rounds(std::span<const double> samples,
                                                                std::span<const std::size_t> rounds);

}  // namespace prumo::bench
