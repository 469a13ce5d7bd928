// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// prumo's own functions behind <prumo/math.hpp>, of single numbers and of vectors: V is `float`, `double` or a simd of
/// them, and T is the type of a number. They have no branches, tables and calls, so that compilers can vectorise loops
/// over single numbers, too. docs/accuracy.md has the measured errors.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/exponents.hpp>
#include <prumo/detail/host/simd_group.hpp>
#include <prumo/detail/math_constants.hpp>
#include <prumo/types.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

PRUMO_BEGIN_PRECISE

namespace prumo {

/// a * b + c. It is rounded once if the processor has a fused multiply-add, and twice otherwise. A library call that
/// emulates the instruction would cost a hundred times as much.
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

/// `a` where the condition holds, and `b` elsewhere. Formulas that run on vectors, too, call it instead of `?:`.
template <class A, class B>
KOKKOS_FORCEINLINE_FUNCTION auto select(bool condition, A a, B b) {
  return condition ? a : b;
}

/// |x|.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T abs(T x) {
  return Kokkos::fabs(x);
}

namespace detail {

/// c[First] + c[First + 1] x + c[First + 2] x^2 + ... by Horner's rule. C is T, counted<T> or simd<T>.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <std::size_t First = 0, class C, class T, std::size_t N>
KOKKOS_FORCEINLINE_FUNCTION C polynomial(const T (&coefficients)[N], C x) {
  C value(coefficients[N - 1]);
  PRUMO_UNROLL
  for (std::size_t index = N - 1; index > First; --index) {
    value = fma(value, x, C(coefficients[index - 1]));  // unqualified, because fma of counted<T> is declared later
  }
  return value;
}

KOKKOS_FORCEINLINE_FUNCTION std::uint32_t bits_of(float x) { return bit_cast<std::uint32_t>(x); }
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t bits_of(double x) { return bit_cast<std::uint64_t>(x); }
KOKKOS_FORCEINLINE_FUNCTION float from_bits(std::uint32_t bits) { return bit_cast<float>(bits); }
KOKKOS_FORCEINLINE_FUNCTION double from_bits(std::uint64_t bits) { return bit_cast<double>(bits); }

/// The magnitude with the sign of x.
template <class T>
  requires std::is_floating_point_v<T>
KOKKOS_FORCEINLINE_FUNCTION T with_sign_of(T x, T magnitude) {
  return Kokkos::copysign(magnitude, x);
}

/// The number that has to be added to x, so that the last places of the sum hold the exponent of 2^(n + shift), where n
/// is the integer nearest to x.
template <class T>
KOKKOS_FUNCTION constexpr T rounding_magic_for(int shift) {
  return math_constants<T>::rounding_magic + static_cast<T>(math_constants<T>::exponent_bias + shift);
}

/// The sum of a number and rounding_magic_for(), which has been rounded. A program's own formulas may be compiled with
/// -ffast-math, under which compilers take (x + magic) - magic for x. So the sum is hidden from them there.
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V rounded_sum(V sum) {
#if defined(__FAST_MATH__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDA_ARCH__)
  asm("" : "+m"(sum));
#endif
  return sum;
}

/// 2^(n + shift), from n + rounding_magic_for(shift). One shift moves the last places to where exponents are, and all
/// other bits out of the number.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V power_of_two(V shifted) {
  return from_bits(bits_of(shifted) << math_constants<plain_scalar_t<V>>::significand_shift);
}

/// exp(r) for |r| <= ln(2) / 2, by a minimax polynomial instead of the approximation of Cody and Waite.
///
/// With a fused multiply-add, the last step has an error of half a unit in the last place. The earlier steps and r
/// itself add less than half a unit. Over all arguments of exp the sum was measured to be 0.91, so exp is one of the
/// two numbers next to the exact one. Without a fused multiply-add each step would round twice. The rounding
/// error of 1 + r is itself a number of type T (Dekker 1971). It is added to the rest of the polynomial, which is a
/// tenth of the whole.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V exp_of_reduced(V r) {
  using T = plain_scalar_t<V>;
  constexpr exp_series<T> series;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__FP_FAST_FMA) || defined(__FMA__)
  return polynomial(series.coefficients, r);
