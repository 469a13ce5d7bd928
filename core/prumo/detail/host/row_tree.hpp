// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reductions of several short rows at a time, on a host. Each row is joined to a part of a vector first, and then all
/// vectors together to one that has a lane for each row. A single row would need a chain of shuffles that wait for each
/// other, and as many of them as several rows together.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Bytes of vectors that rows share: one lane or two. In 64 bytes there would be more rows, which takes as many
/// instructions to put together as it saves.
#if defined(__AVX2__)
inline constexpr std::size_t row_vector_bytes = 2 * vector_lane;
#else
inline constexpr std::size_t row_vector_bytes = vector_lane;
#endif

/// \tparam Piece how many neighbouring elements of a row lie in a vector: a power of two, at most all of its lanes.
///               Rows share a vector if they are fewer.
/// \tparam Stored the words in memory: those of the vector, or narrower ones that the caller widens
/// \tparam Bytes of a vector
template <class Word, int Piece, class Stored = Word, std::size_t Bytes = row_vector_bytes>
class row_tree {
 public:
  using vector = vector_of<Word, Bytes>;
  static constexpr int rows = static_cast<int>(sizeof(vector) / sizeof(Word));  ///< at a time
  using stored_vector = vector_of<Stored, static_cast<std::size_t>(rows) * sizeof(Stored)>;
  static constexpr int rows_of_vector = rows / Piece;

  /// The row that a part of vector `which` belongs to.
  static constexpr int row_of(int which, int part) {
    for (int row = 0; row < rows; ++row) {
      const origin found = origin_of(levels, row);
      if (found.vector == which && found.part == part) return row;
    }
    return -1;
  }

  /// One lane for each of the rows, in their order: what `load(which)` for each vector of pieces amounts to. `which` is
  /// an integral_constant.
  template <class Load, class Join>
  [[gnu::always_inline]] static vector joined(const Load& load, const Join& join) {
    return joined_from<levels, 0>(load, join);
  }

  /// The elements from number `offset` on of the rows that share vector `Which`. `row(r)` is the address of a row.
  template <int Which, class Row>
  [[gnu::always_inline]] static stored_vector pieces(const Row& row, std::int64_t offset) {
    return [&]<std::size_t... Part>(std::index_sequence<Part...>) PRUMO_ALWAYS_INLINE {
      return put_together((row(row_of(Which, static_cast<int>(Part))) + offset)...);
    }(std::make_index_sequence<static_cast<std::size_t>(rows_of_vector)>());
  }

  /// The elements of vector `Which` where rows have `Piece` columns and no gaps between them. `first` points to the
  /// first row. The vector is loaded as it lies in memory. So the lanes of joined() are not in the order of the rows;
  /// in_order() puts them in that order.
  template <int Which>
  [[gnu::always_inline]] static stored_vector packed_pieces(const Stored* first) {
    return put_together(first + Which * rows);
  }
  [[gnu::always_inline]] static vector in_order(vector joined) {
    return [&]<std::size_t... At>(std::index_sequence<At...>) PRUMO_ALWAYS_INLINE {
      return shuffled(joined, joined,
                      std::index_sequence<static_cast<std::size_t>(
                          row_of(static_cast<int>(At) / rows_of_vector, static_cast<int>(At) % rows_of_vector))...>());
    }(std::make_index_sequence<static_cast<std::size_t>(rows)>());
  }

  /// The lane of each row, in all lanes that vector `Which` has of it. `each` has the lanes of `of_rows`: one for all
  /// lanes comes from memory.
  template <int Which>
  [[gnu::always_inline]] static vector spread(vector of_rows, [[maybe_unused]] const Word* each) {
    if constexpr (Piece == rows) {
      return vector{} + each[row_of(Which, 0)];
    } else {
      return [&]<std::size_t... At>(std::index_sequence<At...>) PRUMO_ALWAYS_INLINE {
        return shuffle<Word>(
            of_rows, of_rows,
            std::index_sequence<static_cast<std::size_t>(row_of(Which, static_cast<int>(At) / Piece))...>());
      }(std::make_index_sequence<static_cast<std::size_t>(rows)>());
    }
  }

  /// The number of each lane within its piece.
  [[gnu::always_inline]] static vector places() {
    return [&]<std::size_t... At>(std::index_sequence<At...>) PRUMO_ALWAYS_INLINE {
      return vector{static_cast<Word>(static_cast<int>(At) % Piece)...};
    }(std::make_index_sequence<static_cast<std::size_t>(rows)>());
  }

