// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "net_program.hpp"

#include <memory>

namespace prumo::peers {

/// A net in loops as one writes them, a loop nest for each layer: images and channels are shared out among threads, and
/// the compiler vectorises along the columns, or along the features of a dense layer's input.
std::unique_ptr<net_program> make_net_loops(const net_choice& choice);

}  // namespace prumo::peers
