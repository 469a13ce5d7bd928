// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The mathematics that kernels call, for `float`, `double` and their counted twins. On the host the functions are
/// free of branches and calls, so that a loop over them is vectorised; on a device they are the device's own.
///
/// Largest errors on the host, in units in the last place, over the whole range, subnormal results included:
/// exp 1, tanh 2, sigmoid 3, log 1. NaN passes through; exp overflows to infinity and underflows to zero as the exact
/// function would. Coefficients: core/tools/fit_polynomials.py.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/types.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo {

/// a * b + c, rounded once where the processor has a fused multiply-add and twice where it has none: a library call
/// that emulates one would cost a hundred times as much.
KOKKOS_FORCEINLINE_FUNCTION float fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__FP_FAST_FMAF) || defined(__FMA__)
  return Kokkos::fma(a, b, c);
#else
  return a * b + c;
#endif
}
KOKKOS_FORCEINLINE_FUNCTION double fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__FP_FAST_FMA) || defined(__FMA__)
  return Kokkos::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// The larger of two numbers; NaN where either is NaN, as IEEE 754-2019 maximum.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T maximum(T a, T b) {
  // a > b is false for a NaN on either side; the second selection puts a's NaN back.
  const T larger = a > b ? a : b;
  return a == a ? larger : a;  // NOLINT(misc-redundant-expression)
}

/// The smaller of two numbers; NaN where either is NaN, as IEEE 754-2019 minimum.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T minimum(T a, T b) {
  const T smaller = a < b ? a : b;
  return a == a ? smaller : a;  // NOLINT(misc-redundant-expression)
}

namespace detail {

/// What exp(), tanh() and log() need to know of a floating-point type.
template <class T>
struct exp_constants;

template <>
struct exp_constants<float> {
  using integer = std::int32_t;
  static constexpr int significand_shift = 23;
  static constexpr integer exponent_bias = 127;
  static constexpr float rounding_magic = 0x1.8p23f;  // adding it leaves an integer in the low significand bits
  static constexpr float log2_e = 0x1.715476p0f;
  static constexpr float ln2_high = 0x1.62e4p-1f;  // 15 bits: its product with an exponent is exact
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float lowest = -105.0f;  // below, the result is zero
  static constexpr float highest = 90.0f;   // above, the result is infinite
  static constexpr float exp_tail[] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558eap-5f, 0x1.12394cp-7f, 0x1.6a26aep-10f};
  static constexpr float tanh_tail[] = {-0x1.555554p-2f, 0x1.11106ep-3f,  -0x1.b9f006p-5f,
                                        0x1.6399d8p-6f,  -0x1.0c3710p-7f, 0x1.19c33ap-9f};
  static constexpr float smallest_normal = 0x1p-126f;
  static constexpr integer root_half_bits = 0x3f3504f3;  // of sqrt(1/2)
  static constexpr float log_tail[] = {0x1.555554p-1f, 0x1.999a78p-2f, 0x1.24394ep-2f, 0x1.e2e734p-3f};
};

template <>
struct exp_constants<double> {
  using integer = std::int64_t;
  static constexpr int significand_shift = 52;
  static constexpr integer exponent_bias = 1023;
  static constexpr double rounding_magic = 0x1.8p52;
  static constexpr double log2_e = 0x1.71547652b82fep0;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1;  // 42 bits
  static constexpr double ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double lowest = -746.0;
  static constexpr double highest = 710.0;
  static constexpr double exp_tail[] = {0x1.0000000000009p-1,  0x1.55555555554fcp-3,  0x1.5555555550b7fp-5,
                                        0x1.11111111278cdp-7,  0x1.6c16c1839f9dfp-10, 0x1.a01a012a633c2p-13,
                                        0x1.a0199b4ea4776p-16, 0x1.71df26d459b32p-19, 0x1.28ac6c19bd290p-22,
                                        0x1.ad7b21ea149aep-26};
  static constexpr double tanh_tail[] = {-0x1.5555555555552p-2,  0x1.1111111110ca8p-3,   -0x1.ba1ba1b9d5c61p-5,
                                         0x1.664f4871951fcp-6,   -0x1.226e32e79d553p-7,  0x1.d6d35dafd7f3dp-9,
                                         -0x1.7d9c5d23faeffp-10, 0x1.350cdbd71460dp-11,  -0x1.f1217fb8afc0dp-13,
                                         0x1.804b9a0f8302dp-14,  -0x1.fb8090d1e3f46p-16, 0x1.9743c39730545p-18};
  static constexpr double smallest_normal = 0x1p-1022;
  static constexpr integer root_half_bits = 0x3fe6a09e667f3bcd;
  static constexpr double log_tail[] = {0x1.5555555555555p-1, 0x1.9999999999dc6p-2, 0x1.249249242ec30p-2,
                                        0x1.c71c725596ce2p-3, 0x1.745cdf1d9758ep-3, 0x1.3b2088fdf77b2p-3,
                                        0x1.0f5f7d36af816p-3, 0x1.0f4cef476006dp-3};
};

