// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Transposes squares of words whose rows are a cache line, on a host.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Bytes of the vectors here: one lane or two. Vectors of 64 bytes are no faster: they need twice the loads of lanes,
/// and processors do one of their shuffles in the time of two of 32 bytes.
#if defined(__AVX2__)
inline constexpr std::size_t square_vector_bytes = 2 * vector_lane;
#else
inline constexpr std::size_t square_vector_bytes = vector_lane;
#endif

/// Some columns of squares, of `side` rows each.
template <class Word>
class line_square {
 public:
  static constexpr int side = static_cast<int>(streaming_unit / sizeof(Word));
  static constexpr int columns = static_cast<int>(vector_lane / sizeof(Word));

  /// target[c * target_stride + r] = source[r * source_stride + c] for `columns` columns: a lane of every row becomes a
  /// line each. Streaming: past the caches; the target's rows begin at cache lines then.
  ///
  /// A vector is loaded lane by lane, from rows `columns` apart, so that nothing has to cross lanes. Where the bits of
  /// a word's index are (row, column), interleaving the first half of the rows with the second moves the highest bit of
  /// the row to the end. After log2(rows) rounds the bits are (column, row).
  template <bool Streaming>
  static void transpose(const Word* source, std::int64_t source_stride, Word* target, std::int64_t target_stride) {
    constexpr int vector_words = static_cast<int>(sizeof(vector) / sizeof(Word));
    constexpr int vectors = side / vector_words;  // of a line
    vector lines[vectors][columns];
    PRUMO_UNROLL
    for (int part = 0; part < vectors; ++part) {
      vector from[columns], to[columns];
      PRUMO_UNROLL
      for (int r = 0; r < columns; ++r) {
        const Word* const row = source + (part * vector_words + r) * source_stride;
        from[r] = load(row, row + columns * source_stride);
      }
      PRUMO_UNROLL
      for (int bit = 1; bit < columns; bit *= 2) {
        PRUMO_UNROLL
        for (int r = 0; r < columns / 2; ++r) {
          to[2 * r] = interleave_lower<Word>(from[r], from[r + columns / 2]);
          to[2 * r + 1] = interleave_upper<Word>(from[r], from[r + columns / 2]);
        }
        PRUMO_UNROLL
        for (int r = 0; r < columns; ++r) from[r] = to[r];
      }
      PRUMO_UNROLL
      for (int r = 0; r < columns; ++r) lines[part][r] = from[r];
    }
    // A line is written at once, or its parts would go to memory one by one.
    PRUMO_UNROLL
    for (int c = 0; c < columns; ++c) {
      PRUMO_UNROLL
      for (int part = 0; part < vectors; ++part) {
        Word* const to = target + c * target_stride + part * vector_words;
        if constexpr (Streaming) {
          stream_vector(reinterpret_cast<streamed*>(to), std::bit_cast<streamed>(lines[part][c]));
        } else {
          std::memcpy(to, &lines[part][c], sizeof(vector));
        }
      }
    }
  }

 private:
  using vector = vector_of<Word, square_vector_bytes>;
  using streamed = vector_of<long long, square_vector_bytes>;

  /// The lanes that begin at `first` and `second`. Without intrinsics GCC puts them together in memory.
  static vector load(const Word* first, [[maybe_unused]] const Word* second) {
#if defined(__AVX2__)
    const __m256i lower = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)));
    const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
    return std::bit_cast<vector>(_mm256_inserti128_si256(lower, upper, 1));
#else
    vector value;
    std::memcpy(&value, first, sizeof(value));
    return value;
#endif
  }
};

/// The same for numbers of C. They are moved as words of their size.
template <class C>
class number_square {
  using word = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;
  using square = line_square<word>;
  static_assert(sizeof(C) == sizeof(word));

 public:
  static constexpr int side = square::side, columns = square::columns;

  static void transpose(const C* source, std::int64_t source_stride, C* target, std::int64_t target_stride) {
    square::template transpose<false>(reinterpret_cast<const word*>(source), source_stride,
                                      reinterpret_cast<word*>(target), target_stride);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
