// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products of a matrix whose columns lie in memory and a few columns, on a host: columns are added up for a block of
/// rows.

#include "thin_gemm_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/simd.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

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
    thin_columns_partition result{rows, divide_up(m, rows), k, 1};
    const std::int64_t parts_wanted = divide_up(blocks_wanted, result.row_blocks);
    result.columns = std::max(divide_up(k, parts_wanted), divide_up(thin_block_elements, result.block_rows));
    result.parts = divide_up(k, result.columns);
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
    const auto share = thin_share::of(block, problem_.n, partition_.parts, partition_.row_blocks);
    const std::int64_t first = share.rows * partition_.block_rows;
    const std::int64_t rows = std::min(partition_.block_rows, problem_.m - first);
    const std::int64_t end = std::min(problem_.k, (share.part + 1) * partition_.columns);
    C sums[thin_columns_partition::most_rows + vector::lanes];
    std::fill_n(sums, rows + vector::lanes, C(0));
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
      // The last vector reads on in the column behind, which gives sums that nobody reads.
      const std::int64_t behind = (problem_.k - column - Columns) * problem_.m;
      const bool reads_on = problem_.a.column_stride == problem_.m && behind >= vector::lanes;
      const std::int64_t end = reads_on ? rows : rows - vector::lanes + 1;
      for (; i < end; i += vector::lanes) {
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
