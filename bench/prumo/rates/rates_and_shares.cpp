// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rates/rates_and_shares.hpp"

#include "results/result_fields.hpp"
#include "statistics/time_interval.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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

/// Seconds that a ceiling allows.
struct floor_part {
  std::string ceiling;
  double seconds = 0;
};

/// The least time that the ceilings allow for a call: the sum of its parts, which follow each other.
struct time_floor {
  std::vector<floor_part> parts;
  std::string bound;

  [[nodiscard]] double seconds() const {
    return std::accumulate(parts.begin(), parts.end(), 0.0,
                           [](double sum, const floor_part& part) { return sum + part.seconds; });
  }
};

std::optional<double> count_of(const json& counted, std::string_view kind) {
  if (!counted.is_object()) return std::nullopt;
  const auto found = counted.find(kind);
  return found == counted.end() ? std::nullopt : number_of(*found);
}

/// The ceiling of all flops together.
std::string_view flop_ceiling(const timed_call& input) { return input.uses_tensor_unit ? "product" : "fma"; }

/// The longest of the times that the flops together and the functions of each kind take. Absent if the ceiling of flops
/// is missing. A product that is faster than the large ones is the fastest that is known, and so its own ceiling; the
/// peak of the unit tells whether it is possible.
std::optional<floor_part> arithmetic_floor(const timed_call& input, measured_ceilings ceilings) {
  if (input.uses_tensor_unit && ceilings.product) {
    ceilings.product = std::max(*ceilings.product, input.model.flops.value_or(0) / input.seconds);
  }
  const auto flops = time_at(input.model.flops, ceilings.by_name(flop_ceiling(input)));
  if (!flops) return std::nullopt;
  floor_part longest{std::string(flop_ceiling(input)), *flops};
  for (const std::string_view kind : kinds_with_rates()) {
    const std::string rate = rate_of_kind(kind);
    const auto seconds = time_at(count_of(input.counted, kind), ceilings.by_name(rate));
    if (seconds && *seconds > longest.seconds) longest = {rate, *seconds};
  }
  return longest;
}

/// Whether something was counted that has no measured rate. A tanh counts as one flop and takes as long as tens of
/// them, so the rate of multiply-adds says nothing about it.
bool has_unmeasured_kinds(const json& counted, measured_ceilings ceilings) {
  constexpr std::string_view never_measured[] = {"sin", "cos", "pow"};
  const auto occurs = [&](std::string_view kind) { return count_of(counted, kind).value_or(0) > 0; };
  return std::ranges::any_of(never_measured, occurs) ||
         std::ranges::any_of(kinds_with_rates(), [&](std::string_view kind) {
           return occurs(kind) && !ceilings.by_name(rate_of_kind(kind));
         });
}

/// Absent where a ceiling is missing that the case needs.
std::optional<time_floor> floor_on_device(const timed_call& input, const measured_ceilings& ceilings) {
  const auto bandwidth = find_memory_ceiling(ceilings, input.roof);
  const auto arithmetic = arithmetic_floor(input, ceilings);
  const auto memory = time_at(input.model.bytes, bandwidth ? std::optional(bandwidth->value) : std::nullopt);
  if (!arithmetic || !memory) return std::nullopt;
  if (arithmetic->seconds > *memory) return time_floor{{*arithmetic}, "compute"};
  return time_floor{{{std::string(bandwidth ? bandwidth->probe : ""), *memory}},
                    has_unmeasured_kinds(input.counted, ceilings) ? "other" : "memory"};
}

/// The copies of a call follow each other, because it needs its inputs before it has results.
std::optional<time_floor> floor_of_copies(const timed_call& input, const measured_ceilings& ceilings) {
  const auto in = time_at(input.copied->h2d_bytes, ceilings.h2d);
  const auto out = time_at(input.copied->d2h_bytes, ceilings.d2h);
  if (!in || !out) return std::nullopt;
  const bool takes_most = 2 * (*in + *out) >= input.seconds;
  return time_floor{{{"h2d", *in}, {"d2h", *out}}, takes_most ? "transfer" : "other"};
}

std::optional<time_floor> floor_of(const timed_call& input, const measured_ceilings& ceilings) {
  return input.copied ? floor_of_copies(input, ceilings) : floor_on_device(input, ceilings);
}

