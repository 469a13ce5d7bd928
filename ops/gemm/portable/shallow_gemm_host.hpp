// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of matrices with a short common extent k on host cores. A block of sums stays in registers over all of
/// k. Rows of A are read where they are, and so is B, unless its columns have gaps. Each sum is a chain of fused
/// multiply-adds in the order of k, so results depend neither on the number of threads nor on how C is cut.

#include "gemm_entries.hpp"
#include "shallow_gemm.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/lane_square.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/detail/word.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// How C is cut: a block is one iteration's work.
struct shallow_blocks {
  std::int64_t rows = 1;        ///< of a block
  std::int64_t columns = 1;     ///< of a block
  std::int64_t row_blocks = 1;  ///< of a matrix
  std::int64_t column_blocks = 1;
};

template <class C>
class shallow_gemm_host_kernel {
  using vector = simd<C>;
  static constexpr int lanes = vector::lanes;
  /// Rows and vectors of the block of sums that registers hold.
  static constexpr int tile_rows = simd_has_many_registers ? 12 : 6;
  static constexpr int tile_vectors = 2;
  static constexpr std::int64_t panel = tile_vectors * lanes;
  static constexpr std::int64_t most_columns = 512;
  static constexpr std::int64_t least_rows = 8 * tile_rows;
  /// Multiply-adds of a block, beside which it takes little time to copy columns of B.
  static constexpr std::int64_t block_products = std::int64_t{1} << 18;
  /// Elements of the part of B that a block reads, so that it stays in a first-level cache.
  static constexpr std::int64_t cached_elements =
      std::max<std::int64_t>(16384 / static_cast<std::int64_t>(sizeof(C)), panel* shallow_depth);

 public:
  /// \param streams whether C goes past the caches, where it is not read
  shallow_gemm_host_kernel(const gemm_problem<C>& problem, bool streams, std::int64_t threads)
      : problem_(problem),
        form_(choose_form(problem.alpha, problem.beta)),
        streams_(streams && problem.c.column_stride == 1 &&
                 (form_ == scaled_form::store || form_ == scaled_form::scale)),
        writes_sums_(!streams_ && problem.c.column_stride == 1 && form_ == scaled_form::store &&
                     !problem.has_epilogue()),
        // Lines that are a multiple of 1 KiB apart would push each other out of the cache.
        copies_b_(problem.b.column_stride != 1 ||
                  (problem.b.row_stride * static_cast<std::int64_t>(sizeof(C)) % 1024 == 0 && problem.k > 4)) {
    const std::int64_t fitting = std::clamp(cached_elements / problem.k / panel * panel, panel, most_columns);
    const std::int64_t wanted = threads == 1 ? 1 : 4 * threads;
    cut(least_rows, fitting);
    cut(std::max(least_rows, block_products / (blocks_.columns * problem.k)), fitting);
    while (blocks() < wanted && blocks_.columns > 4 * panel) cut(blocks_.rows, blocks_.columns / 2);
    while (blocks() < wanted && blocks_.rows > tile_rows) cut(blocks_.rows / 2, blocks_.columns);
  }

  /// Those of the same columns follow each other, so that B stays in a cache.
  std::int64_t blocks() const { return problem_.batch * blocks_.row_blocks * blocks_.column_blocks; }

  void operator()(std::int64_t block) const {
    const std::int64_t row = block % blocks_.row_blocks * blocks_.rows;
    const std::int64_t of_columns = block / blocks_.row_blocks;
    const std::int64_t column = of_columns % blocks_.column_blocks * blocks_.columns;
    const std::int64_t batch = of_columns / blocks_.column_blocks;
    const std::int64_t rows = std::min(blocks_.rows, problem_.m - row);
    const std::int64_t columns = std::min(blocks_.columns, problem_.n - column);
    const gemm_matrix<const C>& b = problem_.b;
    const C* const corner = b.data + batch * b.batch_stride + column * b.column_stride;

    C copied[cached_elements];
    const bool copies = copies_b_ || columns < panel;
    const std::int64_t whole = copies ? 0 : columns / panel * panel;
    copy_panels(corner, whole, columns, copied);
    const operand_b of_b{corner, b.row_stride, copied, whole};
    C sums[tile_rows * most_columns];
    for (std::int64_t done = 0; done < rows;) {
      const std::int64_t left = rows - done;
      const place at{batch, row + done, column, columns, row + rows};
      done += left >= tile_rows            ? multiply<tile_rows>(of_b, at, sums)
              : tile_rows > 8 && left >= 8 ? multiply<8>(of_b, at, sums)
              : left >= 4                  ? multiply<4>(of_b, at, sums)
              : left >= 2                  ? multiply<2>(of_b, at, sums)
                                           : multiply<1>(of_b, at, sums);
    }
    if (streams_) prumo::detail::streaming_fence();
  }

