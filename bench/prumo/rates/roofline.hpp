// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// A roof over arithmetic intensity I (Williams, Waterman and Patterson 2009): no more than min(compute, I x memory)
/// flop/s.
struct roofline {
  std::string dtype;
  std::string cache;         ///< `cold`, `hot`; empty for theoretical peaks
  std::string memory_probe;  ///< `copy`, `triad`, `read`, `write`; `peak` for the theoretical one
  std::string compute_from;  ///< `fma`, or the unit of a theoretical peak with its clock: `tensor f32 (max)`
  std::optional<double> bytes_per_array;  ///< of the memory probe
  double memory = 0;                      ///< bytes a second
  double compute = 0;                     ///< flop/s

  /// Flops a byte where arithmetic begins to bound.
  [[nodiscard]] double ridge() const { return compute / memory; }
  /// flop/s at an intensity in flops a byte.
  [[nodiscard]] double at(double intensity) const;
  /// `triad, cold, 128MiB | fma`
  [[nodiscard]] std::string label() const;
};

/// The measured roofs of a device's entry in a results file, one for each memory probe, size and cache state of a type
/// that `fma` was measured with, then the theoretical ones: each flop peak over the peak of the memory, or over the
/// fastest measured memory (cold) where that peak is unknown. A type of `dtypes` only, or all where it is empty.
[[nodiscard]] std::vector<roofline> rooflines_of(const nlohmann::json& device, const std::vector<std::string>& dtypes);

/// The roof to draw of several that were measured in one cache state: of triad, else the highest memory.
[[nodiscard]] const roofline* main_roof(const std::vector<roofline>& roofs, const std::string& dtype,
                                        const std::string& cache);

/// A measured operation: its algorithmic flops over its bytes, and over its time.
struct roofline_point {
  std::string op;
  std::string dtype;
  double intensity = 0;  ///< flops a byte
  double rate = 0;       ///< flop/s
};

/// The points of a device's entry in a results document: resident results with a time whose flops and bytes are known.
[[nodiscard]] std::vector<roofline_point> points_of(const nlohmann::json& document, const nlohmann::json& device);

/// As `rooflines` of a device in the results file (docs/results.md).
[[nodiscard]] nlohmann::json rooflines_json(const std::vector<roofline>& roofs);

}  // namespace prumo::bench