/// Between what the intervals of the ceilings allow; absent if one of them is not known.
std::optional<median_interval> interval_of(const time_floor& floor, const timed_call& input) {
  median_interval sum;
  for (const floor_part& part : floor.parts) {
    if (part.seconds == 0) continue;
    const auto found = input.ceiling_intervals.find(part.ceiling);
    if (found == input.ceiling_intervals.end()) return std::nullopt;
    sum.low += part.seconds * found->second.low;
    sum.high += part.seconds * found->second.high;
  }
  return sum;
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

  if (!input.copied) {
    figures.memory = find_memory_ceiling(input.ceilings, input.roof);
    const auto arithmetic = arithmetic_floor(input, input.ceilings);
    measured_ceilings ceilings = input.ceilings;
    figures.compute = ceilings.by_name(flop_ceiling(input));
    figures.compute_from = flop_ceiling(input);
    if (arithmetic && arithmetic->seconds > 0 && input.model.flops.value_or(0) > 0) {
      figures.compute = *input.model.flops / arithmetic->seconds;
      figures.compute_from = arithmetic->ceiling;
    }
    figures.launch = input.ceilings.launch;
  } else {
    figures.h2d = input.ceilings.h2d;
    figures.d2h = input.ceilings.d2h;
  }
  const auto floor = floor_of(input, input.ceilings);
  if (floor && floor->seconds() > 0) {
    figures.floor_seconds = floor->seconds();
    figures.floor_interval = interval_of(*floor, input);
    figures.percent_roofline = 100 * floor->seconds() / input.seconds;
    figures.bound = floor->bound;
  }
  // The probe of a short call is launched, too: below twice the floor the launch takes longer than the work. A floor
  // above the time itself was disturbed.
  const auto& launch = figures.launch;
  if (floor && launch && 2 * *launch > std::min(floor->seconds(), input.seconds)) figures.bound = "launch";

  const auto warn = [&](std::optional<double> percent, double limit, std::string_view what, std::string_view advice) {
    if (!percent || *percent <= limit) return;
    figures.warnings.push_back(fmt::format("IMPOSSIBLE: {} of {}; {}", format_percent(*percent), what, advice));
  };
  warn(figures.percent_peak_max_clock, theoretical_limit, "the peak at the maximum clock",
       "the peak (units, flop per clock or clock) or the counted flops are wrong");
  warn(figures.percent_peak_measured_clock, theoretical_limit, "the peak at the measured clock",
       "the clock rose during the run, or the peak or the counted flops are wrong");
  const bool is_memory = floor && !input.copied && floor->bound != "compute";
  const bool stands_in = is_memory && figures.memory && !figures.memory->same_traffic;
  // So short a call's probes are little but launches, which are no ceiling of memory or arithmetic. But no launch takes
  // half as long again as another.
  constexpr double launches = 3, launched_limit = 150;
  const bool mostly_launched = launch && input.seconds < launches * *launch;
  const double limit = mostly_launched ? launched_limit : measured_limit;
  if (!stands_in && figures.percent_roofline && *figures.percent_roofline > limit) {
    const auto fastest = floor_of(input, input.fastest_ceilings);
    if (mostly_launched || (fastest && fastest->seconds() * 100 <= measured_limit * input.seconds)) {
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
  json roof = {{"memory", memory ? json(memory->value) : json(nullptr)},
               {"memory_probe", memory ? json(memory->probe) : json(nullptr)},
               {"compute", or_null(compute)},
               {"compute_from", compute ? json(compute_from) : json(nullptr)},
               {"launch_s", or_null(launch)},
               {"floor_s", or_null(floor_seconds)},
               {"floor_interval", floor_seconds ? interval_entry(floor_interval, *floor_seconds) : json(nullptr)}};
  if (h2d || d2h) {
    roof["h2d"] = or_null(h2d);
    roof["d2h"] = or_null(d2h);
  }
  if (memory || compute || launch || h2d || d2h) result["roof"] = std::move(roof);
  result["percent"]["roofline_interval"] = share_interval(result);
  if (!result.contains("warnings")) result["warnings"] = json::array();
  for (const std::string& warning : warnings) result["warnings"].push_back(warning);
}

}  // namespace prumo::bench
