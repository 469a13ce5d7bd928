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

/// Squares whose rows are a lane, as many as a vector has lanes.
template <class Word>
class vector_square {
 public:
  using vector = vector_of<Word, square_vector_bytes>;
  static constexpr int side = static_cast<int>(vector_lane / sizeof(Word));
  static constexpr int length = static_cast<int>(sizeof(vector) / sizeof(Word));  ///< of the squares together

  /// turned[c][r] = source[r * source_stride + c] for `length` rows and `side` columns. The lanes of
  /// a vector are loaded from rows that are `side` apart. So no word has to move from one lane to another.
  [[gnu::always_inline]] static void turn(const Word* source, std::int64_t source_stride, vector (&turned)[side]) {
    PRUMO_UNROLL
    for (int r = 0; r < side; ++r) {
      const Word* const row = source + r * source_stride;
      turned[r] = load_lanes(row, row + side * source_stride);
    }
    transpose_lanes<Word>(turned);
  }

  /// target[c * target_stride + r] = source[r * source_stride + c] for `length` rows and some columns, at most `side`.
  /// All of the `side` columns are read.
  template <int Columns = side>
  [[gnu::always_inline]] static void transpose_rows(const Word* source, std::int64_t source_stride, Word* target,
                                                    std::int64_t target_stride) {
    static_assert(Columns <= side);
    vector turned[side];
    turn(source, source_stride, turned);
    PRUMO_UNROLL
    for (int c = 0; c < Columns; ++c) std::memcpy(target + c * target_stride, &turned[c], sizeof(vector));
  }

  /// The same for some rows, at most `side`, and `length` columns. All of the `side` rows are written, one column after
  /// the other: where rows of the target are shorter, the next one overwrites the end of the one before.
  template <int Rows = side>
  [[gnu::always_inline]] static void transpose_columns(const Word* source, std::int64_t source_stride, Word* target,
                                                       std::int64_t target_stride) {
    static_assert(Rows <= side);
    vector turned[side] = {};
    PRUMO_UNROLL
    for (int r = 0; r < Rows; ++r) std::memcpy(&turned[r], source + r * source_stride, sizeof(vector));
    transpose_lanes<Word>(turned);
    PRUMO_UNROLL
    for (int c = 0; c < side; ++c) store_lane<0>(turned[c], target + c * target_stride);
    if constexpr (length > side) {
      PRUMO_UNROLL
      for (int c = 0; c < side; ++c) store_lane<1>(turned[c], target + (side + c) * target_stride);
    }
  }

 private:
  /// The lanes that begin at `first` and `second`. Without intrinsics GCC puts them together in memory.
  static vector load_lanes(const Word* first, [[maybe_unused]] const Word* second) {
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

  template <int Lane>
  static void store_lane(vector value, Word* to) {
#if defined(__AVX2__)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_extracti128_si256(std::bit_cast<__m256i>(value), Lane));
#else
    std::memcpy(to, &value, sizeof(value));
#endif
  }
};

/// Some columns of squares, of `side` rows each.
template <class Word>
class line_square {
  using part = vector_square<Word>;

 public:
  static constexpr int side = static_cast<int>(streaming_unit / sizeof(Word));
  static constexpr int columns = part::side;

  /// target[c * target_stride + r] = source[r * source_stride + c] for `columns` columns: a lane of every row becomes a
  /// line each. Streaming: past the caches; the target's rows begin at cache lines then.
  template <bool Streaming>
  static void transpose(const Word* source, std::int64_t source_stride, Word* target, std::int64_t target_stride) {
    constexpr int parts = side / part::length;
    typename part::vector lines[parts][columns];
    PRUMO_UNROLL
    for (int p = 0; p < parts; ++p) part::turn(source + p * part::length * source_stride, source_stride, lines[p]);
    // A line is written at once, or its parts would go to memory one by one.
    PRUMO_UNROLL
    for (int c = 0; c < columns; ++c) {
      PRUMO_UNROLL
      for (int p = 0; p < parts; ++p) {
        Word* const to = target + c * target_stride + p * part::length;
        if constexpr (Streaming) {
          stream_vector(reinterpret_cast<streamed*>(to), std::bit_cast<streamed>(lines[p][c]));
        } else {
          std::memcpy(to, &lines[p][c], sizeof(lines[p][c]));
        }
      }
    }
  }

 private:
  using streamed = vector_of<long long, square_vector_bytes>;
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
