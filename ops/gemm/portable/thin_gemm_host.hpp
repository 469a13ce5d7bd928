// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector on host cores, which reads the matrix once and in its own order: rows that lie
/// in memory are multiplied one by one, columns are added up for a block of rows. How the work is cut follows from the
/// extents alone, so results do not depend on the number of threads.

#include "gemm_entries.hpp"
#include "gemv_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/lanes.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Elements of a matrix that are one iteration's work, roughly.
inline constexpr std::int64_t gemv_block_elements = 16384;

constexpr std::int64_t gemv_blocks_of(std::int64_t extent, std::int64_t block) { return (extent + block - 1) / block; }

/// Whether columns are added up instead of rows multiplied: where rows lie closer together than columns, unless there
/// are too few rows for vector registers.
template <class T>
bool takes_columns(const gemv_problem<T>& problem) {
  constexpr std::int64_t fewest_rows = 16;
  return problem.m >= fewest_rows && (problem.n == 1 || problem.a.row_stride < problem.a.column_stride);
}

/// to[j] = x[j] in the compute type.
template <class T>
struct gemv_vector_kernel {
  const T* from;
  std::int64_t stride;
  std::int64_t count;
  compute_t<T>* to;

  static constexpr std::int64_t block_elements = 4096;
  std::int64_t blocks() const { return gemv_blocks_of(count, block_elements); }

  void operator()(std::int64_t block) const {
    const std::int64_t end = std::min(count, (block + 1) * block_elements);
    if (stride == 1) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = block * block_elements; j < end; ++j) to[j] = static_cast<compute_t<T>>(from[j]);
    } else {
      for (std::int64_t j = block * block_elements; j < end; ++j) to[j] = static_cast<compute_t<T>>(from[j * stride]);
    }
  }
};

/// What several parts of the columns give each: partial[part * m + i]. One part only: y itself.
template <class T>
class gemv_result {
  using C = compute_t<T>;

 public:
  gemv_result(const gemv_problem<T>& problem, std::int64_t parts, C* partial)
      : partial_(parts > 1 ? partial : nullptr),
        y_(problem.y),
        stride_(problem.y_stride),
        m_(problem.m),
        alpha_(problem.alpha),
        beta_(problem.beta),
        form_(choose_form(problem.alpha, problem.beta)) {}

  /// Takes `count` sums of a part, of the rows from `first` on.
  void put(std::int64_t part, std::int64_t first, std::int64_t count, const C* sums) const {
    if (partial_ != nullptr) {
      std::copy_n(sums, count, partial_ + part * m_ + first);
    } else {
      write(first, count, sums);
    }
  }

  /// To y, whatever the number of parts is.
  void write(std::int64_t first, std::int64_t count, const C* sums) const {
    T* const y = y_ + first * stride_;
    with_form(form_, [&]<scaled_form Form>(std::integral_constant<scaled_form, Form>) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t i = 0; i < count; ++i) {
        y[i * stride_] = static_cast<T>(scaled_entry<Form, T>(C(alpha_), C(beta_), sums[i], y[i * stride_]));
      }
    });
  }

 private:
  C* partial_;
  T* y_;
  std::int64_t stride_;
  std::int64_t m_;
  typename gemv_problem<T>::parameter_type alpha_;
  typename gemv_problem<T>::parameter_type beta_;
  scaled_form form_;
};

/// Adds up the parts of a block of rows, in their order.
template <class T>
class gemv_combination_kernel {
  using C = compute_t<T>;
  static constexpr std::int64_t block_rows = 1024;

 public:
  gemv_combination_kernel(const gemv_problem<T>& problem, std::int64_t parts, const C* partial)
      : result_(problem, 1, nullptr), partial_(partial), parts_(parts), m_(problem.m) {}

  std::int64_t blocks() const { return gemv_blocks_of(m_, block_rows); }

