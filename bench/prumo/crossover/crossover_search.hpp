// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// How two devices compare at one size: `ratio` is the challenger's time over the other's, below 1 where the
/// challenger is faster.
struct ratio_point {
  double size = 0;
  double ratio = 0;
};

/// A change of the faster device between two neighbouring sizes that were measured.
struct crossing {
  double size = 0;              ///< where both take the same time: log(ratio) is interpolated over log(size)
  double low = 0;               ///< the measured size below
  double high = 0;              ///< the measured size above
  bool challenger_wins = true;  ///< the challenger is the faster one above it
};

/// All changes, by increasing size. `points` may come in any order; equal times count as the challenger's.
[[nodiscard]] std::vector<crossing> find_crossings(std::vector<ratio_point> points);

/// Sizes from `low` to `high`, both included, some `factor` apart, each passed through `round`.
[[nodiscard]] std::vector<double> coarse_sizes(double low, double high, double factor,
                                               const std::function<double(double)>& round);

/// The next size to measure for a finer answer: the geometric middle of the widest bracket, rounded. Empty where every
/// bracket is narrower than `tolerance` (high / low), or has no size inside that is not in `tried`.
[[nodiscard]] std::optional<double> next_size(const std::vector<ratio_point>& points, double tolerance,
                                              std::span<const double> tried,
                                              const std::function<double(double)>& round);

/// What the points say, in words: `at` writes a size. `cuda:0 overtakes openmp:0 at 1.5MiB (measured between ...)`,
/// `is faster at every size measured`, `never overtakes`, or each change where there are several.
[[nodiscard]] std::string describe_crossings(const std::vector<ratio_point>& points, const std::string& challenger,
                                             const std::string& other, const std::function<std::string(double)>& at);

}  // namespace prumo::bench
