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
  std::string unit;  ///< whose peak applies: `vector` or `tensor`

  /// From the protocol's `model` object (null gives an empty model).
  [[nodiscard]] static cost_model from_json(const nlohmann::json& model);
};

/// Theoretical peaks that apply to a case, flop/s.
struct compute_peaks {
  std::optional<double> max_clock;
  std::optional<double> measured_clock;
};

/// The peaks of `unit` for `dtype` in a device's `peaks` list; where several accumulators are listed,
/// `accumulator` chooses (empty: the highest, so that a share is never flattered).
[[nodiscard]] compute_peaks find_compute_peaks(const nlohmann::json& peaks, std::string_view unit,
                                               std::string_view dtype, std::string_view accumulator = {});

/// Ceilings measured by the probes at the size and in the cache state of the case: bytes/s (algorithmic),
/// flop/s.
struct measured_ceilings {
  std::optional<double> copy;
  std::optional<double> triad;
  std::optional<double> read;
  std::optional<double> fma;
};

/// Picks them from the `ceilings` list of a device: entries `{probe, dtype, bytes_per_array, cache, unit,
/// value}` of this dtype and cache state. The size is matched exactly, else the nearest in ratio is taken.
[[nodiscard]] measured_ceilings find_ceilings(const nlohmann::json& ceilings, std::string_view dtype,
                                              std::string_view cache, std::uint64_t bytes_per_array);

/// Which measured bandwidth is the memory roof of a case.
enum class memory_roof {
  read,   ///< reductions: one array read
  copy,   ///< one array in, one out
  triad,  ///< two arrays or more in, one out
  best    ///< the highest known of the three
};

/// The roof for a case of so many arrays: 1 read, 2 copy, 3 and more triad, 0 (unknown) best. An absent probe
/// falls back to the best of the others.
[[nodiscard]] memory_roof roof_for_arrays(int arrays);

/// All that rates and shares are computed from. `seconds` is the median time of one call.
struct derive_input {
  double seconds = 0;
  cost_model model;
  std::optional<double> counted_flops;  ///< total of the counted column
  compute_peaks peaks;
  measured_ceilings ceilings;
  memory_roof roof = memory_roof::best;
  std::optional<double> launch_seconds;  ///< cost of an empty kernel, where the device has such a thing
};

/// Rates, shares and the bound of one measured case. Absent is null in the file.
struct derived_figures {
  std::optional<double> gflops;                       ///< 1e9 counted flops per second
  std::optional<double> gbytes;                       ///< 1e9 algorithmic bytes per second
  std::optional<double> gelements;                    ///< 1e9 elements per second
  std::optional<double> percent_peak_max_clock;       ///< of the flop peak at the maximum clock, counted flops
  std::optional<double> percent_peak_measured_clock;  ///< of the flop peak at the clock measured during the run
  std::optional<double> percent_roofline;             ///< time at min(F, I x B) over time measured
  std::optional<std::string> bound;                   ///< `memory`, `compute` or `launch`
  std::vector<std::string> warnings;                  ///< what cannot be true: shares above 100 %

  /// Writes `rates`, `percent`, `bound` and appends to `warnings` of a result.
  void store(nlohmann::json& result) const;
};

/// Computes them. The roofline's time is the longer of model.flops / fma and model.bytes / bandwidth; a
/// missing part that the case needs makes it absent. A theoretical peak is exceeded above 100 %, a measured
/// ceiling above 102 % (it is a measurement with a spread of its own).
[[nodiscard]] derived_figures derive(const derive_input& input);

}  // namespace prumo::bench
