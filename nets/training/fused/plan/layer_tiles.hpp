// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "step_table.hpp"

#include <cstdint>

namespace prumo::nets {

struct net_share;

/// Plans how threads share the sums of each convolution that takes tiles, once the number of images at once is known.
/// \param share of a team of a cluster, which gets its tasks of gradients; null: the team has the whole net
void plan_layer_tiles(std::int64_t element_bytes, step_table& table, net_share* share);

}  // namespace prumo::nets
