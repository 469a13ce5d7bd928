// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The mathematical functions that kernels call, for `float`, `double`, their counted twins and, on hosts, vectors. On
/// the host they have neither branches nor calls, so that compilers vectorise loops over them, too. On a device exp,
/// log, tanh and the square roots are the device's own, and so are the exponential and the reciprocal in gelu of float.
///
/// The largest errors on the host, in units in the last place: exp 1, log 1, sqrt 0.5, rsqrt 1.5, tanh 2, sigmoid 3.
/// The error of gelu is at most 2 epsilon |x|. These hold over the whole range, with subnormal arguments and results.
/// The result for a NaN is NaN. If the exact function overflows or underflows, so does the function here.
/// docs/accuracy.md has the measurements.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/device_math.hpp>
#include <prumo/detail/host/logarithm.hpp>
#include <prumo/detail/host/normal_tail_table.hpp>
#include <prumo/detail/host_math.hpp>
#include <prumo/types.hpp>

#include <cmath>
#include <type_traits>

PRUMO_BEGIN_PRECISE

namespace prumo {

/// The larger of two numbers; NaN if one of them is NaN, like maximum in IEEE 754-2019.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T maximum(T a, T b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, float>) return detail::maximum_or_nan(a, b);
#endif
  // a > b is false for a NaN on either side; the second selection puts a's NaN back.
  const T larger = a > b ? a : b;
  return a == a ? larger : a;  // NOLINT(misc-redundant-expression)
}

/// The smaller of two numbers; NaN if one of them is NaN, like minimum in IEEE 754-2019.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T minimum(T a, T b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, float>) return detail::minimum_or_nan(a, b);
#endif
  const T smaller = a < b ? a : b;
  return a == a ? smaller : a;  // NOLINT(misc-redundant-expression)
}

/// e^x.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T exp(T x) {
  KOKKOS_IF_ON_HOST((return detail::exp_on_host(x);))
  KOKKOS_IF_ON_DEVICE((return Kokkos::exp(x);))
}

/// The natural logarithm. It is -infinity for 0 and -0, and NaN for negative numbers.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T log(T x) {
  KOKKOS_IF_ON_HOST((return detail::log_on_host(x);))
  KOKKOS_IF_ON_DEVICE((return Kokkos::log(x);))
}

/// The hyperbolic tangent.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T tanh(T x) {
  KOKKOS_IF_ON_HOST((return detail::tanh_on_host(x);))
  KOKKOS_IF_ON_DEVICE((return Kokkos::tanh(x);))
}

/// The square root, correctly rounded. It is -0 for -0, and NaN for negative numbers.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T sqrt(T x) {
  return Kokkos::sqrt(x);
}

/// 1 / sqrt(x). It is infinity for 0, -infinity for -0 (as in IEEE 754), and NaN for negative numbers. On the host each
/// of the two steps rounds once, so the error is less than 1.5 units in the last place.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T rsqrt(T x) {
  KOKKOS_IF_ON_HOST((return T(1) / Kokkos::sqrt(x);))
  KOKKOS_IF_ON_DEVICE((return Kokkos::rsqrt(x);))
}

// The same of vectors, on hosts.

template <detail::vector V>
[[gnu::always_inline]] inline V maximum(V a, V b) {
  return prumo::select(a != a, a, greater_or_second(a, b));  // NOLINT(misc-redundant-expression)
}
template <detail::vector V>
[[gnu::always_inline]] inline V minimum(V a, V b) {
  return prumo::select(a != a, a, lesser_or_second(a, b));  // NOLINT(misc-redundant-expression)
}
template <detail::vector V>
[[gnu::always_inline]] inline V exp(V x) {
  return detail::exp_on_host(x);
}
template <detail::vector V>
[[gnu::always_inline]] inline V log(V x) {
  return detail::log_on_host(x);
}
template <detail::vector V>
[[gnu::always_inline]] inline V tanh(V x) {
  return detail::tanh_on_host(x);
}
template <detail::vector V>
[[gnu::always_inline]] inline V rsqrt(V x) {
  return plain_scalar_t<V>(1) / prumo::sqrt(x);
}

