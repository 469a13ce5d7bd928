// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a few columns on host cores: of one column, it is that of a matrix and a vector. Such a
/// product is bound by reading A, and tiles of C would be empty for the most part. So A is read in its own order: rows
/// that lie in memory are multiplied one by one, columns are added up for a block of rows. A block of A is multiplied
/// by all columns of B while it is in a cache. The extents alone decide how the work is cut, so results do not depend
/// on the number of threads.

#include "gemm_entries.hpp"
#include "thin_gemm.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/lanes.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Elements of A that are one iteration's work, roughly.
inline constexpr std::int64_t thin_block_elements = 16384;

constexpr std::int64_t thin_blocks_of(std::int64_t extent, std::int64_t block) { return (extent + block - 1) / block; }

/// What an iteration computes: `part` of the length k for the block `rows` of the rows of C, in a column of C. The
/// columns of a block of A follow each other.
struct thin_share {
  std::int64_t batch, part, rows, column;

  template <class T>
  static thin_share of(std::int64_t block, const gemm_problem<T>& problem, std::int64_t parts,
                       std::int64_t row_blocks) {
    thin_share share{};
    const auto split_off = [&](std::int64_t extent) {
      const std::int64_t place = block % extent;
      block /= extent;
      return place;
    };
    share.column = split_off(problem.n);
    share.rows = split_off(row_blocks);
    share.part = split_off(parts);
    share.batch = block;
    return share;
  }
};

/// The sum of the lanes of each of as many vectors as a vector has lanes. The lanes of a vector are added in pairs of
/// neighbours, and so are their sums.
template <class T>
[[gnu::always_inline]] inline simd<T> lane_sums(const simd<T>* vectors) {
  constexpr int lanes = simd<T>::lanes;
  simd<T> pairs[lanes / 2];
  for (int i = 0; i < lanes / 2; ++i) {
    pairs[i] = every_second_lane<0>(vectors[2 * i], vectors[2 * i + 1]) +
               every_second_lane<1>(vectors[2 * i], vectors[2 * i + 1]);
  }
  for (int count = lanes / 2; count > 1; count /= 2) {
    for (int i = 0; i < count / 2; ++i) {
      pairs[i] =
          every_second_lane<0>(pairs[2 * i], pairs[2 * i + 1]) + every_second_lane<1>(pairs[2 * i], pairs[2 * i + 1]);
    }
  }
  return pairs[0];
}

/// The elements of a row behind its last whole vector: a vector that ends where the row ends, and in which elements of
/// the vector before are cleared. Infinity times zero is NaN, so both factors are cleared.
template <class T>
class row_end {
  using C = compute_t<T>;
  using vector = simd<C>;

 public:
  /// \param count elements of the row, as many as a vector has or more
  explicit row_end(std::int64_t count) : begin_(count - vector::lanes), kept_(kept_lanes(count)) {}

  vector of_elements(const T* row) const {
    return prumo::select(kept_, prumo::detail::load_vector(row + begin_), vector(C(0)));
  }
  vector of_numbers(const C* numbers) const {
    return prumo::select(kept_, vector::load(numbers + begin_), vector(C(0)));
  }

 private:
  static simd_mask<C> kept_lanes(std::int64_t count) {
    C kept[vector::lanes];
    for (int lane = 0; lane < vector::lanes; ++lane) {
      kept[lane] = lane < vector::lanes - count % vector::lanes ? C(0) : C(1);
    }
    return vector::load(kept) != vector(C(0));
  }

  std::int64_t begin_;
  simd_mask<C> kept_;
};

/// B in the compute type, each column without gaps.
template <class C>
struct thin_columns {
  const C* data = nullptr;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;

  const C* column(const thin_share& share) const {
    return data + share.batch * batch_stride + share.column * column_stride;
  }
};

/// Copies B to columns without gaps in the compute type.
template <class T>
struct thin_columns_kernel {
  gemm_problem<T> problem;
  compute_t<T>* to;

