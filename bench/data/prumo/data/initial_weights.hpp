// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/nets/shapes.hpp>

#include <cstdint>
#include <vector>

namespace prumo::data {

/// From which interval the weights of a net are drawn before it is trained.
enum class weight_range : std::uint8_t {
  by_inputs,  ///< (-1/sqrt(n), 1/sqrt(n)), n the number of products in a sum of the layer, for its bias, too
  half        ///< (-1/2, 1/2)
};

/// The weights that a training begins with, an array for each parameter in order, as docs/random.md tells (Initial
/// weights). So they are the same on each machine, and those of nets::trainer::initialize().
[[nodiscard]] std::vector<std::vector<double>> initial_weights(const nets::description& net, std::uint64_t seed,
                                                               weight_range range = weight_range::by_inputs);

}  // namespace prumo::data