 private:
  static constexpr int levels = std::countr_zero(static_cast<unsigned>(Piece));
  static constexpr int of_lane = static_cast<int>(vector_lane / sizeof(Word));
  static constexpr int lanes = rows / of_lane;

  /// Which word of two vectors, one behind the other, comes to a place when `level` of the tree joins the half `Half`
  /// of each piece with the other one. Every pattern is one instruction, if words have 32 bits or more.
  static constexpr int source_of(int level, int half, int place) {
    const int lane = place / of_lane, at = place % of_lane;
    if constexpr (Piece < of_lane) {
      // Every second word within each lane.
      const int word = lane * of_lane + 2 * (at % (of_lane / 2)) + half;
      return at < of_lane / 2 ? word : rows + word;
    }
    if ((1 << level) <= of_lane) {
      // The lower or upper half of each lane, interleaved.
      return at % 2 * rows + lane * of_lane + half * (of_lane / 2) + at / 2;
    }
    // Every second lane.
    constexpr int of_first = std::max(1, lanes / 2);
    const int word = (2 * (lane % of_first) + half) * of_lane + at;
    return lane < of_first ? word : rows + word;
  }

  /// The vector, and the piece in it, that a lane of the result comes from.
  struct origin {
    int vector, part;
  };
  static constexpr origin origin_of(int level, int place) {
    if (level == 0) return {0, place / Piece};
    const int word = source_of(level, 0, place);
    const origin found = origin_of(level - 1, word % rows);
    return {found.vector + (word < rows ? 0 : 1 << (level - 1)), found.part};
  }
  template <int Level, int First, class Load, class Join>
  [[gnu::always_inline]] static vector joined_from(const Load& load, const Join& join) {
    if constexpr (Level == 0) {
      return load(std::integral_constant<int, First>());
    } else {
      const vector a = joined_from<Level - 1, First>(load, join);
      const vector b = joined_from<Level - 1, First + (1 << (Level - 1))>(load, join);
      return join(half_of<Level, 0>(a, b), half_of<Level, 1>(a, b));
    }
  }
  template <int Level, int Half>
  [[gnu::always_inline]] static vector half_of(vector a, vector b) {
    return [&]<std::size_t... At>(std::index_sequence<At...>) PRUMO_ALWAYS_INLINE {
      return shuffled(a, b,
                      std::index_sequence<static_cast<std::size_t>(source_of(Level, Half, static_cast<int>(At)))...>());
    }(std::make_index_sequence<static_cast<std::size_t>(rows)>());
  }
  /// Vectors of real numbers are shuffled as integers, which is what compilers expect of the order.
  template <std::size_t... From>
  [[gnu::always_inline]] static vector shuffled(vector a, vector b, std::index_sequence<From...> from) {
    using word = std::conditional_t<sizeof(Word) == 8, std::int64_t,
                                    std::conditional_t<sizeof(Word) == 4, std::int32_t, std::int16_t>>;
    using words = vector_of<word, Bytes>;
    return std::bit_cast<vector>(shuffle<word>(std::bit_cast<words>(a), std::bit_cast<words>(b), from));
  }

  static stored_vector put_together(const Stored* whole) {
    stored_vector value;
    std::memcpy(&value, whole, sizeof(value));
    return value;
  }
  template <class... Address>
  [[gnu::always_inline]] static stored_vector put_together(const Stored* first, const Stored* second,
                                                           Address... others) {
    constexpr std::size_t bytes = Piece * sizeof(Stored);
    if constexpr (bytes == vector_lane) {
      return put_lanes_together(first, second);
    } else {
      using part = std::conditional_t<bytes == 8, std::uint64_t, std::uint32_t>;
      static_assert(bytes == sizeof(part));
      return std::bit_cast<stored_vector>(
          vector_of<part, sizeof(stored_vector)>{read<part>(first), read<part>(second), read<part>(others)...});
    }
  }
  template <class Part>
  static Part read(const Stored* from) {
    Part value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  static stored_vector put_lanes_together(const Stored* first, [[maybe_unused]] const Stored* second) {
#if defined(__AVX2__)
    // Without intrinsics GCC puts them together in memory.
    const __m256i lower = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)));
    const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
    return std::bit_cast<stored_vector>(_mm256_inserti128_si256(lower, upper, 1));
#else
    return put_together(first);
#endif
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
