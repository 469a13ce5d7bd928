// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// How two devices compare at one size. `ratio` is the challenger's time over the other's, so it is below 1 if the
/// challenger is faster.
struct ratio_point {
  double size = 0;
  double ratio = 0;
};

/// A change of the faster device between two neighbouring sizes that were measured.
struct crossing {
  double size = 0;              ///< the size of equal times: log(ratio) is interpolated over log(size)
  double low = 0;               ///< the measured size below
  double high = 0;              ///< the measured size above
  bool challenger_wins = true;  ///< the challenger is the faster one above it
};

/// All changes, by increasing size. `points` may have any order. If times are equal, the challenger counts as faster.
[[nodiscard]] std::vector<crossing> find_crossings(std::vector<ratio_point> points);

/// Sizes from `low` to `high`, both included, with a factor of about `factor` between them. `round` rounds each of
/// them.
[[nodiscard]] std::vector<double> coarse_sizes(double low, double high, double factor,
                                               const std::function<double(double)>& round);

/// The next size to measure for a finer answer: the geometric middle of the widest bracket, rounded. Empty if every
/// bracket is narrower than `tolerance` (high / low), or if all sizes inside of it are in `tried`.
[[nodiscard]] std::optional<double> next_size(const std::vector<ratio_point>& points, double tolerance,
                                              std::span<const double> tried,
                                              const std::function<double(double)>& round);

/// The changes in words; `at` writes a size. `cuda:0 overtakes openmp:0 at 1.5MiB (measured between ...)`,
/// `is faster at every size measured`, `never overtakes`, or each change if there are several.
[[nodiscard]] std::string describe_crossings(const std::vector<ratio_point>& points, const std::string& challenger,
                                             const std::string& other, const std::function<std::string(double)>& at);

}  // namespace prumo::bench
