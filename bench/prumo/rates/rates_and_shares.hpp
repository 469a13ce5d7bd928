// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// Algorithmic cost of one call as the worker's `model` states it; absent is unknown.
struct cost_model {
  std::optional<double> bytes;
  std::optional<double> flops;
  std::optional<double> elements;
  std::string unit;  ///< whose peak applies: `vector`, or `tensor` where the device has one for the type and mode

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
  std::string dtype;            ///< of the numbers that it multiplies
  std::string accumulator;      ///< what it sums in; empty: the highest peak, so that a share is never flattered
  std::string inputs;           ///< what it rounds its inputs to, `tf32`; empty: nothing

  [[nodiscard]] bool is_tensor() const { return unit == "tensor"; }
};

/// The unit whose peak bounds work of `dtype` in a compute mode, where `unit` is what the work, or its implementation,
/// can use: a tensor unit for the inputs that the mode makes, if `peaks` list one (of unknown speed, perhaps), else the
/// vector unit. Fast modes are the tensor unit's in any case: no vector unit rounds its inputs. prumo's own products
/// and its peers' strict ones never sum f16, bf16 or f8 in less than f32.
[[nodiscard]] compute_unit find_compute_unit(const nlohmann::json& peaks, std::string_view unit, std::string_view dtype,
                                             std::string_view compute_mode);

/// The peaks of a unit in a device's `peaks` list. Where `clock_mhz`, the clock during the case, is known, the peak at
/// the measured clock is the one at the maximum clock scaled to it.
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
  std::optional<double> launch;  ///< what a kernel costs that does next to nothing
};

/// Picks them from the `ceilings` list of a device: entries `{probe, dtype, bytes_per_array, cache, unit,
/// value}` of this dtype and cache state. The size is matched exactly, else the nearest in ratio is taken. `launch` is
/// the same for all types and has entries of its own for each dispatch, `fma` is the same for all sizes.
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

/// The roof of a case: `streams` is how many times the bytes of its largest array it moves, `arrays` how many arrays
/// its operation has; either may be unknown. About one stream is `write` where there is no other array to read, else
/// `read`; about two are `copy`, more are `triad`.
[[nodiscard]] memory_roof roof_of(std::optional<double> streams, int arrays);

/// A measured bandwidth and the probe that it comes from.
struct memory_ceiling {
  double value = 0;
  std::string_view probe;
  bool same_traffic = true;  ///< false: stands in for a probe that was not measured, and may be exceeded
};

/// The ceiling for a roof. `write` without its own probe is judged by the better of `copy` and `triad`: hardly any
/// memory writes faster than it reads, but it is another traffic. Any other roof without its probe takes the best
/// known.
[[nodiscard]] std::optional<memory_ceiling> find_memory_ceiling(const measured_ceilings& ceilings, memory_roof roof);

/// All that rates and shares are computed from. `seconds` is the median time of one call.
struct timed_call {
  double seconds = 0;
  cost_model model;
  std::optional<double> counted_flops;  ///< total of the counted column
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
  std::optional<std::string> bound;                   ///< `memory`, `compute` or `launch`
  std::optional<memory_ceiling> memory;               ///< the ceilings that percent_roofline was computed from
  std::optional<double> compute;
  std::optional<double> launch;
  std::vector<std::string> warnings;  ///< what cannot be true: shares above 100 %

  /// Writes `rates`, `percent`, `bound`, `roof` and appends to `warnings` of a result.
  void store(nlohmann::json& result) const;
};

/// Computes them. The roofline's time is the longer of model.flops / fma and model.bytes / bandwidth; a
/// missing part that the case needs makes it absent. The launch floor is not added to it: where the roofline's time, in
/// which the probe's own launch is, is below twice the floor, the bound is `launch`, and the share stays what it is. A
/// theoretical peak is exceeded above 100 %, a measured ceiling above 102 %: where the probe's fastest sample is
/// exceeded, too, the figure is called impossible, else the ceiling unsteady.
[[nodiscard]] rates_and_shares compute_rates_and_shares(const timed_call& input);

}  // namespace prumo::bench
