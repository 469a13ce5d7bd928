// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What tells one reduction from another. Kernels take it as a parameter and are compiled once for a sum and a mean,
/// and once for a maximum and a minimum: what these differ in is a value, not a type.
///
/// A policy has
/// - `stored`, the type in memory; `element`, what lift() makes of it; `accumulator`, what elements are joined into;
/// - `identity()`, `join(accumulator, element)`, `combine(accumulator, accumulator)`, which is commutative;
/// - `finish(accumulator, count)`, the result for this many elements;
/// - `idempotent`: whether joining an element twice changes nothing;
/// - `lifts_to_numbers`: whether lift() gives the number that an element is, not a key of it;
/// - `indexed`: whether elements have a position, join()'s third argument; results do not depend on the order then.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/math.hpp>
#include <prumo/reduction.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <limits>

namespace prumo::detail {

/// What the sums have in common.
template <class T>
struct additive_terms {
  using stored = T;
  using element = compute_t<T>;
  using accumulator = element;
  using result = T;
  static constexpr bool lifts_to_numbers = true;
  static constexpr bool idempotent = false;
  static constexpr bool indexed = false;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return accumulator(0); }
  KOKKOS_FORCEINLINE_FUNCTION element lift(const T& value) const { return static_cast<element>(value); }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION accumulator combine(accumulator a, accumulator b) const { return a + b; }
};

/// A sum, or a mean.
template <class T>
struct plain_terms : additive_terms<T> {
  using typename additive_terms<T>::accumulator;
  using typename additive_terms<T>::element;
  bool divide_by_count = false;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator sum, element value) const { return sum + value; }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION T finish(accumulator sum, std::int64_t count) const {
    return static_cast<T>(divide_by_count ? sum / static_cast<accumulator>(count) : sum);
  }
};

/// A sum of squares.
template <class T>
struct squared_terms : additive_terms<T> {
  using typename additive_terms<T>::accumulator;
  using typename additive_terms<T>::element;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator sum, element value) const {
    return prumo::fma(value, value, sum);
  }
  KOKKOS_FORCEINLINE_FUNCTION T finish(accumulator sum, std::int64_t) const { return static_cast<T>(sum); }
};

/// Floating-point numbers as integers of the same order, so that the larger of two is one instruction of every vector
/// unit, NaN and signed zeros included, and the order of comparing does not matter. 16-bit numbers are the upper half
/// of 32 bits.
template <class T>
struct ordered_bits {
  using integer = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using bits = std::make_unsigned_t<integer>;
  static constexpr int padding = sizeof(T) == 2 ? 16 : 0;
  static constexpr bits sign = bits{1} << (sizeof(bits) * 8 - 1);
  static constexpr int exponent_bits = std::is_same_v<T, double> ? 11 : std::is_same_v<T, f16> ? 5 : 8;
  static constexpr bits infinity = ((bits{1} << exponent_bits) - 1) << (sizeof(bits) * 8 - 1 - exponent_bits);
  static constexpr bits quiet = infinity ^ (infinity >> 1) ^ (bits{1} << (sizeof(bits) * 8 - 2));
  static constexpr integer lowest = std::numeric_limits<integer>::min();

