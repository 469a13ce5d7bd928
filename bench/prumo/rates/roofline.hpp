// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// A roof over the arithmetic intensity I (Williams, Waterman and Patterson 2009): at most min(compute, I x memory)
/// flop/s.
struct roofline {
  std::string dtype;
  std::string cache;         ///< `cold`, `hot`; empty for theoretical peaks
  std::string memory_probe;  ///< `copy`, `triad`, `read`, `write`; `peak` for the theoretical one
  std::string compute_from;  ///< `fma`, or the unit of a theoretical peak with its clock: `tensor f32 (max)`
  std::optional<double> bytes_per_array;  ///< of the memory probe
  double memory = 0;                      ///< bytes a second
  double compute = 0;                     ///< flop/s

  /// The flops per byte from which arithmetic is the limit.
  [[nodiscard]] double ridge() const { return compute / memory; }
  /// The flop/s at an intensity in flops per byte.
  [[nodiscard]] double at(double intensity) const;
  /// `triad, cold, 128MiB | fma`
  [[nodiscard]] std::string label() const;
};

/// The roofs of a device's entry in a results file. First come the measured ones: one for each memory probe, size and
/// cache state of a type that `fma` was measured with. Then come the theoretical ones: each flop peak with the peak of
/// the memory, or with the fastest measured memory (cold) if that peak is unknown. `dtypes` are the types, all if it is
/// empty.
[[nodiscard]] std::vector<roofline> rooflines_of(const nlohmann::json& device, const std::vector<std::string>& dtypes);

/// The roof to draw, of several that were measured in one cache state: that of triad, or else the one with the fastest
/// memory.
[[nodiscard]] const roofline* main_roof(const std::vector<roofline>& roofs, const std::string& dtype,
                                        const std::string& cache);

/// A measured operation: its algorithmic flops over its bytes, and over its time.
struct roofline_point {
  std::string op;
  std::string dtype;
  double intensity = 0;  ///< flops per byte
  double rate = 0;       ///< flop/s
};

/// The points of a device's entry in a results document: resident results with a time whose flops and bytes are known.
[[nodiscard]] std::vector<roofline_point> points_of(const nlohmann::json& document, const nlohmann::json& device);

/// As `rooflines` of a device in the results file (docs/results.md).
[[nodiscard]] nlohmann::json rooflines_json(const std::vector<roofline>& roofs);

}  // namespace prumo::bench
