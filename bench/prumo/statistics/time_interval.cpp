// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/time_interval.hpp"

#include "statistics/distributions.hpp"
#include "statistics/statistics.hpp"
#include "statistics/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace prumo::bench {

using nlohmann::json;

json interval_entry(const std::optional<median_interval>& interval, double median) {
  if (!interval) return nullptr;
  return {{"low", std::min(interval->low, median)},
          {"high", std::max(interval->high, median)},
          {"confidence", interval_confidence}};
}

json interval_of_runs(const json& time) {
  const auto samples = time.at("samples").get<std::vector<double>>();
  std::vector<double> logarithms;
  std::size_t first = 0;
  for (const auto count : time.at("runs").get<std::vector<std::size_t>>()) {
    if (count > samples.size() - first) break;
    if (count > 0) logarithms.push_back(std::log(summarize(std::span(samples).subspan(first, count)).median));
    first += count;
  }
  if (logarithms.size() < fewest_runs) return nullptr;
  const auto runs = static_cast<double>(logarithms.size());
  double mean = 0;
  for (const double it : logarithms) mean += it / runs;
  double variance = 0;
  for (const double it : logarithms) variance += (it - mean) * (it - mean) / (runs - 1);
  const double reach = student_quantile(interval_confidence, runs - 1) * std::sqrt(variance / runs);
  return interval_entry(median_interval{std::exp(mean - reach), std::exp(mean + reach)},
                        time.at("median").get<double>());
}

}  // namespace prumo::bench
