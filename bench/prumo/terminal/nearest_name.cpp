// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/nearest_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace prumo::bench {
namespace {

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  const std::size_t columns = right.size() + 1;
  std::vector<std::size_t> before_last(columns), last(columns), now(columns);
  for (std::size_t j = 0; j < columns; ++j) last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const bool same = left[i - 1] == right[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, now);
  }
  return last.back();
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (best.empty() && name.size() >= 3) {
    const auto begins = std::ranges::find_if(candidates, [&](const std::string& it) { return it.starts_with(name); });
    if (begins != candidates.end()) best = *begins;
  }
  return best;
}

std::string unknown_name_message(std::string_view what, std::string_view name,
                                 std::span<const std::string> candidates) {
  constexpr std::size_t longest_list = 40;
  std::string message = fmt::format("unknown {} '{}'", what, name);
  const std::string near = nearest_name(name, candidates);
  if (!near.empty()) message += fmt::format("; did you mean '{}'?", near);
  if (!candidates.empty() && candidates.size() <= longest_list) {
    message += fmt::format("{} There are: {}.", near.empty() ? "." : "", fmt::join(candidates, ", "));
  }
  return message;
}

}  // namespace prumo::bench
