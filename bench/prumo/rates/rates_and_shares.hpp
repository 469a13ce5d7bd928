// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
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

/// Ceilings measured by the probes at the size and in the cache state of the case: bytes/s (algorithmic),
/// flop/s; seconds for `launch`.
struct measured_ceilings {
  std::optional<double> copy;
  std::optional<double> triad;
  std::optional<double> read;
  std::optional<double> write;
  std::optional<double> fma;
  std::optional<double> launch;  ///< the time of a kernel that does next to nothing
};

/// Picks them from the `ceilings` list of a device: entries `{probe, dtype, bytes_per_array, cache, unit,
/// value}` of this dtype and cache state. The entry has the same size, or else the nearest one by ratio. `launch` is
/// the same for all types and has an entry for each dispatch. `fma` is the same for all sizes.
[[nodiscard]] measured_ceilings find_ceilings(const nlohmann::json& ceilings, std::string_view dtype,
                                              std::string_view cache, std::string_view dispatch,
                                              std::uint64_t bytes_per_array);

/// Which measured bandwidth is the memory roof of a case.
enum class memory_roof {
  read,   ///< reductions: one array read
  write,  ///< one array written and none read
  copy,   ///< one array in, one out
  triad,  ///< two arrays or more in, one out
  best    ///< the highest known
};

/// The roof of a case. `streams` are the bytes that it moves over the bytes of its largest array, and `arrays` is the
/// number of its arrays; both may be unknown. About one stream is `write` if no other array is read, and otherwise
/// `read`. About two streams are `copy`, and more are `triad`.
[[nodiscard]] memory_roof roof_of(std::optional<double> streams, int arrays);

/// A measured bandwidth and the probe that it comes from.
struct memory_ceiling {
  double value = 0;
  std::string_view probe;
  bool same_traffic = true;  ///< false: replaces a probe that was not measured, and may be exceeded
};

/// The ceiling for a roof. If `write` has no probe of its own, the better of `copy` and `triad` is used, because hardly
/// any memory writes faster than it reads; but the traffic is not the same. Any other roof without its probe uses the
/// best known one.
[[nodiscard]] std::optional<memory_ceiling> find_memory_ceiling(const measured_ceilings& ceilings, memory_roof roof);

/// All that rates and shares are computed from. `seconds` is the median time of one call.
struct timed_call {
  double seconds = 0;
  cost_model model;
  std::optional<double> counted_flops;  ///< total of the counted column
  bool has_unmeasured_kinds = false;  ///< of what it counts, something has no measured rate; see has_unmeasured_kinds()
  compute_peaks peaks;
  measured_ceilings ceilings;
  measured_ceilings fastest_ceilings;  ///< by the fastest sample of each probe; may be empty
  memory_roof roof = memory_roof::best;
};

/// Rates, shares and the bound of one measured case. Absent is null in the file.
struct rates_and_shares {
  std::optional<double> gflops;                       ///< 1e9 counted flops per second
  std::optional<double> gbytes;                       ///< 1e9 algorithmic bytes per second
  std::optional<double> gelements;                    ///< 1e9 elements per second
  std::optional<double> percent_peak_max_clock;       ///< of the flop peak at the maximum clock, counted flops
  std::optional<double> percent_peak_measured_clock;  ///< of the flop peak at the clock measured during the run
  std::optional<double> percent_roofline;             ///< time at min(F, I x B) over time measured
  std::optional<std::string> bound;                   ///< `memory`, `compute`, `launch` or `other`
  std::optional<memory_ceiling> memory;               ///< the ceilings that percent_roofline was computed from
  std::optional<double> compute;
  std::optional<double> launch;
  std::vector<std::string> warnings;  ///< what cannot be true: shares above 100 %

  /// Writes `rates`, `percent`, `bound`, `roof` and appends to `warnings` of a result.
  void store(nlohmann::json& result) const;
};

/// Whether counted flops (`flops.counted`) have divisions, square roots or special functions. A tanh counts as one flop
/// and takes as long as tens of them, so the rate of multiply-adds says nothing about it.
[[nodiscard]] bool has_unmeasured_kinds(const nlohmann::json& counted);

/// Computes the figures. The roofline's time is the longer of model.flops / fma and model.bytes / bandwidth. It is
/// absent if a part that the case needs is missing. The time of a launch is not added, because the probe is launched,
/// too. If the roofline's time is below twice the time of a launch, the bound is `launch`, and the share stays the
/// same. If memory seems to be the bound and a counted kind has no measured rate, the bound is `other`. A theoretical
/// peak is exceeded above 100 %, and a measured ceiling above 102 %. If the probe's fastest sample is exceeded, too,
/// the figure is called impossible, otherwise the ceiling is called unsteady.
[[nodiscard]] rates_and_shares compute_rates_and_shares(const timed_call& input);

}  // namespace prumo::bench
