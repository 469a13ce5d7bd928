// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What max_pool, average_pool and their gradients ask of windows and extents.

#include <prumo/array_ref.hpp>
#include <prumo/check.hpp>
#include <prumo/pooling.hpp>

#include <string_view>

namespace prumo::detail {

/// Throws argument_error for a window that cannot be.
void check_window(std::string_view operation, const pooling_window& window);

/// Throws shape_error if `y` has other extents than the pooled images `x`. Checks the window first.
void check_pooled_extents(std::string_view operation, const named_array& x, const named_array& y,
                          const pooling_window& window);

}  // namespace prumo::detail
