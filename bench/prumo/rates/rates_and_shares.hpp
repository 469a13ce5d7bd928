// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "rates/measured_ceilings.hpp"
#include "statistics/median_interval.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The algorithmic cost of one call, from the worker's `model`; absent if unknown.
struct cost_model {
  std::optional<double> bytes;
  std::optional<double> flops;
  std::optional<double> elements;
  std::string unit;  ///< the unit whose peak applies: `vector`, or `tensor` if the device has one for the type and mode

  /// From the protocol's `model` object (null gives an empty model).
  [[nodiscard]] static cost_model from_json(const nlohmann::json& model);
};

/// Theoretical peaks that apply to a case, flop/s.
struct compute_peaks {
  std::optional<double> max_clock;
  std::optional<double> measured_clock;
};

/// A unit of a device and how it is used.
struct compute_unit {
  std::string unit = "vector";  ///< `vector` or `tensor`
  std::string dtype;            ///< the type of the numbers that it multiplies
  std::string accumulator;      ///< the type of its sums; empty: the one with the highest peak
  std::string inputs;           ///< the type that it rounds its inputs to, `tf32`; empty if it does not round them

  [[nodiscard]] bool is_tensor() const { return unit == "tensor"; }
};

/// The unit whose peak bounds work of `dtype` in a compute mode. `unit` is what the work or its implementation can use.
/// If `peaks` have a tensor unit for the inputs of the mode, perhaps of unknown speed, it is that, and otherwise the
/// vector unit. Fast modes always use the tensor unit, because no vector unit rounds its inputs. prumo's own products
/// and the strict ones of its peers never sum f16, bf16 or f8 in less than f32.
[[nodiscard]] compute_unit find_compute_unit(const nlohmann::json& peaks, std::string_view unit, std::string_view dtype,
                                             std::string_view compute_mode);

/// The peaks of a unit in a device's `peaks`. If `clock_mhz`, the clock during the case, is known, the peak at the
/// measured clock is the peak at the maximum clock, scaled to it.
[[nodiscard]] compute_peaks find_compute_peaks(const nlohmann::json& peaks, const compute_unit& unit,
                                               std::optional<double> clock_mhz = std::nullopt);

/// The ceilings of a case, by the samples of its own group, or else by those of the nearest size.
struct ceilings_of_case {
  measured_ceilings typical;
  measured_ceilings fastest;  ///< by the fastest sample, or ten times the ceiling if there are too few samples
  /// By name, the time that the ceiling allows over the typical one: an interval around 1.
  std::map<std::string, median_interval, std::less<>> intervals;
};

/// All that rates and shares are computed from. `seconds` is the median time of one call.
struct timed_call {
  double seconds = 0;
  cost_model model;
  std::optional<double> counted_flops;  ///< total of the counted column
  nlohmann::json counted;               ///< the counted column by kind (`flops.counted` of a result); may be null
  bool uses_tensor_unit = false;        ///< products bound its flops, not multiply-adds
  compute_peaks peaks;
  measured_ceilings ceilings;
  measured_ceilings fastest_ceilings;  ///< by the fastest sample of each probe; may be empty
  memory_roof roof = memory_roof::best;
  /// What each copies to the device and back in a call with transferred data. The copies alone bound such a call.
  struct copies {
    double h2d_bytes = 0;
    double d2h_bytes = 0;
  };
  std::optional<copies> copied;
  std::map<std::string, median_interval, std::less<>> ceiling_intervals;  ///< see ceilings_of_case::intervals
};

/// Rates, shares and the bound of one measured case. Absent is null in the file.
struct rates_and_shares {
  std::optional<double> gflops;                       ///< 1e9 counted flops per second
  std::optional<double> gbytes;                       ///< 1e9 algorithmic bytes per second
  std::optional<double> gelements;                    ///< 1e9 elements per second
  std::optional<double> percent_peak_max_clock;       ///< of the flop peak at the maximum clock, counted flops
  std::optional<double> percent_peak_measured_clock;  ///< of the flop peak at the clock measured during the run
  std::optional<double> percent_roofline;             ///< time at min(F, I x B) over time measured
  std::optional<std::string> bound;                   ///< `memory`, `compute`, `transfer`, `launch` or `other`
  std::optional<memory_ceiling> memory;               ///< the ceilings that percent_roofline was computed from
  std::optional<double> compute;                      ///< model flops per second that the ceiling of arithmetic allows
  std::string compute_from;  ///< that ceiling: `fma`, `product`, or the rate of a kind, `exp_rate`
  std::optional<double> launch;
  std::optional<double> h2d, d2h;
  std::optional<double> floor_seconds;  ///< the time that the ceilings allow
  std::optional<median_interval> floor_interval;
  std::vector<std::string> warnings;  ///< what cannot be true: shares above 100 %

  /// Writes `rates`, `percent`, `bound`, `roof` and appends to `warnings` of a result.
  void store(nlohmann::json& result) const;
};

/// Computes the figures. The floor of a call is the longest of the times that its ceilings allow: bytes at the
/// bandwidth, flops at the rate of multiply-adds (or of products, on a tensor unit), and counted functions of each kind
/// at the rate of the kind. These do not add up, because they can overlap: a loop reads while it computes, and an
/// exponential consists of multiply-adds. With transferred data, the floor is the time of the copies, and the bound is
/// `transfer` if they take half of the time or more.
///
/// The floor is absent if the ceiling of memory or of flops is missing that the case needs. The time of a launch is not
/// added, because the probe is launched, too. If the floor is below twice the time of a launch, the bound is `launch`,
/// and the share stays the same. If memory seems to be the bound and a counted kind has no measured rate, the bound is
/// `other`. A theoretical peak is exceeded above 100 %, and a measured ceiling above 102 %. If the probe's fastest
/// sample is exceeded, too, the figure is called impossible, otherwise the ceiling is called unsteady.
[[nodiscard]] rates_and_shares compute_rates_and_shares(const timed_call& input);

}  // namespace prumo::bench
