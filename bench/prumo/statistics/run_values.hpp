// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace prumo::bench {

/// What a process run says of a case.
struct run_value {
  double log_seconds = 0;  ///< median of the natural logarithms of its samples
  double variance = 0;  ///< of log_seconds by the spread of the samples alone; 0 for a single one, which tells nothing
};

/// What one process run measured of a case.
struct process_run {
  std::vector<double> samples;      ///< seconds of a call, in the order measured
  std::vector<std::size_t> rounds;  ///< how many of them, from the first on, are of each round; empty: not known

  process_run() = default;
  process_run(std::initializer_list<double> seconds) : samples(seconds) {}
  explicit process_run(std::vector<double> seconds, std::vector<std::size_t> of_rounds = {})
      : samples(std::move(seconds)), rounds(std::move(of_rounds)) {}

  bool operator==(const process_run&) const = default;
};

/// How two runs that were measured in turns differ: the logarithm of the time after over the time before, by rounds.
///
/// Each round in which both were measured gives one difference: that of the logarithms of their medians. A round takes
/// some hundredths of a second, so slower changes of the machine's speed are the same for both and cancel. The value is
/// the interquartile mean of the differences, which a burst of load in every fourth round does not move. Its variance
/// follows from the winsorized variance (Tukey and McLaughlin, Sankhya A 25, 1963).
/// \return absent for fewer than `fewest_rounds` rounds
[[nodiscard]] std::optional<run_value> difference_by_rounds(const process_run& before, const process_run& after);

inline constexpr std::size_t fewest_rounds = 8;

/// The value of a run whose samples are not known. Its variance is that of a mean, by the delta method.
/// \param mean, standard_deviation of this many samples, in seconds
/// \throws std::invalid_argument for a mean that is not finite and positive, a deviation that is not finite or is
///         negative, and no samples
[[nodiscard]] run_value value_of_moments(double mean, double standard_deviation, std::size_t count);

/// The median of a run and its variance by a bootstrap of circular blocks (Politis and Romano, "A circular
/// block-resampling procedure for stationary data", 1992): neighbouring samples depend on each other, so blocks are
/// drawn of the cube root of their number (Hall, Horowitz and Jing, Biometrika 82, 1995: the order that estimates a
/// variance best). Equal seeds give equal values.
/// \throws std::invalid_argument for no samples, or one that is not finite and positive
[[nodiscard]] run_value value_of_run(std::span<const double> samples, std::uint64_t seed);

}  // namespace prumo::bench
