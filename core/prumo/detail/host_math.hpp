// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The mathematics behind <prumo/math.hpp> that is prumo's own: free of branches, tables and calls, so that a loop over
/// it is vectorised. Coefficients: core/tools/fit_polynomials.py. Measured errors: docs/accuracy.md.

#include <prumo/detail/compiler.hpp>
#include <prumo/types.hpp>

#include <cmath>
#include <cstddef>
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

namespace detail {

/// What the functions below need to know of a floating-point type.
template <class T>
struct math_constants;

template <>
struct math_constants<float> {
  using integer = std::int32_t;
  using word = std::uint32_t;
  static constexpr int significand_shift = 23;
  static constexpr integer exponent_bias = 127;
  static constexpr float rounding_magic = 0x1.8p23f;  // adding it leaves an integer in the low significand bits
  static constexpr float log2_e = 0x1.715476p0f;
  static constexpr float log2_e_low = 0x1.4ae0cp-26f;
  static constexpr float ln2 = 0x1.62e43p-1f;
  static constexpr float ln2_high = 0x1.62e4p-1f;  // 15 bits: its product with an exponent is exact
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float lowest_exp = -105.0f;  // below, exp is zero
  static constexpr float highest_exp = 90.0f;   // above, exp is infinite
  static constexpr float tanh_tail[] = {-0x1.555554p-2f, 0x1.11106ep-3f,  -0x1.b9f006p-5f,
                                        0x1.6399d8p-6f,  -0x1.0c3710p-7f, 0x1.19c33ap-9f};
  static constexpr word sqrt_half = 0x3f3504f3u;  // the bits of sqrt(1/2)
  static constexpr float log_tail[] = {0x1.55557ap-1f, 0x1.995e7ep-2f, 0x1.31e9dep-2f};
};

template <>
struct math_constants<double> {
  using integer = std::int64_t;
  using word = std::uint64_t;
  static constexpr int significand_shift = 52;
  static constexpr integer exponent_bias = 1023;
  static constexpr double rounding_magic = 0x1.8p52;
  static constexpr double log2_e = 0x1.71547652b82fep0;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1;  // 42 bits
  static constexpr double ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double lowest_exp = -746.0;
  static constexpr double highest_exp = 710.0;
  static constexpr double tanh_tail[] = {-0x1.5555555555552p-2,  0x1.1111111110ca8p-3,   -0x1.ba1ba1b9d5c61p-5,
                                         0x1.664f4871951fcp-6,   -0x1.226e32e79d553p-7,  0x1.d6d35dafd7f3dp-9,
                                         -0x1.7d9c5d23faeffp-10, 0x1.350cdbd71460dp-11,  -0x1.f1217fb8afc0dp-13,
                                         0x1.804b9a0f8302dp-14,  -0x1.fb8090d1e3f46p-16, 0x1.9743c39730545p-18};
  static constexpr word sqrt_half = 0x3fe6a09e667f3bcdu;
  static constexpr double log_tail[] = {0x1.5555555555593p-1, 0x1.999999997f8f7p-2, 0x1.249249423a9f0p-2,
                                        0x1.c71c51c90ca3ep-3, 0x1.74664cfb3af5dp-3, 0x1.39a03a397ef21p-3,
                                        0x1.2f1552439d81ep-3};
};

// Coefficients that gelu() needs, by value: it runs on devices, which cannot refer to the host's arrays.

/// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class T>
struct exp_tail;

template <>
struct exp_tail<float> {
  float coefficients[5] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558eap-5f, 0x1.12394cp-7f, 0x1.6a26aep-10f};
};

template <>
struct exp_tail<double> {
  double coefficients[10] = {0x1.0000000000009p-1,  0x1.55555555554fcp-3,  0x1.5555555550b7fp-5,  0x1.11111111278cdp-7,
                             0x1.6c16c1839f9dfp-10, 0x1.a01a012a633c2p-13, 0x1.a0199b4ea4776p-16, 0x1.71df26d459b32p-19,
                             0x1.28ac6c19bd290p-22, 0x1.ad7b21ea149aep-26};
};

/// The tail of the normal distribution, up to an argument whose product with it is zero.
template <class T>
struct normal_tail;