template <class T, std::size_t N>
KOKKOS_FORCEINLINE_FUNCTION T polynomial(const T (&coefficients)[N], T x) {
  T value = coefficients[N - 1];
  PRUMO_UNROLL
  for (std::size_t degree = N - 1; degree > 0; --degree) value = prumo::fma(value, x, coefficients[degree - 1]);
  return value;
}

/// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2) / 2 (Cody and Waite, "Software Manual for the
/// Elementary Functions", 1980, chapter 6, with a minimax polynomial in place of theirs).
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T exp_on_host(T x) {
  using constants = exp_constants<T>;
  using integer = typename constants::integer;
  // Written so that a NaN fails both comparisons and stays.
  T bounded = x < constants::lowest ? constants::lowest : x;
  bounded = bounded > constants::highest ? constants::highest : bounded;
  const T shifted = prumo::fma(bounded, constants::log2_e, constants::rounding_magic);
  const T n = shifted - constants::rounding_magic;
  T r = prumo::fma(n, -constants::ln2_high, bounded);
  r = prumo::fma(n, -constants::ln2_low, r);
  const T tail = polynomial(constants::exp_tail, r);
  const T fraction = prumo::fma(r * r, tail, r) + T(1);
  const integer exponent =
      static_cast<integer>(bit_cast<integer>(shifted) - bit_cast<integer>(constants::rounding_magic));
  // 2^n in two factors: the first product is exact, so a subnormal result is rounded once only.
  const integer half = exponent >> 1;
  const T scale = bit_cast<T>(static_cast<integer>((half + constants::exponent_bias) << constants::significand_shift));
  const T rest =
      bit_cast<T>(static_cast<integer>((exponent - half + constants::exponent_bias) << constants::significand_shift));
  return fraction * scale * rest;
}

/// tanh(x): an odd polynomial up to 0.625, beyond it 1 - 2 / (1 + exp(2 |x|)); of |x|, so that -0 stays -0.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T tanh_on_host(T x) {
  const T magnitude = Kokkos::fabs(x);
  const T square = magnitude * magnitude;
  const T near_zero = prumo::fma(magnitude * square, polynomial(exp_constants<T>::tanh_tail, square), magnitude);
  const T far = T(1) - T(2) / (T(1) + exp_on_host(T(2) * magnitude));
  return Kokkos::copysign(magnitude < T(0.625) ? near_zero : far, x);
}

/// log(x) = n ln 2 + log(1 + f) with x = 2^n (1 + f) and 1 + f between sqrt(1/2) and sqrt(2);
/// log(1 + f) = 2 atanh(s) with s = f / (2 + f), summed up from the small terms to the large ones
/// (Tang, "Table-driven implementation of the logarithm function", ACM TOMS 16, 1990, for the case near 1).
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T log_on_host(T x) {
  using constants = exp_constants<T>;
  using integer = typename constants::integer;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  // Subnormal numbers are made normal first.
  constexpr int lift = constants::significand_shift + 1;
  constexpr T lift_factor = static_cast<T>(integer{1} << lift);
  const bool small = x < constants::smallest_normal;
  const T normal = small ? x * lift_factor : x;
  // Counted from sqrt(1/2) on, so that the significand ends up around 1.
  const integer exponent =
      static_cast<integer>(bit_cast<integer>(normal) - constants::root_half_bits) >> constants::significand_shift;
  const T significand =
      bit_cast<T>(static_cast<integer>(bit_cast<integer>(normal) - (exponent << constants::significand_shift)));
  const T n = static_cast<T>(exponent) - (small ? T(lift) : T(0));
  const T f = significand - T(1);
  const T s = f / (T(2) + f);
  const T z = s * s;
  const T half_square = T(0.5) * f * f;
  const T tail = s * prumo::fma(z, polynomial(constants::log_tail, z), half_square);
  const T low = prumo::fma(n, constants::ln2_low, tail);
  const T finite = prumo::fma(n, constants::ln2_high, f - (half_square - low));
  // Zero, negative numbers, infinity and NaN.
  const T beyond = x == T(0) ? -infinity : (x < T(0) ? nan : x);
  return x > T(0) && x < infinity ? finite : beyond;
}

}  // namespace detail

/// e^x.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T exp(T x) {
  KOKKOS_IF_ON_HOST((return detail::exp_on_host(x);))
  KOKKOS_IF_ON_DEVICE((return Kokkos::exp(x);))
}

/// The natural logarithm.
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

/// |x|.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T abs(T x) {
  return Kokkos::fabs(x);
}

/// The square root, correctly rounded.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T sqrt(T x) {
  return Kokkos::sqrt(x);
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
template <class T>
counted<T> abs(counted<T> x) {
  return counted<T>(prumo::abs(x.value()));
}

/// 1 / (1 + e^-x), without overflow on the way: exp is taken of -|x| only.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C sigmoid(C x) {
  const C decay = prumo::exp(-prumo::abs(x));
  return (x < C(0) ? decay : C(1)) / (C(1) + decay);
}

}  // namespace prumo
