// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Fills arrays for operations that sometimes have nothing else to do.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>

#include <string>

namespace prumo::detail {

/// Enqueues y = value rounded to the type of y, without checks, by a kernel with the operation's own label.
void enqueue_fill(const instance_ref& space, const std::string& label, double value, const array_ref& y);

}  // namespace prumo::detail
