// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crossover/crossover_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace prumo::bench {

std::vector<crossing> find_crossings(std::vector<ratio_point> points) {
  std::ranges::sort(points, {}, &ratio_point::size);
  std::vector<crossing> found;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const ratio_point& low = points[i - 1];
    const ratio_point& high = points[i];
    const bool won_below = low.ratio <= 1;
    const bool won_above = high.ratio <= 1;
    if (won_below == won_above) continue;
    const double part = std::log(low.ratio) / (std::log(low.ratio) - std::log(high.ratio));
    found.push_back({low.size * std::pow(high.size / low.size, part), low.size, high.size, won_above});
  }
  return found;
}

std::vector<double> coarse_sizes(double low, double high, double factor, const std::function<double(double)>& round) {
  const auto steps = std::max(1.0, std::ceil(std::log(high / low) / std::log(factor) - 1e-9));
  std::vector<double> sizes;
  for (double step = 0; step <= steps; ++step) {
    const double size = step == 0 ? low : step == steps ? high : round(low * std::pow(high / low, step / steps));
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

std::optional<double> next_size(const std::vector<ratio_point>& points, double tolerance, std::span<const double> tried,
                                const std::function<double(double)>& round) {
  std::optional<double> best;
  double widest = tolerance;
  for (const crossing& it : find_crossings(points)) {
    if (it.high / it.low <= widest) continue;
    const double middle = round(std::sqrt(it.low * it.high));
    if (middle <= it.low || middle >= it.high || std::ranges::find(tried, middle) != tried.end()) continue;
    widest = it.high / it.low;
    best = middle;
  }
  return best;
}

std::string describe_crossings(const std::vector<ratio_point>& points, const std::string& challenger,
                               const std::string& other, const std::function<std::string(double)>& at) {
  if (points.empty()) return fmt::format("no size was measured on both {} and {}", challenger, other);
  const std::vector<crossing> found = find_crossings(points);
  const auto [smallest, largest] = std::ranges::minmax(points, {}, &ratio_point::size);
  if (found.empty()) {
    const std::string range = fmt::format("from {} to {}", at(smallest.size), at(largest.size));
    if (points.front().ratio <= 1)
      return fmt::format("{} is faster than {} at every size {}", challenger, other, range);
    return fmt::format("{} never overtakes {} {}", challenger, other, range);
  }
  std::string text;
  for (const crossing& it : found) {
    text += fmt::format("{}{} {} {} at {} (measured at {} and {})", text.empty() ? "" : "; ", challenger,
                        it.challenger_wins ? "overtakes" : "falls behind", other, at(it.size), at(it.low), at(it.high));
  }
  if (found.size() > 1)
    text += fmt::format("; the order changes {} times, so the two are close or unsteady", found.size());
  return text;
}

}  // namespace prumo::bench
