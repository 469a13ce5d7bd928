// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training_program.hpp"

#include <memory>

namespace prumo::peers {

/// A net that learns in loops as one writes them: layer by layer forward, the loss, layer by layer backward, and the
/// optimizer.
/// \param setup has to outlive the program
std::unique_ptr<training_program> make_training_loops(const inference::training_setup& setup, dtype type);

}  // namespace prumo::peers
