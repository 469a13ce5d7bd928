// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/time_shares.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace prumo::bench {

double fair_level(std::span<const double> wishes, double available) {
  std::vector<double> sorted(wishes.begin(), wishes.end());
  std::ranges::sort(sorted);
  double left = std::max(0.0, available);
  for (std::size_t place = 0; place < sorted.size(); ++place) {
    const double equal = left / static_cast<double>(sorted.size() - place);
    if (sorted[place] > equal) return equal;
    left -= std::max(0.0, sorted[place]);
  }
  return std::numeric_limits<double>::infinity();
}

std::vector<std::size_t> too_long(std::span<const double> least, double available) {
  // Of equally long ones the later: what is next stays, and shows whether the others take as long as expected.
  std::vector<std::size_t> order(least.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return least[a] > least[b]; });
  double needed = std::accumulate(least.begin(), least.end(), 0.0);
  std::vector<std::size_t> given_up;
  for (const std::size_t place : order) {
    if (needed <= available) break;
    needed -= least[place];
    given_up.push_back(place);
  }
  std::ranges::sort(given_up);
  return given_up;
}

}  // namespace prumo::bench
