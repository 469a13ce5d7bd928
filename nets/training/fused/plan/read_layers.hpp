// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "step_table.hpp"

#include <string>

namespace prumo::nets {

/// Fills the table with the layers of the net, without their places, and with loss and optimizer.
/// \return why the net cannot be trained so, in words that follow the name of a way; empty if it can
std::string read_layers(const step_request& request, step_table& table);

/// The grids of a layer, from its extents.
void set_grids(step_layer& it);

}  // namespace prumo::nets