  static constexpr std::int64_t block_elements = 4096;
  std::int64_t parts() const { return thin_blocks_of(problem.k, block_elements); }
  std::int64_t blocks() const { return problem.batch * problem.n * parts(); }

  void operator()(std::int64_t block) const {
    const auto share = thin_share::of(block, problem, parts(), 1);
    const std::int64_t begin = share.part * block_elements;
    const std::int64_t count = std::min(problem.k - begin, block_elements);
    const std::int64_t stride = problem.b.row_stride;
    const T* const from =
        problem.b.data + share.batch * problem.b.batch_stride + share.column * problem.b.column_stride + begin * stride;
    compute_t<T>* const target = to + (share.batch * problem.n + share.column) * problem.k + begin;
    if (stride == 1) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) target[j] = static_cast<compute_t<T>>(from[j]);
    } else {
      for (std::int64_t j = 0; j < count; ++j) target[j] = static_cast<compute_t<T>>(from[j * stride]);
    }
  }
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
        form_(choose_form(problem.alpha, problem.beta)) {}

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
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t i = 0; i < count; ++i) {
        y[i * stride] = static_cast<T>(scaled_entry<Form, T>(C(alpha_), C(beta_), sums[i], y[i * stride]));
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
};

/// Adds up the parts of a block of rows, in their order.
template <class T>
class thin_combination_kernel {
  using C = compute_t<T>;
  static constexpr std::int64_t block_rows = 1024;

 public:
  thin_combination_kernel(const gemm_problem<T>& problem, std::int64_t parts, const C* partial)
      : problem_(problem), result_(problem, 1, nullptr), partial_(partial), parts_(parts) {}

  std::int64_t row_blocks() const { return thin_blocks_of(problem_.m, block_rows); }
  std::int64_t blocks() const { return problem_.batch * problem_.n * row_blocks(); }

