// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/process_runs.hpp"

#include "results/result_fields.hpp"
#include "statistics/statistics.hpp"
#include "statistics/time_interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace prumo::bench {
namespace {

using nlohmann::json;

bool is_ok(const json& result) { return result.at("status") == "ok"; }

/// Adds one run to a mean of `runs` runs. Runs without a number are skipped.
void average(json& known, const json& later, double runs) {
  if (!later.is_number()) return;
  known = known.is_number() ? json((known.get<double>() * runs + later.get<double>()) / (runs + 1)) : later;
}

void warn_of_failed_run(json& result, std::size_t run, const json& failed) {
  const json& reason = failed.at("reason");
  result["warnings"].push_back(
      fmt::format("process run {} gave no time: {}", run + 1, reason.is_string() ? reason.get<std::string>() : ""));
}

/// Rates and shares are quotients of something constant and the median.
void scale(json& numbers, double factor) {
  for (json& it : numbers) {
    if (it.is_number()) it = it.get<double>() * factor;
  }
}

/// A list for each of this many process runs, empty for those whose rounds are not known.
json rounds_by_run(const json& time, std::size_t runs) {
  json rounds = time.value("rounds", json::array());
  while (rounds.size() < runs) rounds.push_back(json::array());
  return rounds;
}

void append_times(json& result, const json& later, std::vector<std::size_t> runs) {
  json& time = result["time_s"];
  if (const auto last = later.at("time_s").find("rounds"); last != later.at("time_s").end()) {
    json rounds = rounds_by_run(time, runs.size());
    rounds.insert(rounds.end(), last->begin(), last->end());
    time["rounds"] = std::move(rounds);
  }
  const double earlier_median = time.at("median").get<double>();
  auto samples = time.at("samples").get<std::vector<double>>();
  const auto more = later.at("time_s").at("samples").get<std::vector<double>>();
  samples.insert(samples.end(), more.begin(), more.end());
  runs.push_back(more.size());
  const sample_summary summary = summarize(samples);
  time["median"] = summary.median;
  time["p25"] = summary.p25;
  time["p75"] = summary.p75;
  time["samples"] = std::move(samples);
  time["runs"] = std::move(runs);
  time["interval"] = interval_of_runs(time);
  if (time.at("stop") != later.at("time_s").at("stop")) time["stop"] = "budget";
  scale(result["rates"], earlier_median / summary.median);
  scale(result["percent"], earlier_median / summary.median);
  result["percent"]["roofline_interval"] = share_interval(result);
}

void average_figures(json& result, const json& later, double runs) {
  for (const char* name : {"wall_s", "clock_mhz", "energy_j"}) average(result[name], later.at(name), runs);
  if (result.at("transfer").is_object() && later.at("transfer").is_object()) {
    for (const char* name : {"h2d_s", "d2h_s"}) average(result["transfer"][name], later.at("transfer").at(name), runs);
  }
  const json temperature = later.value("temperature_c", json());
  if (temperature.is_number() && !(result.value("temperature_c", json()) >= temperature)) {
    result["temperature_c"] = temperature;
  }
  for (const json& warning : later.at("warnings")) {
    json& warnings = result["warnings"];
    if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
  }
}

}  // namespace

std::vector<std::size_t> samples_by_run(const json& result) {
  const auto time = result.find("time_s");
  if (time == result.end() || !time->is_object()) return {};
  const auto runs = time->find("runs");
  if (runs == time->end()) return {time->at("samples").size()};
  return runs->get<std::vector<std::size_t>>();
}

json join_process_runs(const json* known, json later, std::size_t run) {
  if (known == nullptr || !is_ok(*known)) {
    if (is_ok(later)) {
      std::vector<std::size_t> runs(run, 0);
      runs.push_back(later.at("time_s").at("samples").size());
      if (json& time = later["time_s"]; run > 0 && time.contains("rounds")) {
        json rounds = rounds_by_run(json::object(), run);
        rounds.insert(rounds.end(), time["rounds"].begin(), time["rounds"].end());
        time["rounds"] = std::move(rounds);
      }
      later["time_s"]["runs"] = std::move(runs);
      later["time_s"]["interval"] = interval_of_runs(later["time_s"]);
      later["percent"]["roofline_interval"] = share_interval(later);
      if (known != nullptr) warn_of_failed_run(later, run - std::min<std::size_t>(run, 1), *known);
    }
    return later;
  }
  json result = *known;
  std::vector<std::size_t> runs = samples_by_run(result);
  const auto with_samples = static_cast<double>(std::ranges::count_if(runs, [](std::size_t it) { return it > 0; }));
  runs.resize(std::max(run, runs.size()), 0);
  if (!is_ok(later)) {
    runs.push_back(0);
    result["time_s"]["runs"] = std::move(runs);
    warn_of_failed_run(result, run, later);
    return result;
  }
  append_times(result, later, std::move(runs));
  average_figures(result, later, with_samples);
  return result;
}

bool is_settled_for_all_runs(const json& result) {
  return !is_ok(result) && (result.at("status") != "failed" || result.at("verified") == false);
}

}  // namespace prumo::bench
