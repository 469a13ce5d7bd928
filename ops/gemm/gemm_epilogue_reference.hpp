// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The exact results of the activations of products, and their error bounds.

#include <prumo/gemm_options.hpp>
#include <prumo/types.hpp>

namespace prumo::cases {

/// act(x) in higher precision.
long double exactly_activated(activation_function function, long double x);

/// The error bound of act(x) before it is stored, if x has an error of `absolute`: this error times the largest slope
/// of the function, plus the function's own error (<prumo/math.hpp>).
long double activated_bound(activation_function function, dtype result_type, long double x, long double absolute);

}  // namespace prumo::cases
