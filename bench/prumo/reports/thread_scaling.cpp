// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/thread_scaling.hpp"

#include "results/result_fields.hpp"
#include "results/results_file.hpp"

#include <fmt/format.h>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// What is the same for all numbers of threads.
std::string identity_of(json result) {
  result["threads"] = nullptr;
  return fmt::format("{}\n{}\n{}", result_key(result), text_of(field(result, "/device")),
                     text_of(field(result, "/implementation")));
}

std::optional<double> seconds_of(const json& result) {
  return field(result, "/status") == "ok" ? number_of(field(result, "/time_s/median")) : std::nullopt;
}

}  // namespace

thread_scalings::thread_scalings(const json& results) {
  for (const json& result : results) {
    const auto threads = number_of(field(result, "/threads"));
    if (!threads || *threads < 1) continue;
    const auto [known, is_new] = fewest_.emplace(identity_of(result), &result);
    if (!is_new && *threads < number_of(field(*known->second, "/threads"))) known->second = &result;
  }
}

std::optional<thread_scaling> thread_scalings::of(const json& result) const {
  const auto threads = number_of(field(result, "/threads"));
  const auto seconds = seconds_of(result);
  if (!threads || !seconds) return std::nullopt;
  const auto base = fewest_.find(identity_of(result));
  if (base == fewest_.end()) return std::nullopt;
  const auto base_seconds = seconds_of(*base->second);
  const auto base_threads = number_of(field(*base->second, "/threads"));
  if (!base_seconds || !base_threads) return std::nullopt;
  const double speed_up = *base_seconds / *seconds;
  return thread_scaling{speed_up, speed_up * *base_threads / *threads};
}

}  // namespace prumo::bench