#else
  const V head = T(1) + r;
  return head + (r * r * polynomial<2>(series.coefficients, r) + ((T(1) - head) + r));
#endif
}

/// x, or the bound if x is beyond it. A NaN fails the comparison and so stays a NaN.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V not_below(V x, plain_scalar_t<V> bound) {
  if constexpr (is_simd<V>) {
    return greater_or_second(V(bound), x);
  } else {
    return x < bound ? bound : x;
  }
}
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V not_above(V x, plain_scalar_t<V> bound) {
  if constexpr (is_simd<V>) {
    return lesser_or_second(V(bound), x);
  } else {
    return x > bound ? bound : x;
  }
}

/// exp(x) = 2^n exp(r), where x = n ln 2 + r, n = round(x / ln 2) and |r| <= ln(2) / 2 (Cody and Waite, "Software
/// Manual for the Elementary Functions", 1980, chapter 6). The product with 2^n may round only once. So without an
/// instruction for it, 2^n is split into two factors with half of n in each, and the product with the first one is
/// exact.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V exp_on_host(V x) {
  using T = plain_scalar_t<V>;
  using constants = math_constants<T>;
  const V not_infinite = not_above(x, constants::highest_exp);
  const V bounded = has_exponent_instructions<V> ? not_infinite : not_below(not_infinite, constants::lowest_exp);
  constexpr T magic = rounding_magic_for<T>(constants::exponent_bias);  // twice the bias: once for each factor
  const V shifted = rounded_sum(prumo::fma(bounded, V(constants::log2_e), V(magic)));
  const V n = shifted - magic;
  V r = prumo::fma(n, V(-constants::ln2_high), bounded);
  r = prumo::fma(n, V(-constants::ln2_low), r);
  if constexpr (has_exponent_instructions<V>) {
    return times_power_of_two(exp_of_reduced(r), n, x, V(constants::lowest_exp));
  } else {
    // In half of the large number, the places that power_of_two() keeps are zeros, too.
    const auto whole = bits_of(shifted);
    const auto half = whole >> 1;
    const V first = power_of_two(V(from_bits(half)));
    const V second = power_of_two(V(from_bits(whole - half)));
    return exp_of_reduced(r) * first * second;
  }
}

/// The smaller of two numbers that are not negative; b if one of them is a NaN. In double precision only a may be a
/// NaN. Single numbers of type float are compared as integers, which have the same order. Otherwise compilers would
/// compute what follows twice, for a and for a constant b, and select between the results in each step.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V smaller_magnitude(V a, V b) {
  if constexpr (std::is_same_v<V, float>) {
    const auto left = bits_of(a);
    const auto right = bits_of(b);
    return from_bits(left < right ? left : right);
  } else if constexpr (is_simd<V>) {
    return lesser_or_second(a, b);
  } else {
    return a < b ? a : b;
  }
}

/// exp(x) for an x that is not positive. For positive numbers the result means nothing. This function need not handle
/// overflow, and 2^n is one factor, which is scaled up to be a normal number. For -infinity, of which masks of
/// attention consist, the factor is 0, because Intel's processors take more than a hundred cycles for a product that is
/// too small.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V exp_of_nonpositive_on_host(V x) {
  using T = plain_scalar_t<V>;
  using constants = math_constants<T>;
  const V bounded = has_exponent_instructions<V> ? x : not_below(x, constants::least_scaled_exp);
  constexpr T magic = rounding_magic_for<T>(constants::subnormal_shift);
  const V shifted = rounded_sum(prumo::fma(bounded, V(constants::log2_e), V(magic)));
  const V n = shifted - magic;
  V r = prumo::fma(n, V(-constants::ln2_high), bounded);
  r = prumo::fma(n, V(-constants::ln2_low), r);
  if constexpr (has_exponent_instructions<V>) {
    return times_power_of_two(exp_of_reduced(r), n, x, V(constants::lowest_exp));
  } else {
    return exp_of_reduced(r) * power_of_two(shifted) * constants::from_shifted;
  }
}

