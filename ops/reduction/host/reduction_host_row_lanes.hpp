// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What is done with the elements of short rows on a host, a vector at a time.

#include "problem/reduction_policy.hpp"
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/row_tree.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Numbers of T as vectors add them. 16-bit numbers have as many bytes as half of a vector, where they can be widened.
template <class T>
inline constexpr bool widens_pieces = std::is_same_v<T, bf16> || has_vector_widening<T>;
template <class T, class Stored>
[[gnu::always_inline]] inline auto widened_pieces(Stored narrow) {
  if constexpr (std::is_same_v<T, bf16>) {
    using words = vector_of<std::uint32_t, row_vector_bytes>;
    return std::bit_cast<vector_of<float, row_vector_bytes>>(__builtin_convertvector(narrow, words) << 16);
  } else if constexpr (has_vector_widening<T>) {
#if defined(__AVX2__) && defined(__F16C__)
    return std::bit_cast<vector_of<float, row_vector_bytes>>(_mm256_cvtph_ps(std::bit_cast<__m128i>(narrow)));
#else
    static_assert(row_vector_bytes == simd_bytes);
    return load_vector(reinterpret_cast<const T*>(&narrow)).value();
#endif
  } else {
    return narrow;
  }
}

/// Sums: what rows of these numbers, or of their squares, amount to.
template <class T, bool Squares>
struct summed_rows {
  using word = compute_t<T>;
  using stored = std::conditional_t<sizeof(T) == 2, std::uint16_t, word>;
  using vector = vector_of<word, row_vector_bytes>;
  static constexpr bool idempotent = false;
  static constexpr word identity = 0;

  template <class Loaded>
  static vector lift(Loaded loaded) {
    const vector numbers = widened_pieces<T>(loaded);
    if constexpr (Squares) {
      return numbers * numbers;
    } else {
      return numbers;
    }
  }
  static vector join(vector a, vector b) { return a + b; }
};
template <class Policy>
inline constexpr bool squares_terms = false;
template <class T>
inline constexpr bool squares_terms<squared_terms<T>> = true;

/// finish() of a sum's policy for the sums in a vector.
template <class T, class Vector>
Vector finished(const plain_terms<T>& policy, Vector sums, std::int64_t count) {
  return policy.divide_by_count ? sums / static_cast<compute_t<T>>(count) : sums;
}
template <class T, class Vector>
Vector finished(const squared_terms<T>&, Vector sums, std::int64_t) {
  return sums;
}

/// The largest integer of each row.
template <class Integer>
struct largest_of_rows {
  using word = Integer;
  using stored = Integer;
  using vector = vector_of<Integer, row_vector_bytes>;
  static constexpr bool idempotent = true;
  static constexpr Integer identity = std::numeric_limits<Integer>::min();

  static vector lift(vector keys) { return keys; }
  static vector join(vector a, vector b) { return a > b ? a : b; }
};

/// ordered_bits for vectors of words as wide as T. Words have no sign, so that sums may wrap around, and keys have one.
template <class T>
struct keys_of_words {
  using bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, typename ordered_bits<T>::bits>;
  using key_type = std::make_signed_t<bits>;
  static constexpr auto sign = static_cast<bits>(ordered_bits<T>::sign >> ordered_bits<T>::padding);
  static constexpr auto infinity = static_cast<bits>(ordered_bits<T>::infinity >> ordered_bits<T>::padding);
  static constexpr auto quiet = static_cast<bits>(ordered_bits<T>::quiet >> ordered_bits<T>::padding);
  static constexpr auto magnitude = static_cast<bits>(~sign);

  template <class Words>
  static auto key(Words numbers) {
    return as_keys(numbers ^ (signs_of(numbers) & magnitude), wrap);
  }
  template <class Keys>
  static auto number(Keys keys) {
    const auto turned = std::bit_cast<vector_of<bits, sizeof(Keys)>>(keys) + wrap;
    return turned ^ (signs_of(turned) & magnitude);
  }
  /// -0 equal to +0, and all NaN equal.
  template <class Words>
  static auto key_without_signs_of_zero(Words numbers) {
    using keys = vector_of<key_type, sizeof(Words)>;
    const Words signs = signs_of(numbers);
    const keys found = as_keys((numbers ^ (signs & magnitude)) - signs, static_cast<bits>(wrap + 1));
    keys nan{};  // nvcc's front end crashes on a constant one
    nan += static_cast<key_type>(infinity - wrap);
    return found < nan ? found : nan;
  }

 private:
  static constexpr auto wrap = static_cast<bits>(~(infinity | sign) & ~sign);

  /// All bits of words whose sign is set.
  template <class Words>
  static Words signs_of(Words words) {
    using keys = vector_of<key_type, sizeof(Words)>;
    return std::bit_cast<Words>(std::bit_cast<keys>(words) >> static_cast<key_type>(8 * sizeof(bits) - 1));
  }
  template <class Words>
  static auto as_keys(Words turned, bits lowest) {
    return std::bit_cast<vector_of<key_type, sizeof(Words)>>(turned - lowest);
  }
};

/// The largest or smallest number of each row, as a key.
template <class T>
struct extremes_of_rows : largest_of_rows<typename keys_of_words<T>::key_type> {
  using keys = keys_of_words<T>;
  using bits = typename keys::bits;
  using stored = bits;
  using vector = typename largest_of_rows<typename keys::key_type>::vector;

  bits flipped;  ///< the sign for a minimum

  explicit extremes_of_rows(bool smallest) : flipped(smallest ? keys::sign : bits{0}) {}

  template <class Words>
  vector lift(Words numbers) const {
    return keys::key(numbers ^ flipped);
  }
  /// The numbers that keys stand for. NaN become quiet.
  vector numbers_of(vector found) const {
    const auto numbers = keys::number(found) ^ flipped;
    const auto nan = (numbers & keys::magnitude) > keys::infinity;
    return std::bit_cast<vector>(numbers | (std::bit_cast<decltype(numbers)>(nan) & keys::quiet));
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
