// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "packed_parameters.hpp"

#include <prumo/philox.hpp>

#include <cmath>
#include <cstring>

namespace prumo::nets {
namespace {

template <class T>
void place(const forward_plan& plan, std::span<const double> packed, std::byte* placed) {
  for (const placed_parameter& at : plan.parameters()) {
    for (std::int64_t i = 0; i < at.what.size(); ++i) {
      const T value = static_cast<T>(packed[static_cast<std::size_t>(i)]);
      std::memcpy(placed + static_cast<std::size_t>(at.offset + i) * sizeof(T), &value, sizeof(T));
    }
    packed = packed.subspan(static_cast<std::size_t>(at.what.size()));
  }
}

template <class T>
void pack(const forward_plan& plan, const std::byte* placed, std::vector<double>& packed) {
  for (const placed_parameter& at : plan.parameters()) {
    for (std::int64_t i = 0; i < at.what.size(); ++i) {
      T value;
      std::memcpy(&value, placed + static_cast<std::size_t>(at.offset + i) * sizeof(T), sizeof(T));
      packed.push_back(static_cast<double>(value));
    }
  }
}

}  // namespace

std::vector<std::byte> placed_parameters(const forward_plan& plan, std::span<const double> packed) {
  std::vector<std::byte> placed(static_cast<std::size_t>(plan.weights_elements()) * dtype_size(plan.type()));
  if (plan.type() == dtype::f64) {
    place<double>(plan, packed, placed.data());
  } else {
    place<float>(plan, packed, placed.data());
  }
  return placed;
}

std::vector<double> packed_parameters(const forward_plan& plan, std::span<const std::byte> placed) {
  std::vector<double> packed;
  packed.reserve(static_cast<std::size_t>(plan.facts().parameters));
  if (plan.type() == dtype::f64) {
    pack<double>(plan, placed.data(), packed);
  } else {
    pack<float>(plan, placed.data(), packed);
  }
  return packed;
}

std::vector<double> initial_weights(const net_facts& facts, loss which, std::uint64_t seed) {
  std::vector<double> packed;
  packed.reserve(static_cast<std::size_t>(facts.parameters));
  std::uint64_t stream = 0;
  for (const layer_facts& each_layer : facts.layers) {
    if (each_layer.parameters.empty()) continue;
    // A shared filter [rows x columns] has one output; the others have as many as their first extent.
    const parameter& weight = each_layer.parameters.front();
    const std::int64_t outputs = weight.name.starts_with("shared") ? 1 : weight.extents.front();
    const std::int64_t products = weight.size() / outputs;
    const double bound = which == loss::original ? 0.5 : 1 / std::sqrt(static_cast<double>(products));
    for (const parameter& each : each_layer.parameters) {
      for (std::int64_t i = 0; i < each.size(); ++i) {
        packed.push_back(bound * random::uniform<double>(seed, stream, static_cast<std::uint64_t>(i)));
      }
      ++stream;
    }
  }
  return packed;
}

}  // namespace prumo::nets
