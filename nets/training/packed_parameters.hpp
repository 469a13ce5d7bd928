// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Parameters between files and devices: packed without gaps as numbers of double, or placed as a plan has them.

#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/training_types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace prumo::nets {

/// The flat array of a plan of f32 or f64 as bytes. Numbers are rounded to the type; gaps are zero.
std::vector<std::byte> placed_parameters(const forward_plan& plan, std::span<const double> packed);

/// The other way round.
std::vector<double> packed_parameters(const forward_plan& plan, std::span<const std::byte> placed);

/// Random weights, packed: array number k of net_facts::all_parameters() takes stream k of the seed (docs/random.md).
/// They are uniform in (-1/2, 1/2) for the loss `original`, and otherwise in (-b, b) with b = 1/sqrt(n), where n is the
/// number of products in a sum of the layer.
std::vector<double> initial_weights(const net_facts& facts, loss which, std::uint64_t seed);

}  // namespace prumo::nets