  void operator()(std::int64_t block) const {
    const std::int64_t first = block * block_rows;
    const std::int64_t count = std::min(block_rows, m_ - first);
    C sums[block_rows];
    std::copy_n(partial_ + first, count, sums);
    for (std::int64_t part = 1; part < parts_; ++part) {
      const C* const own = partial_ + part * m_ + first;
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t i = 0; i < count; ++i) sums[i] += own[i];
    }
    result_.write(first, count, sums);
  }

 private:
  gemv_result<T> result_;
  const C* partial_;
  std::int64_t parts_;
  std::int64_t m_;
};

/// Rows times x, which lies without gaps in the compute type. An iteration takes a few rows, or a part of a long one.
template <class T, bool Contiguous>
class gemv_rows_host_kernel {
  using C = compute_t<T>;

 public:
  static std::int64_t parts_of(const gemv_problem<T>& problem) {
    return gemv_blocks_of(problem.n, gemv_block_elements);
  }

  gemv_rows_host_kernel(const gemv_problem<T>& problem, const C* x, C* partial)
      : problem_(problem), result_(problem, parts_of(problem), partial), x_(x) {
    const std::int64_t columns = std::min(problem.n, gemv_block_elements);
    block_rows_ = std::clamp<std::int64_t>(gemv_block_elements / columns, 1, most_rows);
    row_blocks_ = gemv_blocks_of(problem.m, block_rows_);
  }

  /// Those of one part of x follow each other, so that it stays in a cache.
  std::int64_t blocks() const { return row_blocks_ * parts_of(problem_); }

  void operator()(std::int64_t block) const {
    const std::int64_t part = block / row_blocks_;
    const std::int64_t begin = part * gemv_block_elements;
    const std::int64_t columns = std::min(gemv_block_elements, problem_.n - begin);
    const std::int64_t first = (block - part * row_blocks_) * block_rows_;
    const std::int64_t rows = std::min(block_rows_, problem_.m - first);
    C sums[most_rows];
    for (std::int64_t i = 0; i < rows; ++i) {
      sums[i] = product_of(problem_.a.data + (first + i) * problem_.a.row_stride + begin * problem_.a.column_stride,
                           x_ + begin, columns);
    }
    result_.put(part, first, rows, sums);
  }

 private:
  static constexpr std::int64_t most_rows = 1024;
  static constexpr int lanes = prumo::detail::reduction_lanes<C>;
  static constexpr int few_lanes = 8;

  /// Elements that are converted to the compute type by a loop of their own, which compilers vectorise; conversions
  /// between unrolled lanes they do not.
  static constexpr std::int64_t converted_at_once = 1024;
  static constexpr bool converts = Contiguous && !std::is_same_v<T, C>;

  C product_of(const T* row, const C* x, std::int64_t count) const {
    if constexpr (converts) {
      C converted[converted_at_once];
      C sum = 0;
      for (std::int64_t begin = 0; begin < count; begin += converted_at_once) {
        const std::int64_t here = std::min(converted_at_once, count - begin);
        const T* const from = row + begin;
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t j = 0; j < here; ++j) converted[j] = static_cast<C>(from[j]);
        sum += product_of_elements(converted, x + begin, here);
      }
      return sum;
    } else {
      return product_of_elements(row, x, count);
    }
  }

  template <class Element>
  C product_of_elements(const Element* row, const C* x, std::int64_t count) const {
    if (count >= std::int64_t{4} * lanes) return product_in_lanes<lanes>(row, x, count);
    if (count >= std::int64_t{2} * few_lanes) return product_in_lanes<few_lanes>(row, x, count);
    C sum = 0;
    for (std::int64_t j = 0; j < count; ++j) sum = prumo::fma(element(row, j), x[j], sum);
    return sum;
  }

  template <class Element>
  C element(const Element* row, std::int64_t j) const {
    return static_cast<C>(row[Contiguous ? j : j * problem_.a.column_stride]);
  }

  template <int Lanes, class Element>
  C product_in_lanes(const Element* row, const C* x, std::int64_t count) const {
    C lane[Lanes] = {};
    std::int64_t j = 0;
    for (; j + Lanes <= count; j += Lanes) {
      PRUMO_UNROLL
      for (int which = 0; which < Lanes; ++which) {
        lane[which] = prumo::fma(element(row, j + which), x[j + which], lane[which]);
      }
    }
    for (int which = 0; j + which < count; ++which) {
      lane[which] = prumo::fma(element(row, j + which), x[j + which], lane[which]);
    }
    for (int half = Lanes / 2; half > 0; half /= 2) {
      for (int which = 0; which < half; ++which) lane[which] += lane[which + half];
    }
    return lane[0];
  }

  gemv_problem<T> problem_;
  gemv_result<T> result_;
  const C* x_;
  std::int64_t block_rows_ = 1;
  std::int64_t row_blocks_ = 0;
};

