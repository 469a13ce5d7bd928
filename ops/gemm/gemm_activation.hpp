// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The activation functions that a matrix product may end with.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/gemm_options.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// act(x) of one number.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C activated(activation_function function, C x) {
  switch (function) {
    case activation_function::none: break;
    case activation_function::relu: return prumo::maximum(x, C(0));
    case activation_function::sigmoid: return prumo::sigmoid(x);
    case activation_function::tanh: return prumo::tanh(x);
    case activation_function::gelu: return prumo::gelu(x);
    case activation_function::gelu_by_tanh: return prumo::gelu_by_tanh(x);
  }
  return x;
}

/// value = act(value) for `count` values on the host, in vector registers. Compiled once for each compute type.
template <class C>
void activate(activation_function function, C* values, std::int64_t count);

}  // namespace PRUMO_INSTRUCTION_SET

/// The operations that activate() counts for one value.
flop_counts activation_counts(activation_function function);

}  // namespace prumo::backend
