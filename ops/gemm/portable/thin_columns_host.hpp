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
#include <cstdint>
#include <type_traits>

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

/// Columns of A times entries of B, added up for a block of rows. All columns of B take part at once, so that A is
/// read, and widened, once.
template <class T, bool Contiguous>
class thin_columns_of_a_kernel {
  using C = compute_t<T>;

 public:
  /// Columns of B.
  static constexpr int most_columns = 3;

  thin_columns_of_a_kernel(const gemm_problem<T>& problem, const thin_columns_partition& partition, C* partial)
      : problem_(problem), result_(problem, partition.parts, partial), partition_(partition) {}

  std::int64_t blocks() const { return problem_.batch * partition_.parts * partition_.row_blocks; }

  void operator()(std::int64_t block) const {
    auto share = thin_share::of(block, 1, partition_.parts, partition_.row_blocks);
    const std::int64_t first = share.rows * partition_.block_rows;
    const std::int64_t rows = std::min(partition_.block_rows, problem_.m - first);
    C sums[most_columns * row_of_sums];
    for (std::int64_t column = 0; column < problem_.n; ++column) {
      std::fill_n(sums + column * row_of_sums, rows + vector::lanes, C(0));
    }
    switch (problem_.n) {
      case 1: add_all<1>(share, first, rows, sums); break;
      case 2: add_all<2>(share, first, rows, sums); break;
      default: add_all<most_columns>(share, first, rows, sums);
    }
    for (; share.column < problem_.n; ++share.column) {
      result_.put(share, first, rows, sums + share.column * row_of_sums);
    }
  }

 private:
  using vector = simd<C>;
  /// Sums of a column of C, with room for a vector that reads on behind the last row.
  static constexpr std::int64_t row_of_sums = thin_columns_partition::most_rows + vector::lanes;

  /// Columns whose entries of B are widened together.
  static constexpr std::int64_t most_entries = 64;

  template <int Entries>
  void add_all(const thin_share& share, std::int64_t first, std::int64_t rows, C* sums) const {
    // Columns between two visits of the sums. Their entries of B stay in registers.
    constexpr int at_once = Entries == 1 || simd_has_many_registers ? 8 : 4;
    const std::int64_t end = std::min(problem_.k, (share.part + 1) * partition_.columns);
    C entries[Entries][most_entries];
    for (std::int64_t j = share.part * partition_.columns; j < end;) {
      const std::int64_t count = std::min(most_entries, end - j);
      for (int entry = 0; entry < Entries; ++entry) widen_entries(share, entry, j, count, entries[entry]);
      std::int64_t which = 0;
      for (; which + at_once <= count; which += at_once) {
        add<at_once, Entries>(share, first, rows, j + which, &entries[0][which], sums);
      }
      for (; which < count; ++which) add<1, Entries>(share, first, rows, j + which, &entries[0][which], sums);
      j += count;
    }
  }

  void widen_entries(const thin_share& share, std::int64_t column, std::int64_t row, std::int64_t count, C* to) const {
    const gemm_matrix<const T>& b = problem_.b;
    const T* const from = b.data + share.batch * b.batch_stride + column * b.column_stride + row * b.row_stride;
    if constexpr (!std::is_same_v<T, C>) {
      if (b.row_stride == 1) return prumo::detail::widen(from, to, count);
    }
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<C>(from[i * b.row_stride]);
  }

  /// Adds columns from one on, times entries that are `most_entries` apart for each column of B.
  template <int Columns, int Entries>
  void add(const thin_share& share, std::int64_t first, std::int64_t rows, std::int64_t column, const C* entries,
           C* sums) const {
    const std::int64_t row_stride = Contiguous ? 1 : problem_.a.row_stride;
    const T* const corner = problem_.a.data + share.batch * problem_.a.batch_stride + first * row_stride;
    const T* columns[Columns];
    C factors[Columns][Entries];
    for (int which = 0; which < Columns; ++which) {
      columns[which] = corner + (column + which) * problem_.a.column_stride;
      for (int entry = 0; entry < Entries; ++entry) factors[which][entry] = entries[entry * most_entries + which];
    }
    std::int64_t i = 0;
    if constexpr (Contiguous) {
      // The last vector reads on in the column behind, which gives sums that nobody reads.
      const std::int64_t behind = (problem_.k - column - Columns) * problem_.m;
      const bool reads_on = problem_.a.column_stride == problem_.m && behind >= vector::lanes;
      const std::int64_t end = reads_on ? rows : rows - vector::lanes + 1;
      for (; i < end; i += vector::lanes) {
        vector sum[Entries];
        PRUMO_UNROLL
        for (int entry = 0; entry < Entries; ++entry) sum[entry] = vector::load(sums + entry * row_of_sums + i);
        PRUMO_UNROLL
        for (int which = 0; which < Columns; ++which) {
          const vector of_a = prumo::detail::load_vector(columns[which] + i);
          PRUMO_UNROLL
          for (int entry = 0; entry < Entries; ++entry) {
            sum[entry] = fma(of_a, vector(factors[which][entry]), sum[entry]);
          }
        }
        PRUMO_UNROLL
        for (int entry = 0; entry < Entries; ++entry) sum[entry].store(sums + entry * row_of_sums + i);
      }
    }
    for (; i < rows; ++i) {
      for (int which = 0; which < Columns; ++which) {
        const C of_a = static_cast<C>(columns[which][i * row_stride]);
        for (int entry = 0; entry < Entries; ++entry) {
          C& sum = sums[entry * row_of_sums + i];
          sum = prumo::fma(of_a, factors[which][entry], sum);
        }
      }
    }
  }

  gemm_problem<T> problem_;
  thin_result<T> result_;
  thin_columns_partition partition_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