  void operator()(std::int64_t block) const {
    const auto share = thin_share::of(block, problem_, 1, row_blocks());
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

/// Rows of A times columns of B. An iteration takes a few rows, or a part of a long one.
template <class T, bool Contiguous>
class thin_rows_kernel {
  using C = compute_t<T>;

 public:
  static std::int64_t parts_of(const gemm_problem<T>& problem) {
    return thin_blocks_of(problem.k, thin_block_elements);
  }

  thin_rows_kernel(const gemm_problem<T>& problem, const thin_columns<C>& b, C* partial)
      : problem_(problem), result_(problem, parts_of(problem), partial), b_(b) {
    const std::int64_t length = std::min(problem.k, thin_block_elements);
    constexpr std::int64_t many_rows = 256;
    const std::int64_t least = problem.m >= many_rows ? vector::lanes : 1;
    block_rows_ = std::clamp<std::int64_t>(thin_block_elements / length, least, most_rows);
    row_blocks_ = thin_blocks_of(problem.m, block_rows_);
  }

  /// Those of one part of k follow each other, so that B stays in a cache.
  std::int64_t blocks() const { return problem_.batch * parts_of(problem_) * row_blocks_ * problem_.n; }

  void operator()(std::int64_t block) const {
    const auto share = thin_share::of(block, problem_, parts_of(problem_), row_blocks_);
    const std::int64_t begin = share.part * thin_block_elements;
    const std::int64_t length = std::min(thin_block_elements, problem_.k - begin);
    const std::int64_t first = share.rows * block_rows_;
    const std::int64_t rows = std::min(block_rows_, problem_.m - first);
    const gemm_matrix<const T>& a = problem_.a;
    const T* const corner = a.data + share.batch * a.batch_stride + first * a.row_stride + begin * a.column_stride;
    const C* const x = b_.column(share) + begin;
    C sums[most_rows + vector::lanes];
    std::int64_t i = 0;
    if (Contiguous && length >= vector::lanes) {
      for (; i + vector::lanes <= rows || (i < rows && length < in_registers); i += vector::lanes) {
        multiply_side_by_side(corner + i * a.row_stride, rows - i, x, length, sums + i);
      }
      for (; i < rows; ++i) sums[i] = long_product(corner + i * a.row_stride, x, length);
    }
    for (; i < rows; ++i) sums[i] = short_product(corner + i * a.row_stride, x, length);
    result_.put(share, first, rows, sums);
  }

 private:
  using vector = simd<C>;
  static constexpr std::int64_t most_rows = 1024;
  /// The partial sums of a long row that is multiplied alone.
  static constexpr int in_registers = prumo::detail::reduction_lanes<C>;
  static constexpr int registers = in_registers / vector::lanes;

  C long_product(const T* row, const C* x, std::int64_t count) const {
    constexpr int lanes = vector::lanes;
    vector held[registers];
    prumo::detail::for_each_register<registers, 1>([&](int r, int) PRUMO_ALWAYS_INLINE { held[r] = vector(C(0)); });
    std::int64_t j = 0;
    for (; j + in_registers <= count; j += in_registers) {
      prumo::detail::for_each_register<registers, 1>([&](int r, int) PRUMO_ALWAYS_INLINE {
        held[r] = fma(prumo::detail::load_vector(row + j + r * lanes), vector::load(x + j + r * lanes), held[r]);
      });
    }
    for (; j + lanes <= count; j += lanes) {
      held[0] = fma(prumo::detail::load_vector(row + j), vector::load(x + j), held[0]);
    }
    if (j < count) {
      const row_end<T> end(count);
      held[0] = fma(end.of_elements(row), end.of_numbers(x), held[0]);
    }
    C lane[in_registers];
    prumo::detail::for_each_register<registers, 1>([&](int r, int)
                                                       PRUMO_ALWAYS_INLINE { held[r].store(lane + r * lanes); });
    return sum_of<in_registers>(lane);
  }

  /// As many rows as a vector has lanes, or `rows` if they are fewer, with a partial sum in each lane. `sums` has room
  /// for a whole vector.
  void multiply_side_by_side(const T* first, std::int64_t rows, const C* x, std::int64_t count, C* sums) const {
    constexpr int lanes = vector::lanes;
    const T* row[lanes];
    vector held[lanes];
    prumo::detail::for_each_register<lanes, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
      row[i] = first + std::min<std::int64_t>(i, rows - 1) * problem_.a.row_stride;
      held[i] = vector(C(0));
    });
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      const vector factors = vector::load(x + j);
      prumo::detail::for_each_register<lanes, 1>([&](int i, int) PRUMO_ALWAYS_INLINE {
        held[i] = fma(prumo::detail::load_vector(row[i] + j), factors, held[i]);
      });
    }
    if (j < count) {
      const row_end<T> end(count);
      const vector factors = end.of_numbers(x);
      prumo::detail::for_each_register<lanes, 1>(
          [&](int i, int) PRUMO_ALWAYS_INLINE { held[i] = fma(end.of_elements(row[i]), factors, held[i]); });
    }
    lane_sums(held).store(sums);
  }

  /// Adds up pairs whose distance is halved from step to step.
  template <int Lanes>
  static C sum_of(C (&lane)[Lanes]) {
    for (int half = Lanes / 2; half > 0; half /= 2) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (int which = 0; which < half; ++which) lane[which] += lane[which + half];
    }
    return lane[0];
  }

  C element(const T* row, std::int64_t j) const {
    return static_cast<C>(row[Contiguous ? j : j * problem_.a.column_stride]);
  }

  C short_product(const T* row, const C* x, std::int64_t count) const {
    constexpr int lanes = 8;
    if (count < std::int64_t{2} * lanes) {
      C sum = 0;
      for (std::int64_t j = 0; j < count; ++j) sum = prumo::fma(element(row, j), x[j], sum);
      return sum;
    }
    C lane[lanes] = {};
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      PRUMO_UNROLL
      for (int which = 0; which < lanes; ++which) {
        lane[which] = prumo::fma(element(row, j + which), x[j + which], lane[which]);
      }
    }
    for (int which = 0; j + which < count; ++which) {
      lane[which] = prumo::fma(element(row, j + which), x[j + which], lane[which]);
    }
    return sum_of<lanes>(lane);
  }

  gemm_problem<T> problem_;
  thin_result<T> result_;
  thin_columns<C> b_;
  std::int64_t block_rows_ = 1;
  std::int64_t row_blocks_ = 0;
};

