// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/median_interval.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace prumo::bench {

/// What one way to measure a ceiling reached. A value is work per second, or seconds where the time is the ceiling.
struct ceiling_value {
  double typical = 0;
  double fastest = 0;
  /// The interval of the median time, over that time.
  std::optional<median_interval> spread;
};

/// The samples of a way to measure a ceiling.
class ceiling_samples {
 public:
  /// `work` is the bytes, flops or functions of a call; 0: the time itself is the ceiling.
  explicit ceiling_samples(double work = 0) : work_(work) {}

  /// Appends samples in seconds. `rounds` has the number of samples of each round.
  void add(std::span<const double> seconds, std::span<const std::size_t> rounds);

  /// True if the samples allow more than others of the same ceiling.
  [[nodiscard]] static bool is_better(const ceiling_value& a, const ceiling_value& b, bool is_time);

  [[nodiscard]] bool is_time() const { return work_ == 0; }
  /// \pre there are samples
  [[nodiscard]] ceiling_value value() const;

  /// `value`, `interval`, `samples` and `rounds` of an entry in a device's `ceilings`.
  void store(nlohmann::json& entry) const;

 private:
  [[nodiscard]] double value_at(double seconds) const { return is_time() ? seconds : work_ / seconds; }

  double work_;
  std::vector<double> seconds_;
  std::vector<std::size_t> rounds_;
};

}  // namespace prumo::bench
