// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a few columns on host cores: of one column, it is that of a matrix and a vector. Such a
/// product is bound by reading A, and tiles of C would be empty for the most part. So A is read in its own order: rows
/// that lie in memory are multiplied one by one, columns are added up for a block of rows. A block of A is multiplied
/// by all columns of B while it is in a cache. The extents alone decide how the work is cut, so results do not depend
/// on the number of threads.

#include "gemm_entries.hpp"
#include "row_epilogue_host.hpp"
#include "thin_gemm.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/line_square.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/detail/word.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

using prumo::detail::divide_up;
using prumo::detail::round_up;

/// Elements of A that are one iteration's work, roughly.
inline constexpr std::int64_t thin_block_elements = 16384;

/// What an iteration computes: `part` of the length k for the block `rows` of the rows of C, in a column of C. The
/// columns of a block of A follow each other. A kernel that takes all columns at once says that there is one.
struct thin_share {
  std::int64_t batch, part, rows, column;

  static thin_share of(std::int64_t block, std::int64_t columns, std::int64_t parts, std::int64_t row_blocks) {
    thin_share share{};
    const auto split_off = [&](std::int64_t extent) {
      const std::int64_t place = block % extent;
      block /= extent;
      return place;
    };
    share.column = split_off(columns);
    share.rows = split_off(row_blocks);
    share.part = split_off(parts);
    share.batch = block;
    return share;
  }
};

/// A few columns of B in the compute type, in vectors: those of a column are `vector_step` elements apart. Those of a
/// single column follow each other.
template <class C>
struct thin_columns {
  C* data;
  std::int64_t column_step, vector_step;

  static constexpr int lanes = simd<C>::lanes;
  C* at(std::int64_t column, std::int64_t row) const {
    return data + column * column_step + row / lanes * vector_step + row % lanes;
  }
};

/// Copies some rows of a few columns of B to such columns. The rows behind, `rows_there` of them with those that are
/// copied, are in memory, too.
template <class T>
class thin_columns_copy {
  using C = compute_t<T>;
  using word = prumo::detail::word_of<C>;
  using square = prumo::detail::vector_square<word>;
  static_assert(thin_columns<C>::lanes % square::length == 0);

 public:
  thin_columns_copy(std::int64_t columns, const thin_columns<C>& to) : columns_(columns), to_(to) {}

  void operator()(const T* from, std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
                  [[maybe_unused]] std::int64_t rows_there) const {
    if constexpr (!std::is_same_v<T, C>) {
      if (columns_ == 1 && row_stride == 1) return prumo::detail::widen(from, to_.data, rows);
      // Numbers are widened in their order, and as many rows at once as a few vectors of a column have.
      constexpr std::int64_t at_once = 1024, unit = thin_columns<C>::lanes;
      C widened[at_once + square::side] = {};  // squares of fewer columns read on
      if (column_stride == 1 && columns_ * unit <= at_once) {
        const std::int64_t most = at_once / columns_ / unit * unit;
        const bool has_gaps = row_stride != columns_;
        for (std::int64_t p = 0; p < rows; p += most) {
          const std::int64_t here = std::min(most, rows - p), run = has_gaps ? columns_ : here * columns_;
          for (std::int64_t i = 0; i < (has_gaps ? here : 1); ++i) {
            prumo::detail::widen(from + (p + i) * row_stride, widened + i * columns_, run);
          }
          turn(widened, columns_, p, here, here + 1);
        }
        return;
      }
    } else if (column_stride == 1 && columns_ > 1) {
      return turn(from, row_stride, 0, rows, rows_there);
    }
    for (std::int64_t j = 0; j < columns_; ++j) copy(from + j * column_stride, row_stride, j, 0, rows);
  }

 private:
  /// Rows that lie in memory become those from `first` on, in squares. The last one ends with the last column. If there
  /// are fewer columns, squares read on in the row behind.
  void turn(const C* from, std::int64_t row_stride, std::int64_t first, std::int64_t rows,
            std::int64_t rows_there) const {
    const std::int64_t side = std::min<std::int64_t>(square::side, columns_);
    for (std::int64_t column = 0; column < columns_; column += side) {
      const std::int64_t j = std::min(column, columns_ - side);
      const std::int64_t end = side < square::side ? std::min(rows, rows_there - 1) : rows;
      std::int64_t p = 0;
      for (; p + square::length <= end; p += square::length) {
        const auto* const corner = reinterpret_cast<const word*>(from + p * row_stride + j);
        auto* const turned = reinterpret_cast<word*>(to_.at(j, first + p));
        if (side == square::side) {
          square::transpose_rows(corner, row_stride, turned, to_.column_step);
        } else if constexpr (square::side > 2) {
          if (side == 3) {
            square::template transpose_rows<3>(corner, row_stride, turned, to_.column_step);
          } else {
            square::template transpose_rows<2>(corner, row_stride, turned, to_.column_step);
          }
        }
      }
      for (std::int64_t i = j; i < j + side; ++i) copy(from + p * row_stride + i, row_stride, i, first + p, rows - p);
    }
  }

