// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products of a matrix whose rows lie in memory and a few columns, on a host: how they are cut, and what is copied.

#include "thin_gemm_host.hpp"
#include "thin_row_products_host.hpp"
#include <prumo/detail/host/simd.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows of A times columns of B. An iteration takes some rows and all columns, and all parts of the sums if there are
/// enough rows for all threads, or one. Several columns of B, or one that has gaps or 16 bits, are copied by each
/// iteration for itself: what another thread has just written would have to come from the cache of another core.
template <class T, bool Contiguous>
class thin_rows_kernel {
  using C = compute_t<T>;

 public:
  /// \param is_in_no_cache whether A comes from memory for sure
  thin_rows_kernel(const gemm_problem<T>& problem, std::int64_t threads, bool is_in_no_cache)
      : problem_(problem),
        part_length_(part_length(problem)),
        parts_(divide_up(problem.k, part_length_)),
        copies_(!std::is_same_v<T, C> || problem.n > 1 || problem.b.row_stride != 1) {
    constexpr std::int64_t far_elements = std::int64_t{1} << 20, tiles_of_thread = 2, blocks_of_thread = 4;
    const std::int64_t unit =
        problem.n > 1 ? products::rows_beside(products::columns_at_once(problem.n)) : products::high_rows;
    // Rows that are shorter than a vector are all multiplied by a single column in the same way. How a longer row is
    // multiplied depends on its place in a block. So these blocks are the same for any number of threads, and the sums
    // have the same bits.
    const bool has_short_rows = Contiguous && problem.n == 1 && problem.k < vector::lanes;
    const std::int64_t sharers = problem.n > 1 || has_short_rows ? threads : 16;
    part_blocks_ = problem.batch * problem.m >= sharers * tiles_of_thread * unit ? 1 : parts_;
    // As many blocks for each thread, or a few.
    const std::int64_t others = problem.batch * part_blocks_;
    // Where there are several groups of columns, a block is read again from a second-level cache.
    const std::int64_t most = problem.n > products::most_columns
                                  ? std::clamp<std::int64_t>(read_again / part_length_, unit, products::most_rows)
                                  : products::most_rows;
    row_blocks_ = divide_up(problem.m, most);
    const std::int64_t least_of_longer = problem.n > 1 || problem.k < products::longer_row ? unit : unit / 2;
    const std::int64_t least = has_short_rows ? vector::lanes : least_of_longer;
    while (problem.m >= least * (row_blocks_ + 1) && others * row_blocks_ < blocks_of_thread * sharers &&
           others * row_blocks_ % sharers != 0) {
      ++row_blocks_;
    }
    block_rows_ = divide_up(problem.m, row_blocks_);
    const std::int64_t whole = problem.n > 1 ? unit : std::max<std::int64_t>(unit, vector::lanes);
    if (problem.n == 1) block_rows_ = round_up(block_rows_, least);
    if (block_rows_ > 4 * whole) block_rows_ = std::min(round_up(block_rows_, whole), most);
    row_blocks_ = divide_up(problem.m, block_rows_);
    // What may come from memory is prefetched for the rows behind, because processors see too late that short runs of
    // rows are read one after the other. Many columns have so many multiply-adds for an element of A that this costs
    // little if A is near. Kernels for 32 registers have enough of them for the addresses.
    constexpr std::int64_t many_columns = products::many_columns, fewest_columns = sizeof(T) == 2 ? many_columns : 2;
    constexpr std::int64_t least_ahead = 8192 / static_cast<std::int64_t>(sizeof(T));
    const bool is_far = problem.m > far_elements / problem.k;
    if (simd_has_many_registers && (is_in_no_cache || problem.n >= (is_far ? fewest_columns : many_columns))) {
      const std::int64_t rows_of_tile = problem.n == 1 ? products::rows_of_a_column(problem.k) : unit;
      ahead_ = std::max(rows_of_tile * problem.a.row_stride, least_ahead);
    }
  }

  /// The parts that blocks leave in memory, to be added up afterwards. They need this number of elements.
  std::int64_t parts() const { return part_blocks_; }
  std::int64_t workspace_elements() const {
    return part_blocks_ > 1 ? problem_.batch * problem_.n * part_blocks_ * problem_.m : 0;
  }
  void set_workspace(C* partial) { partial_ = partial; }