/// 1 / (1 + exp(-x)) as s / (s + s exp(-x)), where s is so small that s exp(-x) does not overflow if the quotient is
/// subnormal. The sum and the product with 2^n are rounded together, once.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V sigmoid_on_host(V x) {
  using T = plain_scalar_t<V>;
  using constants = math_constants<T>;
  constexpr auto series = with_argument_times(-1, exp_series<T>{});
  constexpr T enough = 40;  // from here on the result is 1
  const V bounded = not_above(not_below(x, constants::lowest_exp), enough);
  constexpr T magic = rounding_magic_for<T>(-constants::subnormal_shift);
  const V shifted = rounded_sum(prumo::fma(bounded, V(-constants::log2_e), V(magic)));
  const V n = shifted - magic;
  V negative_r = prumo::fma(n, V(constants::ln2_high), bounded);
  negative_r = prumo::fma(n, V(constants::ln2_low), negative_r);
  const V growth = polynomial(series.coefficients, negative_r);
  return constants::from_shifted / prumo::fma(growth, power_of_two(shifted), V(constants::from_shifted));
}

/// tanh(x) = h / (1 + h), where h = (exp(2 |x|) - 1) / 2. It is computed from |x|, so that -0 stays -0.
///
/// Between n ln 2 and (n + 1) ln 2, exp(2 |x|) - 1 is 2^n (exp(2p) - 1) + (2^n - 1). Nothing cancels in this sum, and
/// it rounds once. The quotient is computed as a - a^2 / (1 + h), where a is the smaller of h and 1. So its large part
/// has the error of h or none, and the division's part is small or has a small derivative. Together the sum and the
/// quotient then have an error of less than two units in the last place.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V tanh_on_host(V x) {
  using T = plain_scalar_t<V>;
  using constants = math_constants<T>;
  constexpr T enough = 20;  // from here on the result is 1
  const V bounded = not_above(prumo::abs(x), enough);
  constexpr T magic = rounding_magic_for<T>(-1);
  // A little less than a half is subtracted, because with a half 0 would be rounded to -1.
  constexpr T downwards = T(-63) / T(128);
  const V shifted = rounded_sum(prumo::fma(bounded, V(2 * constants::log2_e), V(downwards)) + magic);
  const V n = shifted - magic;
  // One number is enough for ln 2: its error is multiplied by n, but the derivative of tanh makes it small again.
  const V p = prumo::fma(n, V(T(-0.5) * constants::ln2), bounded);
  const V twice_expm1 = prumo::fma(p * p, polynomial(constants::twice_expm1_tail, p), p + p);
  const V half_power = power_of_two(shifted);  // 2^(n - 1)
  const V h = prumo::fma(twice_expm1, half_power, half_power - T(0.5));
  const V a = smaller_magnitude(h, V(1));
  return with_sign_of(x, a - a * a / (T(1) + h));
}

/// tanh(x) of float or a vector of it, for results that are rounded to 16 bits: the quotient of x P(x^2) and D(x^2),
/// with an error of some 2^-22 relative to the result. It takes half of the instructions of tanh_on_host(). The results
/// of all numbers of f16 and of bf16 were found to be those of the exact tanh, rounded.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V tanh_for_halves_on_host(V x) {
  using constants = math_constants<float>;
  const V bounded = not_above(not_below(x, -constants::half_tanh_bound), constants::half_tanh_bound);
  const V square = bounded * bounded;
  return close_quotient(bounded * polynomial(constants::half_tanh_above, square),
                        polynomial(constants::half_tanh_below, square));
}

}  // namespace detail
}  // namespace prumo

PRUMO_END_PRECISE