template <>
struct normal_tail<float> {
  float largest = 14.5f;
  int exponent_shift = 64;
  float smaller = 0x1p-64f;
  float coefficients[10] = {0x1p-1f,        -0x1.188464p0f, 0x1.4ef9ccp0f,   -0x1.98e802p-1f, 0x1.40c346p-4f,
                            0x1.4528cap-3f, 0x1.a4e216p-6f, -0x1.2e81f8p-3f, 0x1.6660aep-4f,  -0x1.14c3f4p-6f};
};

template <>
struct normal_tail<double> {
  double largest = 39.0;
  int exponent_shift = 128;
  double smaller = 0x1p-128;
  double coefficients[22] = {0x1p-1,
                             -0x1.1884533d436fbp+0,
                             0x1.4ef759857faf2p+0,
                             -0x1.989d6b558945cp-1,
                             0x1.2e7c3797a834dp-4,
                             0x1.6e9bbce726124p-3,
                             -0x1.ecc2c0d7f37b5p-6,
                             -0x1.be7450e06180cp-5,
                             -0x1.11d23f3d94dcfp-12,
                             0x1.0d07d306cc664p-6,
                             0x1.69943676ab63ap-7,
                             -0x1.2f12280141e44p-6,
                             0x1.0101dcf80399cp-5,
                             -0x1.09b9af7323289p-4,
                             0x1.686f9818031aep-4,
                             -0x1.4fe263611a66ep-4,
                             0x1.883dac7be9bd0p-5,
                             -0x1.1c74dbb98bf39p-8,
                             -0x1.38553f800d4f7p-6,
                             0x1.0875a1ebb5ec2p-6,
                             -0x1.7b546d81b869ap-8,
                             0x1.acc1a84d571e9p-11};
};

/// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule; C is T, or counts the operations on it.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C, class T, std::size_t N>
KOKKOS_FORCEINLINE_FUNCTION C polynomial(const T (&coefficients)[N], C x) {
  C value(coefficients[N - 1]);
  PRUMO_UNROLL
  for (std::size_t degree = N - 1; degree > 0; --degree) {
    value = fma(value, x, C(coefficients[degree - 1]));  // unqualified: that of counted<T> is declared later
  }
  return value;
}

/// x = n ln 2 + r with n = round(x / ln 2) and |r| <= ln(2) / 2, so that exp(x) = 2^n exp(r) (Cody and Waite, "Software
/// Manual for the Elementary Functions", 1980, chapter 6).
template <class T>
struct exp_argument {
  T shifted;  ///< n in the last places of a large number
  T r;

  KOKKOS_FORCEINLINE_FUNCTION explicit exp_argument(T x) {
    using constants = math_constants<T>;
    shifted = prumo::fma(x, constants::log2_e, constants::rounding_magic);
    const T n = shifted - constants::rounding_magic;
    r = prumo::fma(n, -constants::ln2_high, x);
    r = prumo::fma(n, -constants::ln2_low, r);
  }

  /// 2^n y. In two factors: the first product is exact, so a subnormal result is rounded once only.
  KOKKOS_FORCEINLINE_FUNCTION T scaled(T y) const {
    using constants = math_constants<T>;
    using integer = typename constants::integer;
    const auto n = static_cast<integer>(bit_cast<integer>(shifted) - bit_cast<integer>(constants::rounding_magic));
    const integer half = n >> 1;
    return y * power_of_two(half) * power_of_two(n - half);
  }

  /// 2^n y for an n that is an exponent of normal numbers.
  KOKKOS_FORCEINLINE_FUNCTION T scaled_at_once(T y) const {
    using constants = math_constants<T>;
    using word = typename constants::word;
    const auto biased = static_cast<word>(bit_cast<word>(shifted) + static_cast<word>(constants::exponent_bias));
    return y * bit_cast<T>(static_cast<word>(biased << constants::significand_shift));
  }

 private:
  template <class Integer>
  KOKKOS_FORCEINLINE_FUNCTION static T power_of_two(Integer n) {
    using constants = math_constants<T>;
    return bit_cast<T>(static_cast<Integer>((n + constants::exponent_bias) << constants::significand_shift));
  }
};

/// exp(x), a minimax polynomial in place of Cody's and Waite's.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T exp_on_host(T x) {
  using constants = math_constants<T>;
  constexpr exp_tail<T> rest_of_series;
  // Written so that a NaN fails both comparisons and stays.
  T bounded = x < constants::lowest_exp ? constants::lowest_exp : x;
  bounded = bounded > constants::highest_exp ? constants::highest_exp : bounded;
  const exp_argument<T> argument(bounded);
  const T r = argument.r;
  const T tail = polynomial(rest_of_series.coefficients, r);
  // What 1 + r loses is exact (Dekker 1971) and goes into the rest, a tenth of the whole: so the result is one of the
  // two numbers next to the exact one.
  const T head = T(1) + r;
  return argument.scaled(head + prumo::fma(r * r, tail, (T(1) - head) + r));
}

