// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What tells one reduction from another. Kernels take it as a parameter and are compiled once for a sum and a mean,
/// and once for a maximum and a minimum: what these differ in is a value, not a type.
///
/// A policy is derived from its *joining*, which knows nothing of how elements are stored: code that takes a joining
/// alone is compiled once for f32, f16 and bf16. A joining has
/// - `element`, what is joined; `accumulator`, what elements are joined into;
/// - `identity()`, `join(accumulator, element)` and `combine(accumulator, accumulator)`, which is commutative; those of
///   sums take vectors, too;
/// - `idempotent`: whether joining an element twice changes nothing;
/// - `indexed`: whether elements have a position, join()'s third argument; results do not depend on the order then.
///
/// The policy adds
/// - `stored`, the type in memory, of which lift() makes an element;
/// - `lifts_to_numbers`: whether lift() gives the number that an element is, not a key of it;
/// - `finish(accumulator, count)`, the result for this many elements.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/math.hpp>
#include <prumo/reduction.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <limits>

namespace prumo::detail {

/// Adds elements.
template <class C>
struct joined_sum {
  using joining = joined_sum;
  using element = C;
  using accumulator = C;
  static constexpr bool idempotent = false;
  static constexpr bool indexed = false;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return accumulator(0); }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V join(V sum, V value) const {
    return sum + value;
  }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V combine(V a, V b) const {
    return a + b;
  }
};

/// Adds the squares of elements.
template <class C>
struct joined_squares : joined_sum<C> {
  using joining = joined_squares;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V join(V sum, V value) const {
    return prumo::fma(value, value, sum);
  }
};

/// What the sums have in common.
template <class T, class Joining>
struct summed_terms : Joining {
  using stored = T;
  using result = T;
  static constexpr bool lifts_to_numbers = true;

  KOKKOS_FORCEINLINE_FUNCTION compute_t<T> lift(const T& value) const { return static_cast<compute_t<T>>(value); }
};

/// A sum, or a mean.
template <class T>
struct plain_terms : summed_terms<T, joined_sum<compute_t<T>>> {
  using accumulator = compute_t<T>;
  bool divide_by_count = false;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION T finish(accumulator sum, std::int64_t count) const {
    return static_cast<T>(divide_by_count ? sum / static_cast<accumulator>(count) : sum);
  }
};

/// A sum of squares.
template <class T>
struct squared_terms : summed_terms<T, joined_squares<compute_t<T>>> {
  KOKKOS_FORCEINLINE_FUNCTION T finish(compute_t<T> sum, std::int64_t) const { return static_cast<T>(sum); }
};

/// Floating-point numbers as integers that have the same order, NaN and signed zeros included. Every vector unit finds
/// the larger of two integers by one instruction, and any order of comparing gives the same result. A 16-bit number is
/// the upper half of 32 bits.
template <class T>
struct ordered_bits {
  using integer = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using bits = std::make_unsigned_t<integer>;
  static constexpr int padding = sizeof(T) == 2 ? 16 : 0;
  static constexpr bits sign = bits{1} << (sizeof(bits) * 8 - 1);
  static constexpr int exponent_bits = std::is_same_v<T, double> ? 11 : std::is_same_v<T, f16> ? 5 : 8;
  static constexpr bits infinity = ((bits{1} << exponent_bits) - 1) << (sizeof(bits) * 8 - 1 - exponent_bits);
  static constexpr bits quiet = infinity ^ (infinity >> 1) ^ (bits{1} << (sizeof(bits) * 8 - 2));

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
  /// +infinity to +NaN. Subtracting the number of -NaNs lets those wrap around to the top, above +NaN.
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
  /// The number of NaNs of each sign. Subtracting it makes the key of -infinity the lowest integer.
  static constexpr bits wrap = ~(infinity | sign) & ~sign;

  KOKKOS_FORCEINLINE_FUNCTION static bits turned(bits number) {
    const auto below_zero = static_cast<bits>(static_cast<integer>(number) >> (sizeof(bits) * 8 - 1));
    return number ^ (below_zero & ~sign);
  }
};

/// Finds the largest of keys.
template <class Integer>
struct largest_key {
  using joining = largest_key;
  using element = Integer;
  using accumulator = Integer;
  static constexpr bool idempotent = true;
  static constexpr bool indexed = false;

  static constexpr Integer lowest = std::numeric_limits<Integer>::min();

  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return lowest; }
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator largest, element key) const {
    return largest > key ? largest : key;
  }
  KOKKOS_FORCEINLINE_FUNCTION accumulator combine(accumulator a, accumulator b) const { return join(a, b); }
};

/// A maximum, or the minimum: of numbers with their signs flipped. NaN keep their payload and become quiet.
template <class T>
struct extreme_element : largest_key<typename ordered_bits<T>::integer> {
  using order = ordered_bits<T>;
  using stored = T;
  using result = T;
  static constexpr bool lifts_to_numbers = false;

  typename order::bits flipped = 0;  ///< the sign bit for a minimum

  explicit extreme_element(bool smallest) : flipped(smallest ? order::sign : 0) {}

  KOKKOS_FORCEINLINE_FUNCTION typename order::integer lift(const T& value) const {
    return order::key(order::from(value) ^ flipped);
  }
  KOKKOS_FORCEINLINE_FUNCTION T finish(typename order::integer largest, std::int64_t) const {
    const typename order::bits number = order::number(largest) ^ flipped;
    return order::back((number & ~order::sign) > order::infinity ? number | order::quiet : number);
  }
};

/// The same on scalars that count: the operations that the integers stand for.
template <class T>
struct extreme_element<counted<T>> {
  using joining = extreme_element;
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

/// Finds the first of the largest keys.
template <class Integer>
struct first_largest_key {
  using joining = first_largest_key;
  using element = Integer;
  using accumulator = indexed_key<Integer>;
  using result = std::int64_t;
  static constexpr bool idempotent = true;
  static constexpr bool indexed = true;

  static constexpr Integer lowest = std::numeric_limits<Integer>::min();
  static constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();

  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return {lowest, last}; }
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator first, element key, std::int64_t position) const {
    return combine(first, {key, position});
  }
  KOKKOS_FORCEINLINE_FUNCTION accumulator combine(accumulator a, accumulator b) const {
    const bool takes_b = b.key > a.key || (b.key == a.key && b.position < a.position);
    return {takes_b ? b.key : a.key, takes_b ? b.position : a.position};
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t finish(accumulator found, std::int64_t) const { return found.position; }
};

/// Where the first of the largest elements is, or of the smallest.
template <class T>
struct extreme_position : first_largest_key<typename ordered_bits<T>::integer> {
  using order = ordered_bits<T>;
  using stored = T;
  static constexpr bool lifts_to_numbers = false;

  typename order::bits flipped = 0;

  explicit extreme_position(bool smallest) : flipped(smallest ? order::sign : 0) {}

  KOKKOS_FORCEINLINE_FUNCTION typename order::integer lift(const T& value) const {
    return order::key_without_signs_of_zero(order::from(value) ^ flipped);
  }
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
