// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// prumo's own logarithm, for <prumo/math.hpp>, of single numbers and of vectors, as in ../host_math.hpp.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/exponents.hpp>
#include <prumo/detail/host_math.hpp>
#include <prumo/detail/math_constants.hpp>

#include <bit>
#include <limits>

PRUMO_BEGIN_PRECISE

namespace prumo::detail {

/// A number as 2^exponent (1 + fraction), where sqrt(1/2) <= 1 + fraction < sqrt(2).
template <class V>
struct exponent_and_fraction {
  V exponent, fraction;
};

/// For positive, finite numbers.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION exponent_and_fraction<V> split_near_one(V x) {
  using T = plain_scalar_t<V>;
  using constants = math_constants<T>;
  using word = typename constants::word;
  if constexpr (has_exponent_instructions<V>) {
    const V exponent = binary_exponent(x), of_one = significand(x);
    const auto is_large = of_one >= V(T(2) * std::bit_cast<T>(constants::sqrt_half));
    return {prumo::select(is_large, exponent + T(1), exponent),
            prumo::select(is_large, T(0.5) * of_one, of_one) - T(1)};
  } else {
    constexpr int shift = constants::significand_shift;
    constexpr word one = word{constants::exponent_bias} << shift;  // the bits of 1
    constexpr word fraction_mask = (word{1} << shift) - 1;
    constexpr T integers = static_cast<T>(word{1} << shift);  // from here to twice this number, numbers differ by one
    constexpr word integers_bits = word{constants::exponent_bias + shift} << shift;
    constexpr T bias = static_cast<T>(constants::exponent_bias);

    // Subnormal numbers have no leading one. Scaling by a power of two gives them one. Its exponent is subtracted
    // below, as bits: GCC 13 and 14 compute a comparison twice if two selections depend on it.
    const V scale = prumo::select(x < V(std::numeric_limits<T>::min()), V(integers), V(1));
    // The sum carries into the exponent if the fraction is sqrt(2) or more. The bits of 2^shift, which are more than
    // those of the scale, keep the difference below from being negative.
    const auto shifted = bits_of(x * scale) + (one - constants::sqrt_half + integers_bits);
    const V fraction = from_bits((shifted & fraction_mask) + constants::sqrt_half) - T(1);
    // The exponent is written into the last places of a large number, because not every processor can convert vectors
    // of 64-bit integers.
    const auto last_places = ((shifted - bits_of(scale)) >> shift) | integers_bits;
    return {from_bits(last_places) - V(integers + bias + T(shift)), fraction};
  }
}

/// log(x) = k ln 2 + log(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) where
/// s = f / (2 + f) (Muller, "Elementary Functions", 3rd edition, 2016, chapter 11; a minimax polynomial for R).
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class V>
KOKKOS_FORCEINLINE_FUNCTION V log_on_host(V x) {
  using T = plain_scalar_t<V>;
  using constants = math_constants<T>;
  const auto [k, f] = split_near_one(x);
  const V s = f / (T(2) + f);
  const V square = s * s;
  const V half_square = T(0.5) * f * f;
  const V high = k * constants::ln2_high;  // exact
  // high + f without an error, because |high| >= |f| if k is not 0 (Dekker 1971).
  const V sum = high + f;
  V low = prumo::fma(k, V(constants::ln2_low), (high - sum) + f);
  low = prumo::fma(s, prumo::fma(square, polynomial(constants::log_tail, square), half_square), low);
  low = prumo::fma(T(-0.5) * f, f, low);
  if constexpr (has_exponent_instructions<V>) {
    return with_limits_of_logarithm(sum + low, x);
  } else {
#if defined(__clang__) && defined(__FAST_MATH__) && !defined(__HIP__) && !defined(__CUDA__)
    // With -ffast-math, Clang supposes that no number is infinite. Its result of a selection between an infinity and
    // another number is then undefined.
    return sum + low;
#else
    using limits = std::numeric_limits<T>;
    const V finite = prumo::select(x < V(limits::infinity()), sum + low, V(limits::infinity()));
    const V outside = prumo::select(x == V(0), V(-limits::infinity()), V(limits::quiet_NaN()));
    return prumo::select(x > V(0), finite, outside);
#endif
  }
}

}  // namespace prumo::detail

PRUMO_END_PRECISE
