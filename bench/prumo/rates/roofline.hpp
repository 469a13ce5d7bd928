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

/// A measured result and the ceilings that its share was computed from (`roof` and `percent.roofline` in the file). Its
/// share is rate / min(compute, intensity x memory), so points and their own roofs agree with the file.
struct roofline_point {
  const nlohmann::json* result = nullptr;  ///< in the document; valid as long as that is
  double intensity = 0;                    ///< algorithmic flops over bytes; 0 if the flops or bytes are unknown
  double rate = 0;                         ///< algorithmic flops over the time, flop/s; 0 if the flops are unknown
  std::optional<roofline> roof;            ///< its own; absent if the file has no roof of memory and arithmetic for it

  /// True if it has a place in a plot of rate over intensity.
  [[nodiscard]] bool can_be_drawn() const { return intensity > 0 && rate > 0; }
};

/// What a result's ceiling of arithmetic comes from. Files of earlier versions do not say it; there it is `fma`.
[[nodiscard]] std::string compute_probe_of(const nlohmann::json& result);

/// The points of a device's entry in a results document: the results that have a time, in the order of the document.
/// `dtypes` are the types, all if it is empty.
[[nodiscard]] std::vector<roofline_point> points_of(const nlohmann::json& document, const nlohmann::json& device,
                                                    const std::vector<std::string>& dtypes);

/// As `rooflines` of a device in the results file (docs/results.md).
[[nodiscard]] nlohmann::json rooflines_json(const std::vector<roofline>& roofs);

}  // namespace prumo::bench
