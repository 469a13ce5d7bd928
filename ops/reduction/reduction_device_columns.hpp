// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of a device for column-major matrices, whose rows lie side by side: neighbouring threads take
/// neighbouring rows.

#include "reduction_device_kernel.hpp"

namespace prumo::detail {

/// How a column-major matrix is shared out: tiles of rows, and chunks of columns where there are few tiles.
struct column_major_device_partition {
  int row_lanes = 1;     ///< rows of a tile, a power of two
  int column_lanes = 1;  ///< threads that share a row of it
  std::int64_t tiles = 0;
  std::int64_t chunk = 1;
  std::int64_t chunks = 1;

  static column_major_device_partition of(std::int64_t rows, std::int64_t columns) {
    using tuning = reduction_tuning;
    column_major_device_partition result;
    result.row_lanes = group_threads(rows, tuning::team_threads);
    result.column_lanes = tuning::team_threads / result.row_lanes;
    result.tiles = (rows + result.row_lanes - 1) / result.row_lanes;
    const std::int64_t chunks_wanted =
        (tuning::column_major_teams + result.tiles - 1) / std::max<std::int64_t>(1, result.tiles);
    result.chunk =
        std::max((columns + chunks_wanted - 1) / chunks_wanted, tuning::shortest_column_chunk * result.column_lanes);
    result.chunks = (columns + result.chunk - 1) / result.chunk;
    return result;
  }
};
static_assert(reduction_tuning::column_major_teams <= arrival_counters_of_a_context,
              "a tile of several chunks has a counter");

/// results[r] = the reduction of row r. A team takes a chunk of a tile; the last team of a tile combines its chunks.
template <class Policy>
class column_major_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;

 public:
  using problem_type = row_reduction_problem<stored, typename Policy::result>;
  using team::most_threads;

  /// `partial`: a value for each row and chunk; `counters`: one for each tile; both where there are several chunks.
  column_major_device_kernel(const Policy& policy, const problem_type& problem,
                             const column_major_device_partition& partition, accumulator* partial, unsigned* counters)
      : policy_(policy), problem_(problem), partition_(partition), partial_(partial), counters_(counters) {}

  std::int64_t blocks() const { return partition_.tiles * partition_.chunks; }
  static std::int64_t blocks_per_team() { return 1; }
  static std::size_t scratch_bytes() { return team::scratch_bytes_for(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    accumulator* const scratch = team_scratch_array<accumulator>(member, most_threads);
    int* const flag = team_scratch_array<int>(member, 1);
    const int row_lane = member.team_rank() & (partition_.row_lanes - 1);
    const int column_lane = member.team_rank() / partition_.row_lanes;
    for (std::int64_t block = member.league_rank(); block < partition_.tiles * partition_.chunks;
         block += member.league_size()) {
      const std::int64_t chunk = block / partition_.tiles;
      const std::int64_t tile = block - chunk * partition_.tiles;
      const std::int64_t row = tile * partition_.row_lanes + row_lane;
      const bool writes = row < problem_.rows && column_lane == 0;
      accumulator total = policy_.identity();
      if (row < problem_.rows) total = share_of_chunk(row, chunk * partition_.chunk, column_lane);
      total = join_column_lanes(member, scratch, total, row_lane, column_lane);
      if (partition_.chunks > 1) {
        if (writes) partial_[chunk * problem_.rows + row] = total;
        member.team_barrier();  // before the first thread says that all have written
        if (!arrive_last(member, flag, counters_ + tile, partition_.chunks)) continue;
        total = policy_.identity();
        if (row < problem_.rows) total = share_of_partial(row, column_lane);
        total = join_column_lanes(member, scratch, total, row_lane, column_lane);
      }
      if (writes) problem_.results[row * problem_.result_stride] = policy_.finish(total, problem_.columns);
    }
  }

 private:
  /// Columns that a thread joins before they are combined with the others, which keeps the depth low.
  static constexpr std::int64_t columns_at_once = 256;

  KOKKOS_FORCEINLINE_FUNCTION accumulator share_of_chunk(std::int64_t row, std::int64_t begin, int column_lane) const {
    constexpr int loads = reduction_tuning::column_loads_at_once;
    const std::int64_t step = partition_.column_lanes;
    const std::int64_t rest = problem_.columns - begin;
    const std::int64_t end = begin + (rest < partition_.chunk ? rest : partition_.chunk);
    const stored* const source = problem_.source + row;
    const std::int64_t stride = problem_.column_stride;
    accumulator total = policy_.identity();
    for (std::int64_t column = begin + column_lane; column < end;) {
      const std::int64_t stop = column + columns_at_once * step < end ? column + columns_at_once * step : end;
      accumulator found = policy_.identity();
      for (; column + (loads - 1) * step < stop; column += loads * step) {
        stored loaded[loads];
        PRUMO_UNROLL
        for (int load = 0; load < loads; ++load) loaded[load] = source[(column + load * step) * stride];
        PRUMO_UNROLL
        for (int load = 0; load < loads; ++load) {
          found = join_at(policy_, found, policy_.lift(loaded[load]), column + load * step);
        }
      }
      for (; column < stop; column += step) {
        found = join_at(policy_, found, policy_.lift(source[column * stride]), column);
      }
      total = policy_.combine(total, found);
    }
    return total;
  }

  KOKKOS_FORCEINLINE_FUNCTION accumulator share_of_partial(std::int64_t row, int column_lane) const {
    accumulator total = policy_.identity();
    for (std::int64_t chunk = column_lane; chunk < partition_.chunks; chunk += partition_.column_lanes) {
      total = policy_.combine(total, partial_[chunk * problem_.rows + row]);
    }
    return total;
  }

  /// Combines the values of threads that share a row, in a tree. All threads of the team must call.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION accumulator join_column_lanes(const Member& member, accumulator* scratch,
                                                            accumulator value, int row_lane, int column_lane) const {
    if (partition_.column_lanes == 1) return value;
    const int rank = member.team_rank();
    scratch[rank] = value;
    member.team_barrier();
    for (int half = partition_.column_lanes / 2; half > 0; half /= 2) {
      if (column_lane < half)
        scratch[rank] = policy_.combine(scratch[rank], scratch[rank + half * partition_.row_lanes]);
      member.team_barrier();
    }
    value = scratch[row_lane];
    member.team_barrier();  // the next use of the scratch must not overtake a slow reader
    return value;
  }

  Policy policy_;
  problem_type problem_;
  column_major_device_partition partition_;
  accumulator* partial_;
  unsigned* counters_;
};

}  // namespace prumo::detail