/// 1 / (1 + exp(-x)) of exp(-|x|), which is at most 1 and goes into a quotient: its last place is worth less than the
/// time that exp_on_host() has for it.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T sigmoid_on_host(T x) {
  using constants = math_constants<T>;
  constexpr exp_tail<T> rest_of_series;
  const T exponent = -Kokkos::fabs(x);
  const exp_argument<T> argument(exponent < constants::lowest_exp ? constants::lowest_exp : exponent);
  const T r = argument.r;
  const T decay = argument.scaled(T(1) + prumo::fma(r * r, polynomial(rest_of_series.coefficients, r), r));
  return (x < T(0) ? decay : T(1)) / (T(1) + decay);
}

/// tanh(x): an odd polynomial up to 0.625, beyond it 1 - 2 / (1 + exp(2 |x|)); of |x|, so that -0 stays -0.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T tanh_on_host(T x) {
  constexpr exp_tail<T> rest_of_series;
  const T magnitude = Kokkos::fabs(x);
  const T square = magnitude * magnitude;
  const T near_zero = prumo::fma(magnitude * square, polynomial(math_constants<T>::tanh_tail, square), magnitude);
  // From here on the result is 1; a NaN fails the comparison and stays.
  constexpr T enough = 20;
  const exp_argument<T> argument(T(2) * (magnitude > enough ? enough : magnitude));
  const T r = argument.r;
  const T growth = argument.scaled_at_once(T(1) + prumo::fma(r * r, polynomial(rest_of_series.coefficients, r), r));
  const T far = T(1) - T(2) / (T(1) + growth);
  return Kokkos::copysign(magnitude < T(0.625) ? near_zero : far, x);
}

/// log(x) = k ln 2 + log(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) where
/// s = f / (2 + f) (Muller, "Elementary Functions", 3rd edition, 2016, chapter 11; a minimax polynomial for R).
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T log_on_host(T x) {
  using constants = math_constants<T>;
  using limits = std::numeric_limits<T>;
  using word = typename constants::word;
  constexpr int shift = constants::significand_shift;
  constexpr word one = word{constants::exponent_bias} << shift;  // the bits of 1
  constexpr word fraction_mask = (word{1} << shift) - 1;
  constexpr T integers = static_cast<T>(word{1} << shift);  // from here to twice as much, numbers count by one
  constexpr word integers_bits = word{constants::exponent_bias + shift} << shift;
  constexpr T bias = static_cast<T>(constants::exponent_bias);

  // Subnormal numbers have no leading one; as many binary places further up they have.
  const bool is_subnormal = x < limits::min();
  const T normal = is_subnormal ? x * integers : x;
  // The sum carries into the exponent where the fraction reaches sqrt(2).
  const word shifted = static_cast<word>(bit_cast<word>(normal) + (one - constants::sqrt_half));
  const T f = bit_cast<T>(static_cast<word>((shifted & fraction_mask) + constants::sqrt_half)) - T(1);
  // An exponent in the last places of a large number: vectors of 64-bit integers have no conversion everywhere.
  const T biased = bit_cast<T>(static_cast<word>((shifted >> shift) | integers_bits));
  const T k = biased - (is_subnormal ? integers + bias + T(shift) : integers + bias);

  const T s = f / (T(2) + f);
  const T square = s * s;
  const T half_square = T(0.5) * f * f;
  const T high = k * constants::ln2_high;  // exact
  // high + f without an error: |high| >= |f| wherever k is not 0 (Dekker 1971).
  const T sum = high + f;
  T low = prumo::fma(k, constants::ln2_low, (high - sum) + f);
  low = prumo::fma(s, prumo::fma(square, polynomial(constants::log_tail, square), half_square), low);
  low = prumo::fma(T(-0.5) * f, f, low);
  const T finite = x < limits::infinity() ? sum + low : limits::infinity();
  const T outside = x == T(0) ? -limits::infinity() : limits::quiet_NaN();
  return x > T(0) ? finite : outside;
}

}  // namespace detail
}  // namespace prumo
