// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Vectors of words and the exchange of words between them, on a host. GCC and Clang have vectors of any width as types
/// of the language and choose the instructions for them, so that one source serves every instruction set.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <cstddef>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// A vector of `Bytes` bytes.
template <class Word, std::size_t Bytes>
struct vector_type {
  typedef Word type __attribute__((vector_size(Bytes)));
};
template <class Word, std::size_t Bytes>
using vector_of = typename vector_type<Word, Bytes>::type;

/// The words of `a` and those of `b` behind them, in the order of `Which`.
template <class Word, class Vector, std::size_t... Which>
[[gnu::always_inline]] inline Vector shuffle(Vector a, Vector b, std::index_sequence<Which...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, Which...);
#else
  return __builtin_shuffle(a, b, Vector{static_cast<Word>(Which)...});
#endif
}

/// Vector units exchange words fast within lanes of that many bytes.
inline constexpr std::size_t vector_lane = 16;

template <class Word, std::size_t First, class Vector, std::size_t... At>
[[gnu::always_inline]] inline Vector interleave_lanes(Vector a, Vector b, std::index_sequence<At...>) {
  constexpr std::size_t words = sizeof...(At), of_lane = vector_lane / sizeof(Word);
  return shuffle<Word>(a, b,
                       std::index_sequence<(At % 2 * words + At / of_lane * of_lane + First + At % of_lane / 2)...>());
}
/// In each lane, the words of the lower half of the lane of `a` with those of `b` between them.
template <class Word, class Vector>
[[gnu::always_inline]] inline Vector interleave_lower(Vector a, Vector b) {
  return interleave_lanes<Word, 0>(a, b, std::make_index_sequence<sizeof(Vector) / sizeof(Word)>());
}
/// The same of the upper halves.
template <class Word, class Vector>
[[gnu::always_inline]] inline Vector interleave_upper(Vector a, Vector b) {
  return interleave_lanes<Word, vector_lane / sizeof(Word) / 2>(
      a, b, std::make_index_sequence<sizeof(Vector) / sizeof(Word)>());
}

/// Transposes the squares of words that lie side by side in lanes: as many vectors as a lane has words. Where the bits
/// of a word's index in its lane are (row, column), interleaving the first half of the rows with the second moves the
/// highest bit of the row to the end. After log2(Side) rounds the bits are (column, row).
template <class Word, class Vector, std::size_t Side>
[[gnu::always_inline]] inline void transpose_lanes(Vector (&rows)[Side]) {
  static_assert(Side == vector_lane / sizeof(Word));
  Vector next[Side];
  PRUMO_UNROLL
  for (std::size_t bit = 1; bit < Side; bit *= 2) {
    PRUMO_UNROLL
    for (std::size_t r = 0; r < Side / 2; ++r) {
      next[2 * r] = interleave_lower<Word>(rows[r], rows[r + Side / 2]);
      next[2 * r + 1] = interleave_upper<Word>(rows[r], rows[r + Side / 2]);
    }
    PRUMO_UNROLL
    for (std::size_t r = 0; r < Side; ++r) rows[r] = next[r];
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
