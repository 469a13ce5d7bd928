// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of a device for short rows that lie one behind the other, whatever their length is.

#include "problem/reduction_problem.hpp"
#include "reduction_device_share.hpp"
#include <prumo/detail/pack_run.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// results[r] = the reduction of row r. A team's rows together are a run, which it copies to its scratch memory in
/// packs. There a thread takes a row.
template <class Policy>
class short_row_reduction_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;
  using pack = device_pack<stored>;
  static constexpr int pack_elements = device_pack_elements<stored>;

 public:
  using problem_type = row_reduction_problem<stored, typename Policy::result>;
  using team::most_threads;

  /// Rows of whole packs are not taken: a thread reads those from the device's memory as well.
  static bool can_take(const problem_type& problem) {
    const bool are_a_run = (problem.columns == 1 || problem.column_stride == 1) &&
                           (problem.rows == 1 || problem.row_stride == problem.columns);
    return are_a_run && problem.columns > 0 && problem.columns < most_packs_of_row * pack_elements &&
           problem.columns % pack_elements != 0;
  }

  short_row_reduction_device_kernel(const Policy& policy, const problem_type& problem)
      : policy_(policy),
        source_(problem.source),
        results_(problem.results),
        rows_(problem.rows),
        result_stride_(problem.result_stride),
        columns_(static_cast<int>(problem.columns)) {
    // A whole number of packs. There are enough tiles to keep a large device busy.
    const std::int64_t most = std::int64_t{most_threads} * packs * pack_elements / problem.columns / unit * unit;
    const std::int64_t shared_out = (problem.rows / teams_wanted + unit - 1) / unit * unit;
    rows_of_tile_ = static_cast<int>(std::min(most, std::max<std::int64_t>(shared_out, most_threads)));
  }

  std::int64_t blocks() const { return rows_; }
  std::int64_t blocks_per_team() const { return rows_of_tile_; }
  std::size_t scratch_bytes() const {
    // Up to another pack goes into its alignment.
    return static_cast<std::size_t>(scratch_elements()) * sizeof(stored) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    stored* const scratch = static_cast<stored*>(member.team_scratch(0).get_shmem_aligned(
        static_cast<std::size_t>(scratch_elements()) * sizeof(stored), sizeof(pack)));
    const int thread = member.team_rank();
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * rows_of_tile_;
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * rows_of_tile_; begin < rows_;
         begin += step) {
      if (begin >= step) member.team_barrier();  // the last tile may still be read
      const int rows = rows_ - begin < rows_of_tile_ ? static_cast<int>(rows_ - begin) : rows_of_tile_;
      const stored* const source = source_ + begin * columns_;
      stored* const tile = scratch + place_in_pack(source);
      copy_run<packs, most_threads>(source, tile, pack_run<stored, int>::of(source, rows * columns_), thread);
      member.team_barrier();
      for (int row = thread; row < rows; row += most_threads) {
        results_[(begin + row) * result_stride_] = policy_.finish(total_of(tile + row * columns_), columns_);
      }
    }
  }

 private:
  static constexpr int packs = 4;  ///< of a tile, of a thread
  static constexpr int most_packs_of_row = 8;
  static constexpr std::int64_t unit = 16;
  static constexpr std::int64_t teams_wanted = 1024;

  KOKKOS_FORCEINLINE_FUNCTION int scratch_elements() const { return rows_of_tile_ * columns_ + pack_elements; }

  KOKKOS_FORCEINLINE_FUNCTION accumulator total_of(const stored* row) const {
    constexpr int side_by_side = 4;
    accumulator found[side_by_side];
    PRUMO_UNROLL
    for (int i = 0; i < side_by_side; ++i) found[i] = policy_.identity();
    int column = 0;
    PRUMO_KEEP_LOOP
    for (; column + side_by_side <= columns_; column += side_by_side) {
      PRUMO_UNROLL
      for (int i = 0; i < side_by_side; ++i) {
        found[i] = join_at(policy_, found[i], policy_.lift(row[column + i]), column + i);
      }
    }
    PRUMO_UNROLL
    for (int i = 0; i < side_by_side - 1; ++i) {
      if (column + i < columns_) found[i] = join_at(policy_, found[i], policy_.lift(row[column + i]), column + i);
    }
    return policy_.combine(policy_.combine(found[0], found[1]), policy_.combine(found[2], found[3]));
  }

  Policy policy_;
  const stored* source_;
  typename Policy::result* results_;
  std::int64_t rows_;
  std::int64_t result_stride_;
  int columns_;
  int rows_of_tile_ = 0;
};

}  // namespace prumo::detail
