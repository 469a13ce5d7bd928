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

/// activated() as a call on devices, where the many copies of its formulas would take more than they give.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
__noinline__
#endif
    KOKKOS_INLINE_FUNCTION C activated_at_length(activation_function function, C x) {
  return activated(function, x);
}

/// Whether the formula of act(x) is longer than a comparison.
KOKKOS_FUNCTION constexpr bool is_long(activation_function function) {
  return function != activation_function::none && function != activation_function::relu;
}

/// Whether act(x) never falls where x rises. The maximum of results is then the result of the maximum, but for the
/// rounding within act: so act can be taken of the maximum alone.
KOKKOS_FUNCTION constexpr bool is_rising(activation_function function) {
  return function != activation_function::gelu && function != activation_function::gelu_by_tanh;
}

/// value = act(value) for `count` values on the host, in vector registers. Compiled once for each compute type.
template <class C>
void activate(activation_function function, C* values, std::int64_t count);

}  // namespace PRUMO_INSTRUCTION_SET

/// The operations that activate() counts for one value.
flop_counts activation_counts(activation_function function);

}  // namespace prumo::backend
