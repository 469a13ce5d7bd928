// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rates/rates_and_shares.hpp"

#include "results/result_fields.hpp"
#include "terminal/units.hpp"

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

std::optional<double> higher(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

/// Time that `amount` takes at `rate`: zero where there is nothing to do, absent where either is unknown.
std::optional<double> time_at(std::optional<double> amount, std::optional<double> rate) {
  if (amount && *amount == 0) return 0.0;
  if (!amount || !rate || !(*rate > 0)) return std::nullopt;
  return *amount / *rate;
}

/// Seconds that the ceilings allow for a call.
struct roof_parts {
  double compute = 0;
  double memory = 0;
  [[nodiscard]] double seconds() const { return std::max(compute, memory); }
  [[nodiscard]] bool is_memory() const { return compute <= memory; }
};

/// Absent where a ceiling is missing that the case needs.
std::optional<roof_parts> roof_time(const cost_model& model, const measured_ceilings& ceilings, memory_roof roof) {
  const auto bandwidth = find_memory_ceiling(ceilings, roof);
  const auto compute = time_at(model.flops, ceilings.fma);
  const auto memory = time_at(model.bytes, bandwidth ? std::optional(bandwidth->value) : std::nullopt);
  if (!compute || !memory) return std::nullopt;
  return roof_parts{*compute, *memory};
}

std::optional<double> giga_per_second(std::optional<double> amount, double seconds) {
  if (!amount) return std::nullopt;
  return *amount / seconds / 1e9;
}

/// Whether an entry of a `peaks` list is of that unit.
bool is_of(const json& peak, const compute_unit& unit) {
  return peak.is_object() && text_of(field(peak, "/unit")) == unit.unit &&
         text_of(field(peak, "/dtype")) == unit.dtype && text_of(field(peak, "/inputs")) == unit.inputs &&
         (unit.accumulator.empty() || text_of(field(peak, "/accumulator")) == unit.accumulator);
}

}  // namespace

cost_model cost_model::from_json(const json& model) {
  if (!model.is_object()) return {};
  return {number_of(field(model, "/bytes")), number_of(field(model, "/flops")), number_of(field(model, "/elements")),
          text_of(field(model, "/unit"))};
}

compute_unit find_compute_unit(const json& peaks, std::string_view unit, std::string_view dtype,
                               std::string_view compute_mode) {
  compute_unit vector;
  vector.dtype = dtype;
  if (unit != "tensor") return vector;
  compute_unit tensor = vector;
  tensor.unit = "tensor";
  if (compute_mode == "fast_tf32") {
    tensor.inputs = "tf32";
  } else if (compute_mode == "fast_bf16" || compute_mode == "fast_f16") {
    tensor.dtype = compute_mode.substr(std::string_view("fast_").size());
  }
  const auto is_listed = [&](const compute_unit& wanted) {
    return std::ranges::any_of(peaks, [&](const json& peak) { return is_of(peak, wanted); });
  };
  if (!is_listed(tensor)) return compute_mode == "strict" ? vector : tensor;
  if (tensor.dtype == "f16" || tensor.dtype == "bf16" || tensor.dtype == "f8_e4m3") {
    compute_unit exact = tensor;
    exact.accumulator = "f32";
    if (is_listed(exact)) return exact;
  }
  return tensor;
}

compute_peaks find_compute_peaks(const json& peaks, const compute_unit& unit, std::optional<double> clock_mhz) {
  compute_peaks found;
  std::optional<double> at_clock;
  for (const json& peak : peaks) {
    if (!is_of(peak, unit)) continue;
    const auto value = number_of(field(peak, "/value"));
    if (text_of(field(peak, "/clock")) == "measured") found.measured_clock = higher(found.measured_clock, value);
    if (text_of(field(peak, "/clock")) != "max") continue;
    found.max_clock = higher(found.max_clock, value);
    const auto max_mhz = number_of(field(peak, "/clock_mhz"));
    if (value && clock_mhz && *clock_mhz > 0 && max_mhz && *max_mhz > 0) {
      at_clock = higher(at_clock, *value * *clock_mhz / *max_mhz);
    }
  }
  if (at_clock) found.measured_clock = at_clock;
  return found;
}

measured_ceilings find_ceilings(const json& ceilings, std::string_view dtype, std::string_view cache,
                                std::string_view dispatch, std::uint64_t bytes_per_array) {
  const auto nearest = [&](std::string_view probe) {
    std::optional<double> found;
    double distance = std::numeric_limits<double>::infinity();
    for (const json& ceiling : ceilings) {
      if (!ceiling.is_object() || text_of(field(ceiling, "/probe")) != probe) continue;
      if (probe != "launch" && text_of(field(ceiling, "/dtype")) != dtype) continue;
      if (probe == "launch" && (text_of(field(ceiling, "/dispatch")) == "single") != (dispatch == "single")) continue;
      const auto value = number_of(field(ceiling, "/value"));
      // Arithmetic and launches know no cache state: they serve cold and hot cases.
      if (!value || (probe != "fma" && probe != "launch" && text_of(field(ceiling, "/cache")) != cache)) continue;
      const double size = number_of(field(ceiling, "/bytes_per_array")).value_or(0);
      const double now = size > 0 && bytes_per_array > 0
                             ? std::abs(std::log(size / static_cast<double>(bytes_per_array)))
                             : std::numeric_limits<double>::max();
      if (now >= distance) continue;
      distance = now;
      found = value;
    }
    return found;
  };
  measured_ceilings found;
  found.copy = nearest("copy");
  found.triad = nearest("triad");
  found.read = nearest("read");
  found.write = nearest("write");
  found.fma = nearest("fma");
  found.launch = nearest("launch");
  return found;
}