template <class T>
counted<T> fma(counted<T> a, counted<T> b, counted<T> c) {
  return counted<T>::tallied(flop_kind::fma, prumo::fma(a.value(), b.value(), c.value()));
}
template <class T>
counted<T> maximum(counted<T> a, counted<T> b) {
  return counted<T>::tallied(flop_kind::minmax, prumo::maximum(a.value(), b.value()));
}
template <class T>
counted<T> minimum(counted<T> a, counted<T> b) {
  return counted<T>::tallied(flop_kind::minmax, prumo::minimum(a.value(), b.value()));
}
template <class T>
counted<T> exp(counted<T> x) {
  return counted<T>::tallied(flop_kind::exp, prumo::exp(x.value()));
}
template <class T>
counted<T> log(counted<T> x) {
  return counted<T>::tallied(flop_kind::log, prumo::log(x.value()));
}
template <class T>
counted<T> tanh(counted<T> x) {
  return counted<T>::tallied(flop_kind::tanh, prumo::tanh(x.value()));
}
template <class T>
counted<T> sqrt(counted<T> x) {
  return counted<T>::tallied(flop_kind::sqrt, prumo::sqrt(x.value()));
}
/// One square root and one division.
template <class T>
counted<T> rsqrt(counted<T> x) {
  return counted<T>(T(1)) / prumo::sqrt(x);
}
template <class T>
counted<T> abs(counted<T> x) {
  return counted<T>(prumo::abs(x.value()));
}

namespace detail {

/// e^x for an x that is not positive, like a number less the maximum of its row. It takes fewer instructions on a host
/// than exp. It is NaN for NaN. For positive numbers the result means nothing.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C exp_of_nonpositive(C x) {
  if constexpr (is_simd<C>) {
    return exp_of_nonpositive_on_host(x);
  } else {
    if constexpr (std::is_floating_point_v<C>) {
      KOKKOS_IF_ON_HOST((return exp_of_nonpositive_on_host(x);))
    }
    return prumo::exp(x);
  }
}

/// tanh(x), for a result that is rounded to 16 bits.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C tanh_for_halves(C x) {
  if constexpr (is_simd<C>) {
    return tanh_for_halves_on_host(x);
  } else {
    if constexpr (std::is_same_v<C, float>) {
      KOKKOS_IF_ON_HOST((return tanh_for_halves_on_host(x);))
    }
    return prumo::tanh(x);
  }
}

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

/// a / (b + rest) within a unit in the last place, for 1 <= b, a <= b and a rest that is less than the rounding of b. A
/// device's own division takes as long as a polynomial, so it is not used.
KOKKOS_FORCEINLINE_FUNCTION float quick_quotient(float a, float b, float rest) {
  const float inverse = approximate_reciprocal(b);
  const float quotient = a * inverse;
  const float left = prumo::fma(-b, quotient, a);
  return prumo::fma(prumo::fma(-rest, quotient, left), inverse, quotient);
}

#endif

/// a / b for 1 <= b and a <= b: rounded correctly on the host, within a unit in the last place on a device.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V quick_quotient(V a, V b) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  if constexpr (std::is_same_v<V, float>) {
    const float inverse = approximate_reciprocal(b);
    const float quotient = a * inverse;
    return prumo::fma(prumo::fma(-b, quotient, a), inverse, quotient);
  }
#endif
  return a / b;
}

}  // namespace detail

/// 1 / (1 + e^-x). No step overflows, because only exp(-|x|) is computed.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C sigmoid(C x) {
  if constexpr (detail::is_simd<C>) {
    return detail::sigmoid_on_host(x);
  } else {
    if constexpr (std::is_floating_point_v<C>) {
      KOKKOS_IF_ON_HOST((return detail::sigmoid_on_host(x);))
    }
    const C decay = prumo::exp(-prumo::abs(x));
    const C numerator = x < C(0) ? decay : C(1);
    const C denominator = C(1) + decay;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    // An exponential of two units in the last place leaves no room for the rounding of 1 + decay.
    if constexpr (std::is_same_v<C, float>) {
      return detail::quick_quotient(numerator, denominator, decay - (denominator - C(1)));
    }
#endif
    return numerator / denominator;
  }
}

namespace detail {

/// |x| or `largest`, whichever is smaller; `largest` for NaN.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V bounded_magnitude(V x, V largest) {
  const V magnitude = prumo::abs(x);
  KOKKOS_IF_ON_HOST((return smaller_magnitude(magnitude, largest);))
  KOKKOS_IF_ON_DEVICE((return prumo::select(magnitude < largest, magnitude, largest);))
}

/// x, or the bound if x is below it. A NaN stays a NaN.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V raised_to(V x, plain_scalar_t<V> bound) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<V, float>) return maximum_or_nan(x, bound);
#endif
  return not_below(x, bound);
}
template <class T>
counted<T> raised_to(counted<T> x, T bound) {
  return counted<T>::tallied(flop_kind::minmax, raised_to(x.value(), bound));
}

/// x, or -0 if x is negative. A sum with -0 keeps the sign of the other term, even if that is a zero.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V positive_part(V x) {
  return raised_to(x, plain_scalar_t<V>(-0.0));
}