  /// Those of one part of k follow each other, so that B stays in a cache.
  std::int64_t blocks() const { return problem_.batch * part_blocks_ * row_blocks_; }

  void operator()(std::int64_t block) const {
    thin_share share = thin_share::of(block, 1, part_blocks_, row_blocks_);
    const std::int64_t first = share.rows * block_rows_;
    const std::int64_t rows = std::min(block_rows_, problem_.m - first);
    const std::int64_t begin = part_blocks_ > 1 ? share.part : 0, end = part_blocks_ > 1 ? share.part + 1 : parts_;
    const thin_result<T> result(problem_, part_blocks_, partial_);
    alignas(64) C copied[copied_elements];
    C sums[products::most_columns * products::row_of_sums];
    for (std::int64_t left = problem_.n; left > 0;) {
      share.column = problem_.n - left;
      const std::int64_t columns = products::columns_at_once(left);
      for (std::int64_t part = begin; part < end; ++part) {
        const operands at = operands_of(share, part, columns, first, rows, copied);
        products::multiply(at, columns, part != begin, sums);
      }
      for (std::int64_t column = 0; column < columns; ++column, ++share.column) {
        result.put(share, first, rows, sums + column * products::row_of_sums);
      }
      left -= columns;
    }
  }

 private:
  using vector = simd<C>;
  using products = thin_row_products<T, Contiguous>;
  using operands = typename products::operands;
  /// Elements of all columns that are copied at once. Columns are read again for each few rows, so those of a part stay
  /// in a first-level cache.
  static constexpr std::int64_t of_all_columns = 32768 / sizeof(C), of_one_column = 65536 / sizeof(C);
  static constexpr std::int64_t shortest_part = 512, read_again = 65536;
  static constexpr std::int64_t copied_elements = of_one_column + vector::lanes;

  /// Parts of k, about equally long.
  static std::int64_t part_length(const gemm_problem<T>& problem) {
    const std::int64_t longest = problem.n > 1 ? std::max(of_all_columns / problem.n, shortest_part) : of_one_column;
    const std::int64_t equal = divide_up(problem.k, divide_up(problem.k, longest));
    return round_up(equal, vector::lanes);
  }

  operands operands_of(const thin_share& share, std::int64_t part, std::int64_t columns, std::int64_t first,
                       std::int64_t rows, C* copied) const {
    constexpr std::int64_t lanes = vector::lanes;
    const gemm_matrix<const T>&a = problem_.a, &b = problem_.b;
    const std::int64_t begin = part * part_length_, length = std::min(problem_.k - begin, part_length_);
    const T* const rows_of_a = a.data + share.batch * a.batch_stride + first * a.row_stride + begin * a.column_stride;
    const T* const columns_of_b =
        b.data + share.batch * b.batch_stride + share.column * b.column_stride + begin * b.row_stride;
    const std::int64_t ahead = share.column == 0 ? ahead_ : 0;
    if constexpr (std::is_same_v<T, C>) {
      if (!copies_) return {rows_of_a, columns_of_b, a.row_stride, a.column_stride, rows, length, ahead};
    }
    const std::int64_t there = problem_.k - begin, whole = length / lanes * lanes;
    const thin_columns<C> to{copied, lanes, columns * lanes};
    const thin_columns_copy<T> copy(columns, to);
    if (!Contiguous || columns == 1 || length < lanes || whole == length) {
      copy(columns_of_b, b.row_stride, b.column_stride, length, there);
    } else {
      // The last vector ends where the row ends, as that of A does.
      copy(columns_of_b, b.row_stride, b.column_stride, whole, there);
      C* const last = to.at(0, whole);
      std::fill_n(last, columns * lanes, C(0));
      for (std::int64_t p = whole; p < length; ++p) {
        for (std::int64_t j = 0; j < columns; ++j) {
          last[j * lanes + p - (length - lanes)] = static_cast<C>(columns_of_b[p * b.row_stride + j * b.column_stride]);
        }
      }
    }
    return {rows_of_a, copied, a.row_stride, a.column_stride, rows, length, ahead};
  }

  gemm_problem<T> problem_;
  C* partial_ = nullptr;
  std::int64_t part_length_;
  std::int64_t parts_;
  bool copies_;  ///< columns of B
  std::int64_t part_blocks_ = 1;
  std::int64_t block_rows_ = 1;
  std::int64_t row_blocks_ = 0;
  std::int64_t ahead_ = 0;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