memory_roof roof_of(std::optional<double> streams, int arrays) {
  if (streams && *streams > 0) {
    if (*streams < 1.5) return arrays == 1 ? memory_roof::write : memory_roof::read;
    return *streams < 2.5 ? memory_roof::copy : memory_roof::triad;
  }
  if (arrays == 1) return memory_roof::write;
  if (arrays == 2) return memory_roof::copy;
  return arrays >= 3 ? memory_roof::triad : memory_roof::best;
}

std::optional<memory_ceiling> find_memory_ceiling(const measured_ceilings& ceilings, memory_roof roof) {
  std::optional<memory_ceiling> found;
  const auto consider = [&](const std::optional<double>& value, std::string_view probe, bool same_traffic) {
    if (value && (!found || *value > found->value)) found = memory_ceiling{*value, probe, same_traffic};
  };
  switch (roof) {
    case memory_roof::read: consider(ceilings.read, "read", true); break;
    case memory_roof::copy: consider(ceilings.copy, "copy", true); break;
    case memory_roof::triad: consider(ceilings.triad, "triad", true); break;
    case memory_roof::write: consider(ceilings.write, "write", true); break;
    case memory_roof::best: break;
  }
  if (found) return found;
  consider(ceilings.copy, "copy", false);
  consider(ceilings.triad, "triad", false);
  if (!found || roof != memory_roof::write) consider(ceilings.read, "read", false);
  return found;
}

bool has_unmeasured_kinds(const json& counted) {
  static constexpr const char* kinds[] = {"div", "sqrt", "exp", "log", "tanh", "erf", "sin", "cos", "pow"};
  return counted.is_object() && std::ranges::any_of(kinds, [&](const char* kind) {
           const auto found = counted.find(kind);
           return found != counted.end() && number_of(*found).value_or(0) > 0;
         });
}

rates_and_shares compute_rates_and_shares(const timed_call& input) {
  rates_and_shares figures;
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

  figures.memory = find_memory_ceiling(input.ceilings, input.roof);
  figures.compute = input.ceilings.fma;
  figures.launch = input.ceilings.launch;
  const auto roof = roof_time(input.model, input.ceilings, input.roof);
  if (roof && roof->seconds() > 0) {
    figures.percent_roofline = 100 * roof->seconds() / input.seconds;
    figures.bound = !roof->is_memory() ? "compute" : input.has_unmeasured_kinds ? "other" : "memory";
  }
  // The probe of a short call is launched, too: below twice the floor the launch takes longer than the work.
  if (roof && input.ceilings.launch && 2 * *input.ceilings.launch > roof->seconds()) figures.bound = "launch";

  const auto warn = [&](std::optional<double> percent, double limit, std::string_view what, std::string_view advice) {
    if (!percent || *percent <= limit) return;
    figures.warnings.push_back(fmt::format("IMPOSSIBLE: {} of {}; {}", format_percent(*percent), what, advice));
  };
  warn(figures.percent_peak_max_clock, theoretical_limit, "the peak at the maximum clock",
       "the peak (units, flop per clock or clock) or the counted flops are wrong");
  warn(figures.percent_peak_measured_clock, theoretical_limit, "the peak at the measured clock",
       "the clock rose during the run, or the peak or the counted flops are wrong");
  const bool stands_in = roof && roof->is_memory() && figures.memory && !figures.memory->same_traffic;
  // So short a call's probes are little but launches, which are no ceiling of memory or arithmetic.
  constexpr double launches = 3;
  const bool mostly_launched = input.ceilings.launch && input.seconds < launches * *input.ceilings.launch;
  if (!stands_in && !mostly_launched) {
    const auto fastest = roof_time(input.model, input.fastest_ceilings, input.roof);
    const bool unsteady = fastest && fastest->seconds() * 100 <= measured_limit * input.seconds;
    if (unsteady && figures.percent_roofline && *figures.percent_roofline > measured_limit) {
      figures.warnings.push_back(
          fmt::format("UNSTEADY: {} of the measured ceiling, but the samples of the ceiling vary as much, or are few; "
                      "measure longer, or on a quiet machine",
                      format_percent(*figures.percent_roofline)));
    } else {
      warn(figures.percent_roofline, measured_limit, "the measured ceiling",
           "data stayed in a cache, the ceiling was disturbed, or the work was not done");
    }
  }
  return figures;
}

void rates_and_shares::store(json& result) const {
  result["rates"] = {{"gflops", or_null(gflops)}, {"gbytes", or_null(gbytes)}, {"gelements", or_null(gelements)}};
  result["percent"] = {{"peak_max_clock", or_null(percent_peak_max_clock)},
                       {"peak_measured_clock", or_null(percent_peak_measured_clock)},
                       {"roofline", or_null(percent_roofline)}};
  result["bound"] = bound ? json(*bound) : json(nullptr);
  if (memory || compute || launch) {
    result["roof"] = {{"memory", memory ? json(memory->value) : json(nullptr)},
                      {"memory_probe", memory ? json(memory->probe) : json(nullptr)},
                      {"compute", or_null(compute)},
                      {"launch_s", or_null(launch)}};
  }
  if (!result.contains("warnings")) result["warnings"] = json::array();
  for (const std::string& warning : warnings) result["warnings"].push_back(warning);
}

}  // namespace prumo::bench
