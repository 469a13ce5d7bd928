// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Compares a result with the reference, and counts over many results.

#include "functions.hpp"
#include <prumo/detail/rounded_to_odd.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace prumo::accuracy {

/// An unsigned integer of the size of T.
template <class T>
using bits_of =
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

template <class T>
KOKKOS_FORCEINLINE_FUNCTION bits_of<T> to_bits(const T& value) {
  return Kokkos::bit_cast<bits_of<T>>(value);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T from_bits(std::uint64_t bits) {
  return Kokkos::bit_cast<T>(static_cast<bits_of<T>>(bits));
}

/// The findings over some arguments. An argument is stored as its bits.
struct tally {
  std::uint64_t arguments = 0;
  std::uint64_t correct = 0;    ///< results that are the exact value rounded to nearest
  std::uint64_t undecided = 0;  ///< results whose exact value is too close to a tie for the reference to decide
  std::uint64_t wrong = 0;      ///< results with a wrong NaN, infinity or sign of zero
  std::uint64_t wrong_at = 0;
  double ulps = 0;  ///< the largest error in units in the last place
  std::uint64_t ulps_at = 0;
  double epsilons = 0;  ///< the largest error in epsilon |x|, less half a unit if the result is rounded once more
  std::uint64_t epsilons_at = 0;

  /// Adds the findings of other arguments. The order does not matter.
  KOKKOS_FUNCTION void join(const tally& other) {
    arguments += other.arguments;
    correct += other.correct;
    undecided += other.undecided;
    if (other.wrong > 0 && (wrong == 0 || other.wrong_at < wrong_at)) wrong_at = other.wrong_at;
    wrong += other.wrong;
    keep_larger(ulps, ulps_at, other.ulps, other.ulps_at);
    keep_larger(epsilons, epsilons_at, other.epsilons, other.epsilons_at);
  }

  KOKKOS_FUNCTION static void keep_larger(double& error, std::uint64_t& at, double other, std::uint64_t other_at) {
    if (!(other > error || (other == error && other_at < at))) return;
    error = other;
    at = other_at;
  }
};

template <class T>
struct format;
template <>
struct format<float> {
  static constexpr int lowest = -126, highest = 127;
};
template <>
struct format<double> {
  static constexpr int lowest = -1022, highest = 1023;
};
template <>
struct format<f16> {
  static constexpr int lowest = -14, highest = 15;
};
template <>
struct format<bf16> {
  static constexpr int lowest = -126, highest = 127;
};

/// 2^exponent.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class W>
KOKKOS_FORCEINLINE_FUNCTION W power_of_two(int exponent) {
  if constexpr (std::is_same_v<W, double>) {
    return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  } else {
    return std::ldexp(W(1), exponent);
  }
}

/// One unit in the last place of T at a finite value. Below the smallest normal number it is the unit of that number.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class T, class W>
KOKKOS_FORCEINLINE_FUNCTION W ulp_of(W value) {
  int exponent = format<T>::lowest;
  if constexpr (std::is_same_v<W, double>) {
    const int own = static_cast<int>((Kokkos::bit_cast<std::uint64_t>(value) >> 52) & 0x7ffu) - 1023;
    exponent = own > exponent ? own : exponent;
  } else {
    if (value != W(0)) exponent = std::max(exponent, std::ilogb(value));
  }
  return power_of_two<W>(exponent - scalar_traits<T>::significand_bits + 1);
}

/// The value of T that is nearest, ties to even.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class T, class W>
KOKKOS_FORCEINLINE_FUNCTION T nearest(W value) {
  if constexpr (sizeof(T) == 2) {
    return T(prumo::detail::rounded_to_odd(value));
  } else {
    return static_cast<T>(value);
  }
}

/// The relative error that the reference may have when it decides about rounding, in its own units in the last place:
/// one for a square root, which is rounded once, 64 for gelu, which takes several steps, and eight for the others.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class W>
KOKKOS_FORCEINLINE_FUNCTION W doubt(function which) {
  const int unit = std::is_same_v<W, double> ? -53 : -64;
  if (which == function::sqrt) return power_of_two<W>(unit + 1);
  return power_of_two<W>(unit + (is_bounded_by_argument(which) ? 7 : 4));
}

/// Adds the result y of x to the findings.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class T, class W>
KOKKOS_FUNCTION void judge(function which, const T& x, const T& y, tally& found) {
  using C = compute_t<T>;
  const W argument = static_cast<W>(static_cast<C>(x));
  const W result = static_cast<W>(static_cast<C>(y));
  const W exact = reference<W>(which, argument);
  const T rounded = nearest<T, W>(exact);
  const C expected = static_cast<C>(rounded);
  ++found.arguments;

  tally here;
  here.arguments = 0;
  const bool no_number = Kokkos::isnan(exact) || Kokkos::isnan(result);
  const bool both = Kokkos::isnan(exact) && Kokkos::isnan(result);
  const bool pole = Kokkos::isinf(exact) || Kokkos::isinf(argument);
  // Zero as the result, by rounding too, has the sign of the exact value.
  const bool other_sign =
      !no_number && result == W(0) && Kokkos::signbit(static_cast<C>(y)) != Kokkos::signbit(expected);
  if ((no_number && !both) || (!no_number && pole && result != static_cast<W>(expected)) || other_sign) {
    here.wrong = 1;
    here.wrong_at = to_bits(x);
    found.join(here);
    return;
  }
  if (both || pole) {
    ++found.correct;
    return;
  }

  // Infinity stands for the next number after the largest.
  const W limit = power_of_two<W>(format<T>::highest) * W(2);
  const W value = exact > limit ? limit : exact < -limit ? -limit : exact;
  const W reached = result > limit ? limit : result < -limit ? -limit : result;
  const W unit = value == limit || value == -limit ? ulp_of<T, W>(limit / W(2)) : ulp_of<T, W>(value);
  const W distance = Kokkos::fabs(reached - value);
  const bool same = static_cast<C>(y) == expected;

  here.ulps = same && Kokkos::isinf(expected) ? 0 : static_cast<double>(distance / unit);
  here.ulps_at = to_bits(x);
  if (argument != W(0)) {
    const W smallest = power_of_two<W>(format<C>::lowest - scalar_traits<C>::significand_bits + 1);
    const W last_rounding = (sizeof(T) == 2 ? unit : smallest) / W(2);
    const W beyond = distance > last_rounding ? distance - last_rounding : W(0);
    const W epsilon = power_of_two<W>(1 - scalar_traits<C>::significand_bits);
    here.epsilons = static_cast<double>(beyond / (epsilon * Kokkos::fabs(argument)));
    here.epsilons_at = to_bits(x);
  }
  if (same) {
    here.correct = 1;
  } else {
    const T low = nearest<T, W>(exact * (W(1) - doubt<W>(which)));
    const T high = nearest<T, W>(exact * (W(1) + doubt<W>(which)));
    const bool is_other_side = static_cast<C>(y) == static_cast<C>(low) || static_cast<C>(y) == static_cast<C>(high);
    here.undecided = is_other_side ? 1 : 0;
  }
  found.join(here);
}

}  // namespace prumo::accuracy