/// How columns are shared out: blocks of rows whose sums stay in the nearest cache, and parts of the columns where
/// there are few blocks.
struct gemv_columns_partition {
  static constexpr std::int64_t most_rows = 1024;
  std::int64_t block_rows = 1;
  std::int64_t row_blocks = 0;
  std::int64_t columns = 1;  ///< of a part
  std::int64_t parts = 1;

  static gemv_columns_partition of(std::int64_t m, std::int64_t n) {
    constexpr std::int64_t blocks_wanted = 256;
    gemv_columns_partition result = whole(m, n);
    const std::int64_t parts_wanted = gemv_blocks_of(blocks_wanted, result.row_blocks);
    result.columns = std::max(gemv_blocks_of(n, parts_wanted), gemv_blocks_of(gemv_block_elements, result.block_rows));
    result.parts = gemv_blocks_of(n, result.columns);
    return result;
  }
  static gemv_columns_partition whole(std::int64_t m, std::int64_t n) {
    const std::int64_t rows = std::min(m, most_rows);
    return {rows, gemv_blocks_of(m, rows), n, 1};
  }
};

/// Columns times entries of x, added up for a block of rows.
template <class T, bool Contiguous>
class gemv_columns_host_kernel {
  using C = compute_t<T>;

 public:
  gemv_columns_host_kernel(const gemv_problem<T>& problem, const gemv_columns_partition& partition, C* partial)
      : problem_(problem), result_(problem, partition.parts, partial), partition_(partition) {}

  std::int64_t blocks() const { return partition_.row_blocks * partition_.parts; }

  void operator()(std::int64_t block) const {
    const std::int64_t part = block / partition_.row_blocks;
    const std::int64_t first = (block - part * partition_.row_blocks) * partition_.block_rows;
    const std::int64_t rows = std::min(partition_.block_rows, problem_.m - first);
    const std::int64_t end = std::min(problem_.n, (part + 1) * partition_.columns);
    C sums[gemv_columns_partition::most_rows];
    std::fill_n(sums, rows, C(0));
    std::int64_t j = part * partition_.columns;
    for (; j + at_once <= end; j += at_once) add<at_once>(first, rows, j, sums);
    for (; j < end; ++j) add<1>(first, rows, j, sums);
    result_.put(part, first, rows, sums);
  }

 private:
  /// Columns between two visits of the sums.
  static constexpr int at_once = 4;

  template <int Columns>
  void add(std::int64_t first, std::int64_t rows, std::int64_t column, C* sums) const {
    const std::int64_t row_stride = Contiguous ? 1 : problem_.a.row_stride;
    const T* columns[Columns];
    C factors[Columns];
    for (int which = 0; which < Columns; ++which) {
      columns[which] = problem_.a.data + first * row_stride + (column + which) * problem_.a.column_stride;
      factors[which] = static_cast<C>(problem_.x[(column + which) * problem_.x_stride]);
    }
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < rows; ++i) {
      C sum = sums[i];
      PRUMO_UNROLL
      for (int which = 0; which < Columns; ++which) {
        sum = prumo::fma(static_cast<C>(columns[which][i * row_stride]), factors[which], sum);
      }
      sums[i] = sum;
    }
  }

  gemv_problem<T> problem_;
  gemv_result<T> result_;
  gemv_columns_partition partition_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
