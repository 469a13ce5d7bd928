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

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Elements of A that are one iteration's work, roughly.
inline constexpr std::int64_t thin_block_elements = 16384;

constexpr std::int64_t thin_blocks_of(std::int64_t extent, std::int64_t block) { return (extent + block - 1) / block; }

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
    const auto share = thin_share::of(block, problem.n, parts(), 1);
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