/// head - exp(-y^2/2) smooth for 0 <= y <= normal_tail<T>::largest and a smooth that is not negative.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V less_normal_tail(V head, V y, V smooth) {
  using T = plain_scalar_t<V>;
  using constants = math_constants<T>;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  if constexpr (std::is_same_v<V, float>) {
    // If the tail is small, y^2/2 is large, and exp would multiply its rounding error. So y^2/2 is held in two numbers.
    const T half = T(-0.5) * y;
    const T exponent = half * y;
    const T lost = prumo::fma(half, y, -exponent);
    const float binary = exponent * -constants::log2_e;
    float beyond = prumo::fma(exponent, constants::log2_e, binary);
    beyond = prumo::fma(exponent, constants::log2_e_low, beyond);
    beyond = prumo::fma(beyond, constants::ln2, lost);
    return prumo::fma(-approximate_exp2_of_negative(binary), prumo::fma(smooth, beyond, smooth), head);
  }
#endif
  // The argument is reduced as in exp_on_host(), but with -y^2 = 2n ln 2 + 2r. The multiply-add computes the square
  // exactly, as long as it is not halved. Without an instruction for products with 2^n, that power is scaled up, so
  // that it is a normal number for every y, and the product is scaled down again at the end.
  constexpr auto series = with_argument_times(0.5, exp_series<T>{});
  constexpr T magic = rounding_magic_for<T>(constants::subnormal_shift);
  const V shifted = rounded_sum(prumo::fma(y * (T(-0.5) * constants::log2_e), y, V(magic)));
  const V n = shifted - magic;
  V twice_r = prumo::fma(-y, y, n * (T(-2) * constants::ln2_high));  // this product is exact
  twice_r = prumo::fma(n, V(T(-2) * constants::ln2_low), twice_r);
  const V growth = polynomial(series.coefficients, twice_r);
  if constexpr (has_exponent_instructions<V>) {
    return head - times_power_of_two(growth * smooth, n);
  } else {
    const V tail = growth * (smooth * power_of_two(shifted));
    return prumo::fma(-tail, V(constants::from_shifted), head);
  }
}

/// x Phi(x) for every x, as max(x, 0) - y Q(y) with y = |x| and Q(y) = 1 - Phi(y), so that nothing cancels for negative
/// x. exp(y^2/2) Q(y) is smooth and varies little, so it can be a quotient of polynomials.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V gelu_of_any(V x) {
  constexpr normal_tail<plain_scalar_t<V>> tail;
  // From tail.largest on, and also for NaN, the product underflows to zero.
  const V y = bounded_magnitude(x, V(tail.largest));
  const V smooth = quick_quotient(y * polynomial(tail.numerator, y), polynomial(tail.denominator, y));
  return less_normal_tail(positive_part(x), y, smooth);
}

/// The same with a table of Q, which takes half of the time if no number is far from zero. An element's result does not
/// depend on its neighbours: where the table ends, the other formula begins.
template <class V>
[[gnu::always_inline]] inline V gelu_by_table(V x) {
  const V y = prumo::abs(x);
  V result = prumo::fma(-y, normal_tail_by_table(y), positive_part(x));
  if (!all_below(y, normal_tail_table::end)) [[unlikely]] {
    result = prumo::select(y < V(normal_tail_table::end), result, gelu_of_any(x));
  }
  return in_registers(result);
}

}  // namespace detail

/// x Phi(x), where Phi is the cumulative distribution function of the normal distribution.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <detail::real V>
KOKKOS_FORCEINLINE_FUNCTION V gelu(V x) {
  if constexpr (detail::has_normal_tail_table<V>) {
    KOKKOS_IF_ON_HOST((return detail::gelu_by_table(x);))
    KOKKOS_IF_ON_DEVICE((return detail::gelu_of_any(x);))
  } else {
    return detail::gelu_of_any(x);
  }
}

/// gelu counts as x/2 (1 + erf(x / sqrt(2))): an erf, three products and a sum.
template <class T>
counted<T> gelu(counted<T> x) {
  for (int product = 0; product < 3; ++product) detail::count(flop_kind::mul);
  detail::count(flop_kind::add);
  return counted<T>::tallied(flop_kind::erf, prumo::gelu(x.value()));
}

/// The approximation of gelu by tanh, x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel, 2016). It is
/// computed as x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)), which is equal and does not cancel for negative x.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C gelu_by_tanh(C x) {
  using T = plain_scalar_t<C>;
  constexpr double twice_sqrt_2_over_pi = 1.5957691216057307;
  const C linear = C(static_cast<T>(twice_sqrt_2_over_pi));
  const C cubic = C(static_cast<T>(twice_sqrt_2_over_pi * 0.044715));
  // At -infinity the limit of x sigmoid(..) is 0, but the product of its factors would be NaN.
  const C finite = detail::raised_to(x, -std::numeric_limits<T>::max());
  return finite * prumo::sigmoid(x * prumo::fma(cubic, x * x, linear));
}

}  // namespace prumo

PRUMO_END_PRECISE
