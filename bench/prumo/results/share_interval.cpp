// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/share_interval.hpp"

#include "results/result_fields.hpp"
#include "statistics/median_interval.hpp"

#include <cmath>
#include <optional>

namespace prumo::bench {

using nlohmann::json;

json share_interval(const json& result) {
  const auto share = number_of(field(result, "/percent/roofline"));
  const auto floor = number_of(field(result, "/roof/floor_s"));
  const auto floor_low = number_of(field(result, "/roof/floor_interval/low"));
  const auto floor_high = number_of(field(result, "/roof/floor_interval/high"));
  const auto time = number_of(field(result, "/time_s/median"));
  const auto time_low = number_of(field(result, "/time_s/interval/low"));
  const auto time_high = number_of(field(result, "/time_s/interval/high"));
  if (!share || !floor || !floor_low || !floor_high || !time || !time_low || !time_high) return nullptr;
  if (!(*floor_low > 0) || !(*time_low > 0)) return nullptr;
  // A share is large if the ceiling allows a long time and the case took a short one.
  const double below = std::hypot(std::log(*floor / *floor_low), std::log(*time_high / *time));
  const double above = std::hypot(std::log(*floor_high / *floor), std::log(*time / *time_low));
  return {{"low", *share * std::exp(-below)}, {"high", *share * std::exp(above)}, {"confidence", interval_confidence}};
}

}  // namespace prumo::bench
