// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Transposes squares of words whose rows are a cache line, on a host.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

#if defined(__SSE2__)

/// A vector of one or two lanes of 16 bytes, within which vector units exchange words fast. Vectors of 64 bytes are no
/// faster: they need twice the loads of lanes, and processors do one of their shuffles in the time of two of 32 bytes.
#if defined(__AVX2__)
struct lane_vector {
  static constexpr int bytes = 32;
  __m256i value;

  /// The lanes that begin at `first` and `second`.
  static lane_vector load(const void* first, const void* second) {
    const __m256i lower = _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(first)));
    return {_mm256_inserti128_si256(lower, _mm_loadu_si128(static_cast<const __m128i*>(second)), 1)};
  }
  template <std::size_t WordBytes>
  static lane_vector interleave_lower(lane_vector a, lane_vector b) {
    if constexpr (WordBytes == 2) return {_mm256_unpacklo_epi16(a.value, b.value)};
    if constexpr (WordBytes == 4) return {_mm256_unpacklo_epi32(a.value, b.value)};
    if constexpr (WordBytes == 8) return {_mm256_unpacklo_epi64(a.value, b.value)};
  }
  template <std::size_t WordBytes>
  static lane_vector interleave_upper(lane_vector a, lane_vector b) {
    if constexpr (WordBytes == 2) return {_mm256_unpackhi_epi16(a.value, b.value)};
    if constexpr (WordBytes == 4) return {_mm256_unpackhi_epi32(a.value, b.value)};
    if constexpr (WordBytes == 8) return {_mm256_unpackhi_epi64(a.value, b.value)};
  }
  void store(void* to) const { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }
  void stream(void* to) const { _mm256_stream_si256(static_cast<__m256i*>(to), value); }
};
#else
struct lane_vector {
  static constexpr int bytes = 16;
  __m128i value;

  /// The lane that begins at `first`; there is no second one.
  static lane_vector load(const void* first, const void*) {
    return {_mm_loadu_si128(static_cast<const __m128i*>(first))};
  }
  template <std::size_t WordBytes>
  static lane_vector interleave_lower(lane_vector a, lane_vector b) {
    if constexpr (WordBytes == 2) return {_mm_unpacklo_epi16(a.value, b.value)};
    if constexpr (WordBytes == 4) return {_mm_unpacklo_epi32(a.value, b.value)};
    if constexpr (WordBytes == 8) return {_mm_unpacklo_epi64(a.value, b.value)};
  }
  template <std::size_t WordBytes>
  static lane_vector interleave_upper(lane_vector a, lane_vector b) {
    if constexpr (WordBytes == 2) return {_mm_unpackhi_epi16(a.value, b.value)};
    if constexpr (WordBytes == 4) return {_mm_unpackhi_epi32(a.value, b.value)};
    if constexpr (WordBytes == 8) return {_mm_unpackhi_epi64(a.value, b.value)};
  }
  void store(void* to) const { _mm_storeu_si128(static_cast<__m128i*>(to), value); }
  void stream(void* to) const { _mm_stream_si128(static_cast<__m128i*>(to), value); }
};
#endif

/// Some columns of squares, of `side` rows each.
template <class Word>
class line_square {
 public:
  static constexpr int side = static_cast<int>(streaming_unit / sizeof(Word));
  static constexpr int columns = static_cast<int>(16 / sizeof(Word));

  /// target[c * target_stride + r] = source[r * source_stride + c] for `columns` columns: a lane of every row becomes a
  /// line each. Streaming: past the caches; the target's rows begin at cache lines then.
  ///
  /// A vector is loaded lane by lane, from rows `columns` apart, so that nothing has to cross lanes. Where the bits of
  /// a word's index are (row, column), interleaving the first half of the rows with the second moves the highest bit of
  /// the row to the end. After log2(rows) rounds the bits are (column, row).
  template <bool Streaming>
  static void transpose(const Word* source, std::int64_t source_stride, Word* target, std::int64_t target_stride) {
    constexpr int vector_words = static_cast<int>(lane_vector::bytes / sizeof(Word));
    constexpr int vectors = side / vector_words;  // of a line
    lane_vector lines[vectors][columns];
    PRUMO_UNROLL
    for (int part = 0; part < vectors; ++part) {
      lane_vector from[columns], to[columns];
      PRUMO_UNROLL
      for (int r = 0; r < columns; ++r) {
        const Word* const row = source + (part * vector_words + r) * source_stride;
        from[r] = lane_vector::load(row, row + columns * source_stride);
      }
      PRUMO_UNROLL
      for (int bit = 1; bit < columns; bit *= 2) {
        PRUMO_UNROLL
        for (int r = 0; r < columns / 2; ++r) {
          to[2 * r] = lane_vector::interleave_lower<sizeof(Word)>(from[r], from[r + columns / 2]);
          to[2 * r + 1] = lane_vector::interleave_upper<sizeof(Word)>(from[r], from[r + columns / 2]);
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
          lines[part][c].stream(to);
        } else {
          lines[part][c].store(to);
        }
      }
    }
  }
};

#else

/// The same as loops that compilers vectorise, of whole squares.
template <class Word>
class line_square {
 public:
  static constexpr int side = static_cast<int>(streaming_unit / sizeof(Word));
  static constexpr int columns = side;

  template <bool Streaming>
  static void transpose(const Word* source, std::int64_t source_stride, Word* target, std::int64_t target_stride) {
    constexpr int words = side * side;
    alignas(streaming_unit) Word first[words], second[words];
    for (int r = 0; r < side; ++r) std::memcpy(first + r * side, source + r * source_stride, side * sizeof(Word));
    Word* from = first;
    Word* to = second;
    for (int bit = 1; bit < side; bit *= 2) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (int i = 0; i < words / 2; ++i) {
        to[2 * i] = from[i];
        to[2 * i + 1] = from[words / 2 + i];
      }
      std::swap(from, to);
    }
    for (int c = 0; c < side; ++c) {
      if constexpr (Streaming) {
        stream_bytes(target + c * target_stride, from + c * side, side * sizeof(Word));
      } else {
        std::memcpy(target + c * target_stride, from + c * side, side * sizeof(Word));
      }
    }
  }
};

#endif

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
