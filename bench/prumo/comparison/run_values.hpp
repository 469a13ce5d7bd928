// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace prumo::bench {

/// What a process run says of a case.
struct run_value {
  double log_seconds = 0;  ///< median of the natural logarithms of its samples
  double variance = 0;  ///< of log_seconds by the spread of the samples alone; 0 for a single one, which tells nothing
};

/// What a run says whose samples are not known, by the variance of a mean (delta method).
/// \param mean, standard_deviation of so many samples, in seconds
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
