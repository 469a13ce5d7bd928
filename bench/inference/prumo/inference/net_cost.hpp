// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/nets/shapes.hpp>
#include <prumo/protocol/messages.hpp>

#include <cstddef>
#include <cstdint>

namespace prumo::inference {

/// What layers [first, last) cost at least for a batch: to read their inputs and weights and to write their outputs,
/// and the products with elements inside of images.
/// \param width bytes of a number
[[nodiscard]] protocol::cost_model cost_of_layers(const nets::net_facts& facts, std::size_t first, std::size_t last,
                                                  std::int64_t batch, std::size_t width);

/// What a step of a training costs at least: products forward, backward for the weights, and backward for what a layer
/// takes unless it is the first; images read, weights read and written.
[[nodiscard]] protocol::cost_model cost_of_step(const nets::net_facts& facts, std::int64_t batch, std::size_t width);

}  // namespace prumo::inference