  /// A part of a column becomes that from row `first` on.
  template <class From>
  void copy(const From* from, std::int64_t row_stride, std::int64_t column, std::int64_t first,
            std::int64_t rows) const {
    constexpr std::int64_t lanes = thin_columns<C>::lanes;
    for (std::int64_t p = 0; p < rows;) {
      const std::int64_t here = std::min(rows - p, lanes - (first + p) % lanes);
      C* const to = to_.at(column, first + p);
      for (std::int64_t i = 0; i < here; ++i) to[i] = static_cast<C>(from[(p + i) * row_stride]);
      p += here;
    }
  }

  std::int64_t columns_;
  thin_columns<C> to_;
};

/// What several parts of the length k give each, in a column of m sums for each of them. One part only: C itself.
template <class T>
class thin_result {
  using C = compute_t<T>;

 public:
  thin_result(const gemm_problem<T>& problem, std::int64_t parts, C* partial)
      : partial_(parts > 1 ? partial : nullptr),
        parts_(parts),
        c_(problem.c),
        m_(problem.m),
        n_(problem.n),
        alpha_(problem.alpha),
        beta_(problem.beta),
        form_(choose_form(problem.alpha, problem.beta)),
        has_epilogue_(problem.has_epilogue()),
        epilogue_of_columns_(problem.transposed()) {}

  /// Takes `count` sums of a part, of the rows from `first` on.
  void put(const thin_share& share, std::int64_t first, std::int64_t count, const C* sums) const {
    if (partial_ != nullptr) {
      std::copy_n(sums, count, partial_ + ((share.batch * n_ + share.column) * parts_ + share.part) * m_ + first);
    } else {
      write(share, first, count, sums);
    }
  }

  /// To C, whatever the number of parts is.
  void write(const thin_share& share, std::int64_t first, std::int64_t count, const C* sums) const {
    const std::int64_t stride = c_.row_stride;
    T* const y = c_.data + share.batch * c_.batch_stride + share.column * c_.column_stride + first * stride;
    with_form(form_, [&]<scaled_form Form>(std::integral_constant<scaled_form, Form>) {
      const auto entry = [&](std::int64_t i) PRUMO_ALWAYS_INLINE {
        return scaled_entry<Form, T>(C(alpha_), C(beta_), sums[i], y[i * stride]);
      };
      if (!has_epilogue_) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t i = 0; i < count; ++i) y[i * stride] = static_cast<T>(entry(i));
        return;
      }
      constexpr std::int64_t most = 256;
      C values[most];
      for (std::int64_t begin = 0; begin < count; begin += most) {
        const std::int64_t here = std::min(most, count - begin);
        for (std::int64_t i = 0; i < here; ++i) values[i] = entry(begin + i);
        epilogue_of_columns_.finish({values, here, 1, here, share.column, first + begin});
        for (std::int64_t i = 0; i < here; ++i) y[(begin + i) * stride] = static_cast<T>(values[i]);
      }
    });
  }

 private:
  C* partial_;
  std::int64_t parts_;
  gemm_matrix<T> c_;
  std::int64_t m_;
  std::int64_t n_;
  typename gemm_problem<T>::parameter_type alpha_;
  typename gemm_problem<T>::parameter_type beta_;
  scaled_form form_;
  bool has_epilogue_;
  row_epilogue_host<T> epilogue_of_columns_;  ///< of the transposed C, because sums of a column follow each other
};

/// Adds up the parts of a block of rows, in their order.
template <class T>
class thin_combination_kernel {
  using C = compute_t<T>;
  static constexpr std::int64_t block_rows = 1024;

 public:
  thin_combination_kernel(const gemm_problem<T>& problem, std::int64_t parts, const C* partial)
      : problem_(problem), result_(problem, 1, nullptr), partial_(partial), parts_(parts) {}

  std::int64_t row_blocks() const { return divide_up(problem_.m, block_rows); }
  std::int64_t blocks() const { return problem_.batch * problem_.n * row_blocks(); }

  void operator()(std::int64_t block) const {
    const auto share = thin_share::of(block, problem_.n, 1, row_blocks());
    const std::int64_t first = share.rows * block_rows;
    const std::int64_t count = std::min(block_rows, problem_.m - first);
    const C* const parts = partial_ + (share.batch * problem_.n + share.column) * parts_ * problem_.m + first;
    C sums[block_rows];
    std::copy_n(parts, count, sums);
    for (std::int64_t part = 1; part < parts_; ++part) {
      const C* const own = parts + part * problem_.m;
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t i = 0; i < count; ++i) sums[i] += own[i];
    }
    result_.write(share, first, count, sums);
  }

 private:
  gemm_problem<T> problem_;
  thin_result<T> result_;
  const C* partial_;
  std::int64_t parts_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