/// How columns are shared out: blocks of rows whose sums stay in the nearest cache, and parts of the columns where
/// there are few blocks.
struct thin_columns_partition {
  static constexpr std::int64_t most_rows = 1024;
  std::int64_t block_rows = 1;
  std::int64_t row_blocks = 0;
  std::int64_t columns = 1;  ///< of a part
  std::int64_t parts = 1;

  static thin_columns_partition of(std::int64_t m, std::int64_t k) {
    constexpr std::int64_t blocks_wanted = 256;
    const std::int64_t rows = std::min(m, most_rows);
    thin_columns_partition result{rows, thin_blocks_of(m, rows), k, 1};
    const std::int64_t parts_wanted = thin_blocks_of(blocks_wanted, result.row_blocks);
    result.columns = std::max(thin_blocks_of(k, parts_wanted), thin_blocks_of(thin_block_elements, result.block_rows));
    result.parts = thin_blocks_of(k, result.columns);
    return result;
  }
};

/// Columns of A times entries of B, added up for a block of rows.
template <class T, bool Contiguous>
class thin_columns_of_a_kernel {
  using C = compute_t<T>;

 public:
  thin_columns_of_a_kernel(const gemm_problem<T>& problem, const thin_columns_partition& partition, C* partial)
      : problem_(problem), result_(problem, partition.parts, partial), partition_(partition) {}

  std::int64_t blocks() const { return problem_.batch * partition_.parts * partition_.row_blocks * problem_.n; }

  void operator()(std::int64_t block) const {
    const auto share = thin_share::of(block, problem_, partition_.parts, partition_.row_blocks);
    const std::int64_t first = share.rows * partition_.block_rows;
    const std::int64_t rows = std::min(partition_.block_rows, problem_.m - first);
    const std::int64_t end = std::min(problem_.k, (share.part + 1) * partition_.columns);
    C sums[thin_columns_partition::most_rows];
    std::fill_n(sums, rows, C(0));
    std::int64_t j = share.part * partition_.columns;
    for (; j + at_once <= end; j += at_once) add<at_once>(share, first, rows, j, sums);
    for (; j < end; ++j) add<1>(share, first, rows, j, sums);
    result_.put(share, first, rows, sums);
  }

 private:
  using vector = simd<C>;
  /// Columns between two visits of the sums.
  static constexpr int at_once = 8;

  template <int Columns>
  void add(const thin_share& share, std::int64_t first, std::int64_t rows, std::int64_t column, C* sums) const {
    const std::int64_t row_stride = Contiguous ? 1 : problem_.a.row_stride;
    const T* const corner = problem_.a.data + share.batch * problem_.a.batch_stride + first * row_stride;
    const T* const entries =
        problem_.b.data + share.batch * problem_.b.batch_stride + share.column * problem_.b.column_stride;
    const T* columns[Columns];
    C factors[Columns];
    for (int which = 0; which < Columns; ++which) {
      columns[which] = corner + (column + which) * problem_.a.column_stride;
      factors[which] = static_cast<C>(entries[(column + which) * problem_.b.row_stride]);
    }
    std::int64_t i = 0;
    if constexpr (Contiguous) {
      for (; i + vector::lanes <= rows; i += vector::lanes) {
        vector sum = vector::load(sums + i);
        PRUMO_UNROLL
        for (int which = 0; which < Columns; ++which) {
          sum = fma(prumo::detail::load_vector(columns[which] + i), vector(factors[which]), sum);
        }
        sum.store(sums + i);
      }
    }
    for (; i < rows; ++i) {
      for (int which = 0; which < Columns; ++which) {
        sums[i] = prumo::fma(static_cast<C>(columns[which][i * row_stride]), factors[which], sums[i]);
      }
    }
  }

  gemm_problem<T> problem_;
  thin_result<T> result_;
  thin_columns_partition partition_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
