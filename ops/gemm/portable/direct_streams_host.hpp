// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Tiles of the direct product of direct_gemm_host.hpp whose sums go from registers past the caches. A row of C begins
/// anywhere in a line, so each line is joined from two vectors of sums. Sums that are stored in the nearest cache first
/// wait there behind lines that go to memory, and processors do not multiply meanwhile.

#include "direct_tiles_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

#if defined(__AVX512BW__) && defined(__AVX512VL__)

/// Whether there are such tiles: a vector fills a line, and an instruction joins two of them. With AVX2 it takes three,
/// and halves of lines at the ends of rows went past the caches, which doubled the time for rows of 300 numbers.
inline constexpr bool has_direct_streams = true;

template <class C>
class direct_streams {
  using vector = simd<C>;
  using native = typename vector::native;
  using streamed = prumo::detail::streamed_64_bytes;
  using operand_a = typename direct_tiles<C>::operand_a;
  using operand_b = typename direct_tiles<C>::operand_b;
  static constexpr int lanes = vector::lanes;

 public:
  /// Some rows and columns of C, no fewer columns than a vector has lanes.
  struct area {
    C* to;
    std::int64_t stride;
    std::int64_t columns;
    bool begins_rows;  ///< otherwise the first vector is written only where it shares a line with the second one
    bool ends_rows;    ///< otherwise a line in which the area ends is not written
  };

  /// Computes as many rows. Lines in which rows begin and end cannot go past the caches: other rows share them. Those
  /// of the rows behind are asked for, because streamed lines wait behind a line that is not there.
  template <int Rows>
  static void multiply(const operand_a& a, const operand_b& b, std::int64_t depth, const area& c) {
    line_writer writers[Rows];
    for (int i = 0; i < Rows; ++i) {
      C* const row = c.to + i * c.stride;
      writers[i] = line_writer(row);
      C* const behind = row + Rows * c.stride;
      if (c.begins_rows && elements_before(behind) != 0) __builtin_prefetch(behind, 1);
      if (c.ends_rows && elements_before(behind + c.columns) != 0) __builtin_prefetch(behind + c.columns, 1);
    }
    std::int64_t column = 0;
    const auto begin = [&]<int Vectors>(int i, const vector(&sums)[Vectors]) PRUMO_ALWAYS_INLINE {
      writers[i].begin(sums[0], c.begins_rows ? c.to + i * c.stride : nullptr);
      prumo::detail::for_each_register<1, Vectors>([&](int, int j) PRUMO_ALWAYS_INLINE {
        if (j > 0) writers[i].write(sums[j], j * lanes);
      });
    };
    const auto write = [&]<int Vectors>(int i, const vector(&sums)[Vectors]) PRUMO_ALWAYS_INLINE {
      prumo::detail::for_each_register<1, Vectors>(
          [&](int, int j) PRUMO_ALWAYS_INLINE { writers[i].write(sums[j], column + std::int64_t{j} * lanes); });
    };
    const auto multiply_some = [&]<int Vectors>(const auto& write_some, std::integral_constant<int, Vectors>) {
      multiply_panel<Rows, Vectors>(a, b, depth, column, write_some);
      column += std::int64_t{Vectors} * lanes;
    };
    constexpr std::integral_constant<int, 4> many;
    constexpr std::integral_constant<int, 2> two;
    constexpr std::integral_constant<int, 1> one;
    if (c.columns >= many * lanes) {
      multiply_some(begin, many);
    } else {
      multiply_some(begin, one);
    }
    while (column + std::int64_t{many} * lanes <= c.columns) multiply_some(write, many);
    if (column + std::int64_t{two} * lanes <= c.columns) multiply_some(write, two);
    if (column + std::int64_t{one} * lanes <= c.columns) multiply_some(write, one);
    if (!c.ends_rows) return;
    const auto left = static_cast<int>(c.columns - column);
    if (left == 0) {
      for (line_writer& writer : writers) writer.end(vector(C(0)), column, left);
      return;
    }
    // The last vector overlaps the one before.
    multiply_panel<Rows, 1>(a, b, depth, c.columns - lanes, [&](int i, const vector(&sums)[1]) PRUMO_ALWAYS_INLINE {
      writers[i].end(sums[0], column, left);
    });
  }