  KOKKOS_FORCEINLINE_FUNCTION static bits from(const T& value) {
    if constexpr (sizeof(T) == 2) {
      return static_cast<bits>(value.bits) << padding;
    } else {
      return bit_cast<bits>(value);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static T back(bits number) {
    if constexpr (sizeof(T) == 2) {
      T result;
      result.bits = static_cast<std::uint16_t>(number >> padding);
      return result;
    } else {
      return bit_cast<T>(number);
    }
  }

  /// -0 below +0. The bits of numbers below zero run backwards; turned around they go from -NaN over -infinity and
  /// +infinity to +NaN. Taking away how many -NaN there are lets those wrap around to the top, above +NaN.
  KOKKOS_FORCEINLINE_FUNCTION static integer key(bits number) { return static_cast<integer>(turned(number) - wrap); }
  KOKKOS_FORCEINLINE_FUNCTION static bits number(integer key) { return turned(static_cast<bits>(key) + wrap); }

  /// -0 equal to +0, and all NaN equal.
  KOKKOS_FORCEINLINE_FUNCTION static integer key_without_signs_of_zero(bits number) {
    constexpr integer nan = static_cast<integer>(infinity - (wrap + 1) + 1);
    const auto below_zero = static_cast<bits>(static_cast<integer>(number) < 0 ? 1 : 0);
    const auto key = static_cast<integer>(turned(number) + below_zero - (wrap + 1));
    return key < nan ? key : nan;
  }

 private:
  static constexpr bits wrap = ~(infinity | sign) & ~sign;  // ... of key(-infinity) == lowest

  KOKKOS_FORCEINLINE_FUNCTION static bits turned(bits number) {
    const auto below_zero = static_cast<bits>(static_cast<integer>(number) >> (sizeof(bits) * 8 - 1));
    return number ^ (below_zero & ~sign);
  }
};

/// A maximum, or the minimum: of numbers with their signs flipped. NaN keep their payload and become quiet.
template <class T>
struct extreme_element {
  using order = ordered_bits<T>;
  using stored = T;
  using element = typename order::integer;
  using accumulator = element;
  using result = T;
  static constexpr bool lifts_to_numbers = false;
  static constexpr bool idempotent = true;
  static constexpr bool indexed = false;

  typename order::bits flipped = 0;  ///< the sign bit for a minimum

  explicit extreme_element(bool smallest) : flipped(smallest ? order::sign : 0) {}

  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return order::lowest; }
  KOKKOS_FORCEINLINE_FUNCTION element lift(const T& value) const { return order::key(order::from(value) ^ flipped); }
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator largest, element key) const {
    return largest > key ? largest : key;
  }
  KOKKOS_FORCEINLINE_FUNCTION accumulator combine(accumulator a, accumulator b) const { return join(a, b); }
  KOKKOS_FORCEINLINE_FUNCTION T finish(accumulator largest, std::int64_t) const {
    const typename order::bits number = order::number(largest) ^ flipped;
    return order::back((number & ~order::sign) > order::infinity ? number | order::quiet : number);
  }
};

/// The same on scalars that count: the operations that the integers stand for.
template <class T>
struct extreme_element<counted<T>> {
  using stored = counted<T>;
  using element = counted<T>;
  using accumulator = counted<T>;
  using result = counted<T>;
  static constexpr bool lifts_to_numbers = false;
  static constexpr bool idempotent = true;
  static constexpr bool indexed = false;

  bool smallest = false;

  explicit extreme_element(bool wants_smallest) : smallest(wants_smallest) {}

  accumulator identity() const {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return accumulator(smallest ? infinity : -infinity);
  }
  element lift(const stored& value) const { return value; }
  accumulator join(accumulator a, element b) const { return smallest ? minimum(a, b) : maximum(a, b); }
  accumulator combine(accumulator a, accumulator b) const { return join(a, b); }
  result finish(accumulator found, std::int64_t) const { return found; }
};

/// A key and where its element is.
template <class Integer>
struct indexed_key {
  Integer key;
  std::int64_t position;
};

/// Where the first of the largest elements is, or of the smallest.
template <class T>
struct extreme_position {
  using order = ordered_bits<T>;
  using stored = T;
  using element = typename order::integer;
  using accumulator = indexed_key<element>;
  using result = std::int64_t;
  static constexpr bool lifts_to_numbers = false;
  static constexpr bool idempotent = true;
  static constexpr bool indexed = true;
  static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

  typename order::bits flipped = 0;

  explicit extreme_position(bool smallest) : flipped(smallest ? order::sign : 0) {}

  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return {order::lowest, nowhere}; }
  KOKKOS_FORCEINLINE_FUNCTION element lift(const T& value) const {
    return order::key_without_signs_of_zero(order::from(value) ^ flipped);
  }
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator first, element key, std::int64_t position) const {
    return combine(first, {key, position});
  }
  KOKKOS_FORCEINLINE_FUNCTION accumulator combine(accumulator a, accumulator b) const {
    const bool takes_b = b.key > a.key || (b.key == a.key && b.position < a.position);
    return {takes_b ? b.key : a.key, takes_b ? b.position : a.position};
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t finish(accumulator found, std::int64_t) const { return found.position; }
};

/// The policy of a kind. Kinds with policies of one type share their kernels.
template <reduction Kind, class T>
auto policy_of() {
  if constexpr (Kind == reduction::sum || Kind == reduction::mean) {
    return plain_terms<T>{{}, Kind == reduction::mean};
  } else if constexpr (Kind == reduction::sum_of_squares) {
    return squared_terms<T>{};
  } else if constexpr (Kind == reduction::max || Kind == reduction::min) {
    return extreme_element<T>(Kind == reduction::min);
  } else {
    return extreme_position<T>(Kind == reduction::argmin);
  }
}

}  // namespace prumo::detail