 private:
  /// Columns of B: the first `whole` ones where they are, the others in panels without gaps.
  struct operand_b {
    const C* given;
    std::int64_t stride;
    const C* copied;
    std::int64_t whole;
  };

  /// Cuts C into blocks of equal size that have at most so many rows and columns, in whole tiles.
  void cut(std::int64_t most_rows_of_block, std::int64_t most_columns_of_block) {
    const auto parts = [](std::int64_t extent, std::int64_t most) { return (extent + most - 1) / most; };
    const auto equal = [&](std::int64_t extent, std::int64_t most, std::int64_t unit) {
      return parts(parts(extent, parts(extent, most)), unit) * unit;
    };
    blocks_.rows = equal(problem_.m, most_rows_of_block, tile_rows);
    blocks_.columns = equal(problem_.n, most_columns_of_block, panel);
    blocks_.row_blocks = parts(problem_.m, blocks_.rows);
    blocks_.column_blocks = parts(problem_.n, blocks_.columns);
  }

  /// Copies the columns from `first` on to panels, each of which is filled up with zeros.
  void copy_panels(const C* corner, std::int64_t first, std::int64_t columns, C* to) const {
    const gemm_matrix<const C>& b = problem_.b;
    for (std::int64_t begin = first; begin < columns; begin += panel, to += panel * problem_.k) {
      const std::int64_t count = std::min(panel, columns - begin);
      if (count < panel) std::fill_n(to, panel * problem_.k, C(0));
      const C* const from = corner + begin * b.column_stride;
      if (b.column_stride == 1 && count == panel) {
        for (std::int64_t p = 0; p < problem_.k; ++p) {
          for (int j = 0; j < tile_vectors; ++j) {
            vector::load(from + p * b.row_stride + j * lanes).store(to + p * panel + j * lanes);
          }
        }
      } else {
        const std::int64_t turned = b.row_stride == 1 && count == panel ? turn_columns(from, to) : 0;
        for (std::int64_t j = 0; j < count; ++j) {
          for (std::int64_t p = turned; p < problem_.k; ++p) {
            to[p * panel + j] = from[p * b.row_stride + j * b.column_stride];
          }
        }
      }
    }
  }

  /// Transposes columns without gaps into a panel. Returns how far: whole squares.
  std::int64_t turn_columns(const C* from, C* to) const {
    using word = prumo::detail::word_of<C>;
    using square = prumo::detail::lane_square<word>;
    const std::int64_t stride = problem_.b.column_stride;
    std::int64_t p = 0;
    for (; p + square::side <= problem_.k; p += square::side) {
      for (std::int64_t j = 0; j < panel; j += square::side) {
        square::transpose(reinterpret_cast<const word*>(from + j * stride + p), stride,
                          reinterpret_cast<word*>(to + p * panel + j), panel);
      }
    }
    return p;
  }

  /// Where rows of C begin that are computed at once, and how far their block reaches.
  struct place {
    std::int64_t batch, row, column;
    std::int64_t columns;  ///< of the block
    std::int64_t end;      ///< the row behind the block
  };