 private:
  /// Elements of a line that are before this one.
  static int elements_before(const C* element) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(element) % sizeof(vector) / sizeof(C));
  }

  /// Of the lanes of two vectors, one behind the other, as many as a vector has, from one on.
  static __m512i lanes_from(int lane) {
    constexpr int of_lane = sizeof(C) / sizeof(std::int32_t);
    std::array<std::int32_t, std::size_t{of_lane} * lanes> words;
    std::iota(words.begin(), words.end(), of_lane * lane);
    return std::bit_cast<__m512i>(words);
  }
  static vector joined(vector a, vector b, __m512i which) {
    const __m512 words =
        _mm512_permutex2var_ps(std::bit_cast<__m512>(a.value()), which, std::bit_cast<__m512>(b.value()));
    return vector(std::bit_cast<native>(words));
  }

  static void stream(C* to, vector line) {
    prumo::detail::stream_vector(reinterpret_cast<streamed*>(to), std::bit_cast<streamed>(line.value()));
  }
  static void store_first(vector values, int count, C* to) { prumo::detail::first_lanes<C>(count).store(values, to); }

  /// Makes lines of the vectors of a row.
  class line_writer {
   public:
    line_writer() = default;
    explicit line_writer(C* row)
        : before_row_(elements_before(row)),
          first_line_(row - before_row_),
          line_of_two_(lanes_from(lanes - before_row_)) {}

    /// \param row where the first vector is written, or null
    void begin(vector first, C* row) {
      before_ = first;
      if (row == nullptr) return;
      if (before_row_ == 0) return stream(row, first);
      store_first(first, lanes - before_row_, row);
    }

    void write(vector next, std::int64_t column) {
      stream(first_line_ + column, joined(before_, next, line_of_two_));
      before_ = next;
    }

    /// \param last the last elements of the row, `left` of which are behind those that were written
    void end(vector last, std::int64_t column, int left) {
      const vector next = joined(last, last, lanes_from(lanes - left));
      const vector line = joined(before_, next, line_of_two_);
      const int count = before_row_ + left;
      if (count < lanes) return store_first(line, count, first_line_ + column);
      stream(first_line_ + column, line);
      store_first(joined(next, next, line_of_two_), count - lanes, first_line_ + column + lanes);
    }

   private:
    int before_row_ = 0;  ///< elements of the first line that are before the row
    C* first_line_ = nullptr;
    __m512i line_of_two_{};
    vector before_{};
  };

  /// Calls write(row, sums) for each row of sums.
  template <int Rows, int Vectors, class Write>
  [[gnu::always_inline]] static void multiply_panel(const operand_a& a, const operand_b& b, std::int64_t depth,
                                                    std::int64_t column, const Write& write) {
    vector sums[Rows][Vectors];
    prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j)
                                                        PRUMO_ALWAYS_INLINE { sums[i][j] = vector(C(0)); });
    const C* of_a = a.data;
    const C* of_b = b.data + column;
    for (std::int64_t p = 0; p < depth; ++p, of_a += a.column_stride, of_b += b.stride) {
      vector factors[Vectors];
      prumo::detail::for_each_register<1, Vectors>(
          [&](int, int j) PRUMO_ALWAYS_INLINE { factors[j] = vector::load(of_b + j * lanes); });
      prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j) PRUMO_ALWAYS_INLINE {
        sums[i][j] = fma(vector(of_a[i * a.row_stride]), factors[j], sums[i][j]);
      });
    }
    prumo::detail::for_each_register<Rows, 1>([&](int i, int) PRUMO_ALWAYS_INLINE { write(i, sums[i]); });
  }
};

#else
inline constexpr bool has_direct_streams = false;

template <class C>
class direct_streams;
#endif

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
