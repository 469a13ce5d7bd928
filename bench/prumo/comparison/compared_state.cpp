// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/compared_state.hpp"

#include "results/result_fields.hpp"
#include "terminal/plural.hpp"
#include "terminal/program_error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// The entry of a state in a result; null where it was not measured.
const json& entry_of(const json& result, compared_state state) {
  return field(result, state == compared_state::burst ? "/states/burst" : "/states/sustained");
}

void scale(json& number, std::optional<double> factor) {
  if (number.is_number()) number = factor ? json(number.get<double>() * *factor) : json();
}

/// How the peak at the clock of the turns stands to that at the clock of the state; absent if one of the clocks is not
/// known. A result whose peak does not follow its clock knows neither.
std::optional<double> peak_factor(const json& result, const json& entry) {
  const auto clock = number_of(field(result, "/clock_mhz"));
  const auto clock_of_state = number_of(field(entry, "/clock_mhz"));
  if (!clock && !clock_of_state) return 1;
  if (!clock || !clock_of_state || !(*clock_of_state > 0)) return std::nullopt;
  return *clock / *clock_of_state;
}

void put_in_place(measurement& row, json entry) {
  json& result = row.result;
  row.runs = {process_run(entry.at("samples").get<std::vector<double>>())};
  row.throttle = entry.at("throttle").get<std::set<std::string>>();
  // Rates and shares are quotients of something constant and the median time.
  const double faster = result.at("time_s").at("median").get<double>() / entry.at("median").get<double>();
  for (json& rate : result.at("rates")) scale(rate, faster);
  json& shares = result.at("percent");
  for (const char* name : {"roofline", "peak_max_clock"}) scale(shares[name], faster);
  const auto peak = peak_factor(result, entry);
  scale(shares["peak_measured_clock"], peak ? std::optional(faster * *peak) : std::nullopt);
  shares.erase("roofline_interval");
  for (const char* name : {"clock_mhz", "temperature_c", "energy_j"}) result[name] = entry[name];
  for (const char* name : {"wall_s", "transfer"}) result[name] = nullptr;  // of the turns
  result["time_s"] = std::move(entry);
}

void leave_out(measurement& row, compared_state state) {
  row.runs.clear();
  row.moments.reset();
  row.result["time_s"] = nullptr;
  row.result["status"] = "skipped";
  row.result["reason"] = fmt::format(
      "not measured in the state {}, as `prumo bench --power-states all` does with every case", to_string(state));
}

}  // namespace

std::string_view to_string(compared_state state) {
  switch (state) {
    case compared_state::turns: return "turns";
    case compared_state::burst: return "burst";
    case compared_state::sustained: return "sustained";
  }
  return "turns";
}

std::string_view describe(compared_state state) {
  switch (state) {
    case compared_state::turns: return "measured in turns with other cases";
    case compared_state::burst: return "measured in short work after idling";
    case compared_state::sustained: return "measured after seconds of work at the case alone";
  }
  return {};
}

void take_state(std::vector<comparison_source>& sources, compared_state state) {
  if (state == compared_state::turns) return;
  bool known = false;
  for (comparison_source& source : sources) {
    std::size_t without = 0;
    std::size_t unsettled = 0;
    std::size_t measured = 0;
    for (measurement& row : source.rows) {
      if (text_of(field(row.result, "/status")) != "ok") continue;
      ++measured;
      const json& entry = entry_of(row.result, state);
      if (!entry.is_object() || row.published || !row.seconds()) {
        ++without;
        leave_out(row, state);
        continue;
      }
      known = true;
      if (field(entry, "/settled") == false || field(entry, "/steady") == false) ++unsettled;
      put_in_place(row, entry);
    }
    if (without > 0) {
      source.notes.push_back(
          fmt::format("{}: {} of {} left out, not measured in the state {}; `prumo bench "
                      "--power-states all` measures every case in it",
                      source.name, without, plural(measured, "result", "results"), to_string(state)));
    }
    if (unsettled > 0) {
      source.notes.push_back(fmt::format("{}: {} not settled in the state {} when measured", source.name,
                                         plural(unsettled, "result had", "results had"), to_string(state)));
    }
  }
  if (known) return;
  throw program_error(exit_code::wrong_usage,
                      fmt::format("--state {}: no result of these files was measured in this state. `prumo bench "
                                  "--power-states all` measures every case in it; without --state, the times in turns "
                                  "are compared",
                                  to_string(state)));
}

}  // namespace prumo::bench
