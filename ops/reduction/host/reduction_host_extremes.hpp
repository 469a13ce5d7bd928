// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The largest or smallest of neighbouring numbers, found by one thread of a host from their bits as integers. Vector
/// units compare these with one instruction, and 16-bit numbers need not be widened.
///
/// Numbers above zero have the order of their bits, and numbers below zero have the opposite order. So three integers
/// tell both extremes and whether there is a NaN: the most and the least of all bits taken as signed integers, and the
/// most of them taken as unsigned ones.

#include "problem/reduction_policy.hpp"
#include <prumo/detail/host/prefetch.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/detail/word.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class T>
class number_extremes {
 public:
  using word = word_of<T>;
  static constexpr int lanes = static_cast<int>(simd_bytes / sizeof(word));

  static constexpr auto infinity = static_cast<word>(ordered_bits<T>::infinity >> ordered_bits<T>::padding);
  static constexpr auto sign = static_cast<word>(word{1} << (8 * sizeof(word) - 1));

  /// \param count how many numbers there are: as many as a vector has lanes, or more
  number_extremes(const word* first, std::int64_t count) {
    triple held[at_once];
    PRUMO_UNROLL
    for (int i = 0; i < at_once; ++i) held[i] = triple(load(first));
    std::int64_t index = read_in_streams<word>(count, lanes, [&](int place, std::int64_t at) PRUMO_ALWAYS_INLINE {
      // Without prefetches, rows of 7,000 and 9,000 numbers of 32 bits took an Emerald Rapids a tenth longer.
      if constexpr (simd_bytes >= 64 && sizeof(word) == 4) __builtin_prefetch(first + at + 512 / sizeof(word));
      held[place % at_once].join(triple(load(first + at)));
    });
    for (; index + at_once * lanes <= count; index += at_once * lanes) {
      // As in loads_from_far.
      if constexpr (simd_bytes >= 64) prefetch_from_far(first + index, std::size_t{at_once} * simd_bytes);
      PRUMO_UNROLL
      for (int i = 0; i < at_once; ++i) held[i].join(triple(load(first + index + i * lanes)));
    }
    for (; index + lanes <= count; index += lanes) held[0].join(triple(load(first + index)));
    // The last numbers once more, those that were joined already included, take no loop over a few.
    if (index < count) held[1].join(triple(load(first + count - lanes)));
    held[0].join(held[1]);
    held[2].join(held[3]);
    held[0].join(held[2]);
    of_lanes_ = held[0];
    most_ = last_of<lanes / 2>(of_lanes_.most, greater);
    top_ = static_cast<word>(last_of<lanes / 2>(of_lanes_.top, greater));
  }

  /// Whether there is a NaN, and one of them.
  bool has_nan() const { return is_above_infinity(static_cast<word>(most_)) || top_ > (infinity | sign); }
  word nan() const { return is_above_infinity(static_cast<word>(most_)) ? static_cast<word>(most_) : top_; }

  /// The extremes of numbers without NaN. -0 is less than +0.
  word largest() const { return most_ >= 0 ? static_cast<word>(most_) : least(); }
  word smallest() const { return top_ >= sign ? top_ : least(); }

 private:
  using signed_word = std::make_signed_t<word>;
  using signed_words = vector_of<signed_word, simd_bytes>;
  using words = vector_of<word, simd_bytes>;
  static constexpr int at_once = 4;

  struct triple {
    signed_words most, least;
    words top;

    triple() = default;
    explicit triple(words single)
        : most(reinterpret_cast<signed_words>(single)), least(reinterpret_cast<signed_words>(single)), top(single) {}
    void join(const triple& other) {
      most = greater(most, other.most);
      least = lesser(least, other.least);
      top = greater(top, other.top);
    }
  };

  static words load(const word* from) {
    words result;
    std::memcpy(&result, from, sizeof(result));
    return result;
  }
  static constexpr auto greater = [](auto a, auto b) { return a > b ? a : b; };
  static constexpr auto lesser = [](auto a, auto b) { return a < b ? a : b; };

  static bool is_above_infinity(word number) { return number < sign && number > infinity; }

  word least() const { return static_cast<word>(last_of<lanes / 2>(of_lanes_.least, lesser)); }

  /// What all lanes give: pairs of lanes that are `Distance` apart, then those of half the distance.
  template <int Distance, class Vector, class Choose>
  static auto last_of(Vector values, const Choose& choose) {
    if constexpr (Distance == 0) {
      return values[0];
    } else {
      const Vector turned = [&]<std::size_t... At>(std::index_sequence<At...>) {
        return shuffle<std::remove_cvref_t<decltype(values[0])>>(values, values,
                                                                 std::index_sequence<((At + Distance) % lanes)...>());
      }(std::make_index_sequence<static_cast<std::size_t>(lanes)>());
      return last_of<Distance / 2>(Vector(choose(values, turned)), choose);
    }
  }

  triple of_lanes_;
  signed_word most_;
  word top_;
};

/// The key of the largest or smallest of neighbouring numbers, of which there are a vector or more.
template <class Policy>
typename Policy::accumulator reduce_extremes(const Policy& policy, const typename Policy::stored* first,
                                             std::int64_t count) {
  using stored = typename Policy::stored;
  using extremes = number_extremes<stored>;
  const extremes found(reinterpret_cast<const typename extremes::word*>(first), count);
  if (found.has_nan()) {
    // Which one is chosen follows from the order of keys.
    typename Policy::accumulator largest = policy.identity();
    for (std::int64_t index = 0; index < count; ++index) largest = policy.join(largest, policy.lift(first[index]));
    return largest;
  }
  return policy.lift(Kokkos::bit_cast<stored>(policy.flipped == 0 ? found.largest() : found.smallest()));
}

/// Whether a policy looks for a maximum or a minimum of numbers that do not count.
template <class Policy>
inline constexpr bool finds_extremes = false;
template <class T>
inline constexpr bool finds_extremes<extreme_element<T>> = std::is_same_v<T, plain_scalar_t<T>>;

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
