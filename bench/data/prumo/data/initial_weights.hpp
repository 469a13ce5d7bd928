// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/safetensors.hpp>

#include <cstdint>

namespace prumo::data {

/// From which interval the weights of a net are drawn before it is trained.
enum class weight_range : std::uint8_t {
  by_inputs,  ///< (-1/sqrt(n), 1/sqrt(n)), n the number of products in a sum of the layer, for its bias, too
  half        ///< (-1/2, 1/2)
};

/// The weights that a training begins with: element i of array number k is element i of the stream k of docs/random.md
/// as f32, times the end of the interval, in f32. So they are the same on each machine.
[[nodiscard]] net_weights initial_weights(const nets::description& net, std::uint64_t seed,
                                          weight_range range = weight_range::by_inputs);

}  // namespace prumo::data
