// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The functions of one argument whose results are not exact: what prumo promises for each, and each function computed
/// in a wider type.

#include <prumo/activation.hpp>
#include <prumo/context.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/elementary.hpp>
#include <prumo/types.hpp>

#include <array>
#include <cstdint>
#include <string_view>

#if defined(__CUDACC__)
// What the host instantiates with long double is looked at for the device, too, where it never runs.
#pragma nv_diag_suppress 20208
#endif

namespace prumo::accuracy {

enum class function : std::uint8_t { exp, log, sqrt, rsqrt, sigmoid, tanh, relu, gelu, gelu_tanh };

inline constexpr std::array all_functions{function::exp,   function::log,     function::sqrt,
                                          function::rsqrt, function::sigmoid, function::tanh,
                                          function::relu,  function::gelu,    function::gelu_tanh};

constexpr std::string_view function_name(function which) {
  constexpr std::string_view names[] = {"exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "relu", "gelu", "gelu_tanh"};
  return names[static_cast<std::size_t>(which)];
}

/// Whether prumo's bound of the error is relative to the argument (epsilon |x|), instead of units in the last place of
/// the result.
KOKKOS_INLINE_FUNCTION constexpr bool is_bounded_by_argument(function which) {
  return which == function::gelu || which == function::gelu_tanh;
}

/// The largest error that prumo promises. For gelu it is in epsilon |x| of the type of the computation; if the result
/// is rounded to 16 bits, half a unit in the last place is added. For the others it is in units in the last place of
/// the result. On a GPU exp, log and rsqrt are the vendor's functions.
constexpr double promised(function which, dtype type, bool on_host) {
  if (is_bounded_by_argument(which)) return 2;
  if (which == function::relu) return 0;
  // Three units of float are at most a thousandth of one in 16 bits.
  if (type == dtype::f16 || type == dtype::bf16) return 0.501;
  switch (which) {
    case function::exp:
    case function::log: return on_host ? 1 : 2;
    case function::sqrt: return 0.5;
    case function::rsqrt: return on_host ? 1.5 : 2;
    case function::sigmoid: return 3;
    default: return 2;  // tanh
  }
}

/// Constants of the references, a struct for each type, because a device's compiler has no long double.
template <class W>
struct reference_numbers;
template <>
struct reference_numbers<double> {
  double sqrt_half = 0.70710678118654752440;
  double sqrt_half_rest = -4.833646656726456518594e-17;  // what rounding left of it
  double twice_over_sqrt_pi = 1.12837916709551257390;
  double twice_sqrt_2_over_pi = 1.59576912160573071176;
  double cubic = 0.044715;
};
template <>
struct reference_numbers<long double> {
  long double sqrt_half = 0.70710678118654752440084436210484903928L;
  long double sqrt_half_rest = 1.895032558893257079655e-20L;
  long double twice_over_sqrt_pi = 1.12837916709551257389615890312154517L;
  long double twice_sqrt_2_over_pi = 1.59576912160573071175978423973752747L;
  long double cubic = 0.044715L;
};

/// x Phi(x) = x/2 erfc(z), where z = -x / sqrt(2). Far from zero erfc would multiply the rounding error of z by a
/// thousand, so this error times the derivative is subtracted.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class W>
KOKKOS_FUNCTION W reference_gelu(W x) {
  constexpr reference_numbers<W> numbers;
  if (Kokkos::isinf(x)) return x < W(0) ? -W(0) : x;
  const W z = -x * numbers.sqrt_half;
  const W lost = Kokkos::fma(-x, numbers.sqrt_half, -z) - x * numbers.sqrt_half_rest;
  return W(0.5) * x * (Kokkos::erfc(z) - numbers.twice_over_sqrt_pi * Kokkos::exp(-z * z) * lost);
}

/// The function in a type W that is wider than the measured types, with special values. Its errors are a few units in
/// the last place of W.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class W>
KOKKOS_FUNCTION W reference(function which, W x) {
  constexpr reference_numbers<W> numbers;
  switch (which) {
    case function::exp: return Kokkos::exp(x);
    case function::log: return Kokkos::log(x);
    case function::sqrt: return Kokkos::sqrt(x);
    case function::rsqrt: return W(1) / Kokkos::sqrt(x);
    case function::sigmoid: return W(1) / (W(1) + Kokkos::exp(-x));
    case function::tanh: return Kokkos::tanh(x);
    case function::relu: return x <= W(0) ? W(0) : x;
    case function::gelu: return reference_gelu(x);
    case function::gelu_tanh: {
      const W inner = numbers.twice_sqrt_2_over_pi * x * (W(1) + numbers.cubic * x * x);
      return Kokkos::isinf(x) && x < W(0) ? -W(0) : x / (W(1) + Kokkos::exp(-inner));
    }
  }
  return x;
}

/// Enqueues the operation that users call, so that this is what is measured.
template <class Exec, class View>
void enqueue(function which, context<Exec>& ctx, const View& x, const View& y) {
  switch (which) {
    case function::exp: return exp(ctx, x, y);
    case function::log: return log(ctx, x, y);
    case function::sqrt: return sqrt(ctx, x, y);
    case function::rsqrt: return rsqrt(ctx, x, y);
    case function::sigmoid: return sigmoid(ctx, x, y);
    case function::tanh: return tanh(ctx, x, y);
    case function::relu: return relu(ctx, x, y);
    case function::gelu: return gelu(ctx, x, y);
    case function::gelu_tanh: return gelu(ctx, x, y, gelu_form::tanh);
  }
}

}  // namespace prumo::accuracy
