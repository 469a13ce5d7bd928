// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the activations that a product ends with should give, and how far off it may be.

#include <prumo/gemm_options.hpp>
#include <prumo/types.hpp>

namespace prumo::cases {

/// act(x) in higher precision.
long double exactly_activated(activation_function function, long double x);

/// The bound of an activation of an x that is off by `absolute`, before it is stored: the largest slope of the function
/// carries the error over, and the function has one of its own (<prumo/math.hpp>).
long double activated_bound(activation_function function, dtype result_type, long double x, long double absolute);

}  // namespace prumo::cases
