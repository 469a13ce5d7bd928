// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "derive.hpp"

#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

constexpr double theoretical_limit = 100;  // percent that nothing can exceed
constexpr double measured_limit = 102;     // a measured ceiling has a spread of its own

std::optional<double> number(const json& object, const char* name) {
  const auto field = object.find(name);
  if (field == object.end() || !field->is_number()) return std::nullopt;
  const double value = field->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string text(const json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::optional<double> higher(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

std::optional<double> bandwidth(const measured_ceilings& ceilings, memory_roof roof) {
  std::optional<double> matching;
  switch (roof) {
    case memory_roof::read: matching = ceilings.read; break;
    case memory_roof::copy: matching = ceilings.copy; break;
    case memory_roof::triad: matching = ceilings.triad; break;
    case memory_roof::best: break;
  }
  return matching ? matching : higher(higher(ceilings.copy, ceilings.triad), ceilings.read);
}

/// Time that `amount` takes at `rate`: zero where there is nothing to do, absent where either is unknown.
std::optional<double> time_at(std::optional<double> amount, std::optional<double> rate) {
  if (amount && *amount == 0) return 0.0;
  if (!amount || !rate || !(*rate > 0)) return std::nullopt;
  return *amount / *rate;
}

std::optional<double> giga_per_second(std::optional<double> amount, double seconds) {
  if (!amount) return std::nullopt;
  return *amount / seconds / 1e9;
}

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

}  // namespace

cost_model cost_model::from_json(const json& model) {
  if (!model.is_object()) return {};
  return {number(model, "bytes"), number(model, "flops"), number(model, "elements"), text(model, "unit")};
}

compute_peaks find_compute_peaks(const json& peaks, std::string_view unit, std::string_view dtype,
                                 std::string_view accumulator) {
  compute_peaks found;
  for (const json& peak : peaks) {
    if (!peak.is_object() || text(peak, "unit") != unit || text(peak, "dtype") != dtype) continue;
    if (!accumulator.empty() && text(peak, "accumulator") != accumulator) continue;
    const auto value = number(peak, "value");
    if (text(peak, "clock") == "max") found.max_clock = higher(found.max_clock, value);
    if (text(peak, "clock") == "measured") found.measured_clock = higher(found.measured_clock, value);
  }
  return found;
}

measured_ceilings find_ceilings(const json& ceilings, std::string_view dtype, std::string_view cache,
                                std::uint64_t bytes_per_array) {
  const auto nearest = [&](std::string_view probe) {
    std::optional<double> found;
    double distance = std::numeric_limits<double>::infinity();
    for (const json& ceiling : ceilings) {
      if (!ceiling.is_object() || text(ceiling, "probe") != probe || text(ceiling, "dtype") != dtype) continue;
      const auto value = number(ceiling, "value");
      // Arithmetic knows no cache state: the fma probe serves cold and hot cases.
      if (!value || (probe != "fma" && text(ceiling, "cache") != cache)) continue;
      const double size = number(ceiling, "bytes_per_array").value_or(0);
      const double now = size > 0 && bytes_per_array > 0
                             ? std::abs(std::log(size / static_cast<double>(bytes_per_array)))
                             : std::numeric_limits<double>::max();
      if (now >= distance) continue;
      distance = now;
      found = value;
    }
    return found;
  };
  return {nearest("copy"), nearest("triad"), nearest("read"), nearest("fma")};
}

memory_roof roof_for_arrays(int arrays) {
  if (arrays == 1) return memory_roof::read;
  if (arrays == 2) return memory_roof::copy;
  return arrays >= 3 ? memory_roof::triad : memory_roof::best;
}

derived_figures derive(const derive_input& input) {
  derived_figures figures;
  if (!(input.seconds > 0) || !std::isfinite(input.seconds)) return figures;

  figures.gflops = giga_per_second(input.counted_flops, input.seconds);
  figures.gbytes = giga_per_second(input.model.bytes, input.seconds);
  figures.gelements = giga_per_second(input.model.elements, input.seconds);

  const auto percent_of = [&](std::optional<double> peak) -> std::optional<double> {
    if (!input.counted_flops || !peak || !(*peak > 0)) return std::nullopt;
    return 100 * *input.counted_flops / input.seconds / *peak;
  };
  figures.percent_peak_max_clock = percent_of(input.peaks.max_clock);
  figures.percent_peak_measured_clock = percent_of(input.peaks.measured_clock);

  const auto compute_seconds = time_at(input.model.flops, input.ceilings.fma);
  const auto memory_seconds = time_at(input.model.bytes, bandwidth(input.ceilings, input.roof));
  if (compute_seconds && memory_seconds) {
    const double roof_seconds = std::max(*compute_seconds, *memory_seconds);
    if (roof_seconds > 0) {
      figures.percent_roofline = 100 * roof_seconds / input.seconds;
      figures.bound = *compute_seconds > *memory_seconds ? "compute" : "memory";
    }
    // What an empty kernel costs no case can undercut, so that the roof above says nothing about it.
    if (input.launch_seconds && *input.launch_seconds > roof_seconds) figures.bound = "launch";
  }

  const auto warn = [&](std::optional<double> percent, double limit, std::string_view what, std::string_view advice) {
    if (!percent || *percent <= limit) return;
    figures.warnings.push_back(fmt::format("IMPOSSIBLE: {} of {}; {}", format_percent(*percent), what, advice));
  };
  warn(figures.percent_peak_max_clock, theoretical_limit, "the peak at the maximum clock",
       "the peak (units, flop per clock or clock) or the counted flops are wrong");
  warn(figures.percent_peak_measured_clock, theoretical_limit, "the peak at the measured clock",
       "the clock rose during the run, or the peak or the counted flops are wrong");
  warn(figures.percent_roofline, measured_limit, "the measured ceiling",
       "data stayed in a cache, the ceiling was disturbed, or the work was not done");
  return figures;
}

void derived_figures::store(json& result) const {
  result["rates"] = {{"gflops", or_null(gflops)}, {"gbytes", or_null(gbytes)}, {"gelements", or_null(gelements)}};
  result["percent"] = {{"peak_max_clock", or_null(percent_peak_max_clock)},
                       {"peak_measured_clock", or_null(percent_peak_measured_clock)},
                       {"roofline", or_null(percent_roofline)}};
  result["bound"] = bound ? json(*bound) : json(nullptr);
  if (!result.contains("warnings")) result["warnings"] = json::array();
  for (const std::string& warning : warnings) result["warnings"].push_back(warning);
}

}  // namespace prumo::bench
