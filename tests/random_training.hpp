// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Weights, images and labels for tests of trainings, from the standard library's generator, which is the same
/// everywhere.

#include <prumo/nets/shapes.hpp>
#include <prumo/nets/training_types.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace prumo::tests {

class random_training {
 public:
  explicit random_training(std::uint32_t seed) : generator_(seed) {}

  /// Uniform in (-1, 1).
  double number() { return (static_cast<double>(generator_()) + 0.5) * 0x1p-31 - 1; }
  std::vector<double> numbers(std::int64_t count) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(number());
    return all;
  }

  /// Weights as networks have them: the more terms a sum has, the smaller they are.
  std::vector<double> weights(const nets::net_facts& facts) {
    std::vector<double> all;
    for (const nets::layer_facts& layer : facts.layers) {
      for (const nets::parameter& each : layer.parameters) {
        const nets::parameter& weight = layer.parameters.front();
        const std::int64_t outputs = weight.name.starts_with("shared") ? 1 : weight.extents.front();
        const std::int64_t terms = weight.size() / outputs;
        const double scale = 1.5 / std::sqrt(static_cast<double>(terms));
        // Numbers of f32, so that nets of both types have the same.
        for (std::int64_t i = 0; i < each.size(); ++i) all.push_back(static_cast<float>(scale * number()));
      }
    }
    return all;
  }

  std::vector<std::uint8_t> bytes(std::int64_t count, std::int64_t below) {
    std::vector<std::uint8_t> all;
    for (std::int64_t i = 0; i < count; ++i) {
      all.push_back(static_cast<std::uint8_t>(generator_() % static_cast<std::uint32_t>(below)));
    }
    return all;
  }

 private:
  std::mt19937 generator_;
};

constexpr nets::loss all_losses[] = {nets::loss::softmax, nets::loss::sigmoid, nets::loss::squared,
                                     nets::loss::original};

}  // namespace prumo::tests