  /// Some rows of a block of C. Returns their number.
  template <int Rows>
  std::int64_t multiply(const operand_b& b, const place& at, C* sums) const {
    const C* const a = problem_.a.data + at.batch * problem_.a.batch_stride + at.row * problem_.a.row_stride;
    const gemm_matrix<C>& c = problem_.c;
    C* const target = c.data + at.batch * c.batch_stride + at.row * c.row_stride + at.column * c.column_stride;
    const bool overlaps = is_overwritten(at, Rows);
    for (std::int64_t j = 0; j < at.columns; j += panel) {
      const bool is_given = j < b.whole;
      const C* const factors = is_given ? b.given + j : b.copied + (j - b.whole) * problem_.k;
      const std::int64_t stride = is_given ? b.stride : panel;
      const std::int64_t count = std::min(panel, at.columns - j);
      const bool to_c = writes_sums_ && (count == panel || overlaps);
      C* const to = to_c ? target + j : sums + j;
      const std::int64_t to_stride = to_c ? c.row_stride : most_columns;
      if (count <= lanes) {
        multiply_panel<Rows, 1>(a, factors, stride, to, to_stride);
      } else {
        multiply_panel<Rows, tile_vectors>(a, factors, stride, to, to_stride);
      }
    }
    const std::int64_t first = !writes_sums_ ? 0 : overlaps ? at.columns : at.columns / panel * panel;
    if (first < at.columns) {
      for (int i = 0; i < Rows; ++i) {
        finish_row(sums + i * most_columns + first, target + i * c.row_stride + first * c.column_stride, at.row + i,
                   at.column + first, at.columns - first);
      }
    }
    return Rows;
  }

  /// Whether a panel of sums may be written over the ends of these rows of C, because the rows behind them, which are
  /// written afterwards, reach farther.
  bool is_overwritten(const place& at, std::int64_t rows) const {
    const std::int64_t written = at.columns <= lanes ? lanes : panel;
    return writes_sums_ && problem_.c.row_stride == problem_.n && problem_.n < panel &&
           (at.end - at.row - rows + 1) * problem_.n >= written;
  }

  template <int Rows, int Vectors>
  void multiply_panel(const C* a, const C* b, std::int64_t b_stride, C* to, std::int64_t to_stride) const {
    const std::int64_t row_stride = problem_.a.row_stride, column_stride = problem_.a.column_stride;
    vector held[Rows][Vectors];
    prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j)
                                                        PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    for (std::int64_t p = 0; p < problem_.k; ++p, a += column_stride, b += b_stride) {
      vector factors[Vectors];
      prumo::detail::for_each_register<1, Vectors>(
          [&](int, int j) PRUMO_ALWAYS_INLINE { factors[j] = vector::load(b + j * lanes); });
      prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j) PRUMO_ALWAYS_INLINE {
        held[i][j] = fma(vector(a[i * row_stride]), factors[j], held[i][j]);
      });
    }
    prumo::detail::for_each_register<Rows, Vectors>(
        [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j].store(to + i * to_stride + j * lanes); });
  }

  /// Makes entries of a row of C of their sums.
  void finish_row(C* sums, C* to, std::int64_t row, std::int64_t column, std::int64_t count) const {
    const C alpha = problem_.alpha, beta = problem_.beta;
    const std::int64_t stride = problem_.c.column_stride;
    with_form(form_, [&]<scaled_form Form>(std::integral_constant<scaled_form, Form>) {
      if constexpr (Form != scaled_form::store) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t j = 0; j < count; ++j) {
          sums[j] = scaled_entry<Form, C>(alpha, beta, sums[j], to[j * stride]);
        }
      }
    });
    if (problem_.has_epilogue()) {
      finish_entries(problem_.has_bias ? &problem_.bias : nullptr, problem_.activation, row, column, sums, count);
    }
    if (streams_) {
      prumo::detail::stream_run(to, sums, count);
    } else if (stride == 1) {
      std::copy_n(sums, count, to);
    } else {
      for (std::int64_t j = 0; j < count; ++j) to[j * stride] = sums[j];
    }
  }

  gemm_problem<C> problem_;
  shallow_blocks blocks_;
  scaled_form form_;
  bool streams_;
  bool writes_sums_;  ///< registers go to C
  bool copies_b_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
