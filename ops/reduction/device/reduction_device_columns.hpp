// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of a device for column-major matrices, whose rows lie side by side: neighbouring threads take
/// neighbouring rows.

#include "problem/reduction_problem.hpp"
#include "reduction_device_share.hpp"
#include <prumo/detail/teams/row_tiles.hpp>

namespace prumo::detail {

inline row_tiles reduction_row_tiles(std::int64_t rows, std::int64_t columns) {
  using tuning = reduction_tuning;
  return row_tiles::of(rows, columns, 1,
                       {.team_threads = tuning::team_threads,
                        .teams = tuning::column_major_teams,
                        .shortest_share = tuning::shortest_column_chunk});
}
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
  column_major_device_kernel(const Policy& policy, const problem_type& problem, const row_tiles& tiles,
                             accumulator* partial, unsigned* counters)
      : policy_(policy), problem_(problem), tiles_(tiles), partial_(partial), counters_(counters) {}

  std::int64_t blocks() const { return tiles_.blocks(); }
  static std::int64_t blocks_per_team() { return 1; }
  static std::size_t scratch_bytes() { return row_tiles_scratch_bytes<accumulator, 1>(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    make_values_of_rows<1>(member, tiles_, partial_, counters_, *this);
  }

  /// \name What make_values_of_rows() asks for
  /// @{
  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return policy_.identity(); }
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator a, accumulator b) const { return policy_.combine(a, b); }

  KOKKOS_FORCEINLINE_FUNCTION void add_share(std::int64_t row, int /*rows*/, std::int64_t column, std::int64_t end,
                                             int step, accumulator (&totals)[1]) const {
    constexpr int loads = reduction_tuning::column_loads_at_once;
    const stored* const source = problem_.source + row;
    const std::int64_t stride = problem_.column_stride;
    const std::int64_t whole_round = std::int64_t{loads} * step;
    while (column < end) {
      const std::int64_t reach = column + columns_at_once * step;
      const std::int64_t stop = reach < end ? reach : end;
      accumulator found = policy_.identity();
      for (; column + whole_round - step < stop; column += whole_round) {
        stored loaded[loads];
        PRUMO_UNROLL
        for (int load = 0; load < loads; ++load)
          loaded[load] = source[(column + static_cast<std::int64_t>(load * step)) * stride];
        PRUMO_UNROLL
        for (int load = 0; load < loads; ++load) {
          found = join_at(policy_, found, policy_.lift(loaded[load]), column + static_cast<std::int64_t>(load * step));
        }
      }
      for (; column < stop; column += step) {
        found = join_at(policy_, found, policy_.lift(source[column * stride]), column);
      }
      totals[0] = policy_.combine(totals[0], found);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t row, accumulator total) const {
    problem_.results[row * problem_.result_stride] = policy_.finish(total, problem_.columns);
  }
  /// @}

 private:
  /// Columns that a thread joins before they are combined with the others, which keeps the depth low.
  static constexpr std::int64_t columns_at_once = 256;

  Policy policy_;
  problem_type problem_;
  row_tiles tiles_;
  accumulator* partial_;
  unsigned* counters_;
};

}  // namespace prumo::detail
