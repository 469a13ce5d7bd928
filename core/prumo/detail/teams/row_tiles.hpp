// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a device makes one value of each row of a matrix whose rows lie side by side in memory (column-major).
/// Neighbouring threads take neighbouring rows. If there are few rows, several threads share a row. If there are few
/// tiles of rows, several teams share a tile, and the last team joins the values of all, always in the same order.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/arrival_counters.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// How rows and columns are shared out: in tiles of rows, and also in chunks of columns if there are few tiles.
struct row_tiles {
  /// The tuning of a kernel.
  struct tuning {
    int team_threads = 1;
    std::int64_t teams = 1;           ///< the wanted number; at most arrival_counters_of_a_context
    std::int64_t shortest_share = 1;  ///< the fewest columns that a thread takes
    int least_column_lanes = 1;       ///< a power of two
  };

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int row_lanes = 1;     ///< threads side by side, a power of two; each takes a pack of rows
  int column_lanes = 1;  ///< threads that share such a pack
  std::int64_t tiles = 0;
  std::int64_t chunk = 1;
  std::int64_t chunks = 1;

  /// Shares out a matrix in packs of `pack_rows` rows.
  static row_tiles of(std::int64_t rows, std::int64_t columns, int pack_rows, const tuning& wanted) {
    row_tiles result{.rows = rows, .columns = columns};
    const std::int64_t packs = (rows + pack_rows - 1) / pack_rows;
    result.row_lanes = group_threads(packs, wanted.team_threads / wanted.least_column_lanes);
    result.column_lanes = wanted.team_threads / result.row_lanes;
    result.tiles = (packs + result.row_lanes - 1) / result.row_lanes;
    const std::int64_t chunks_wanted = (wanted.teams + result.tiles - 1) / std::max<std::int64_t>(1, result.tiles);
    result.chunk = std::max((columns + chunks_wanted - 1) / chunks_wanted, wanted.shortest_share * result.column_lanes);
    result.chunks = (columns + result.chunk - 1) / result.chunk;
    return result;
  }

  std::int64_t blocks() const { return tiles * chunks; }
};

/// Scratch bytes of a team for make_values_of_rows().
template <class Value, int Rows>
constexpr std::size_t row_tiles_scratch_bytes(int team_threads) {
  return sizeof(Value) * static_cast<std::size_t>(team_threads * Rows) + 2 * sizeof(std::int64_t);
}

/// Joins the values of threads that share rows, in a tree. All of these threads get the result. All threads of the team
/// must call. `scratch` has Rows values for each thread.
template <class Member, class Value, int Rows, class Work>
KOKKOS_FORCEINLINE_FUNCTION void join_column_lanes(const Member& member, const row_tiles& tiles, Value* scratch,
                                                   int row_lane, int column_lane, Value (&values)[Rows],
                                                   const Work& work) {
  if (tiles.column_lanes == 1) return;
  const int rank = member.team_rank();
  const int threads = tiles.row_lanes * tiles.column_lanes;
  PRUMO_UNROLL
  for (int e = 0; e < Rows; ++e) scratch[e * threads + rank] = values[e];
  member.team_barrier();
  for (int half = tiles.column_lanes / 2; half > 0; half /= 2) {
    if (column_lane < half) {
      PRUMO_UNROLL
      for (int e = 0; e < Rows; ++e) {
        const int own = e * threads + rank;
        scratch[own] = work.join(scratch[own], scratch[own + half * tiles.row_lanes]);
      }
    }
    member.team_barrier();
  }
  PRUMO_UNROLL
  for (int e = 0; e < Rows; ++e) values[e] = scratch[e * threads + row_lane];
  member.team_barrier();  // the next use of the scratch must not overtake a slow reader
}

/// The body of a kernel that makes a value of every row. Work has
/// - `identity()` and `join(a, b)`, commutative, of Values,
/// - `add_share(row, rows, begin, end, step, values)`: joins to `values` the columns `begin`, `begin + step`, ... below
///   `end` of `rows` rows, at most Rows, from `row` on,
/// - `write(row, value)`.
///
/// \tparam ChunksAtOnce how many chunks' values a thread of the last team loads before it joins them
/// \param partial a value for each row and chunk, if there are several chunks
/// \param counters one for each tile, if there are several chunks
template <int Rows, int ChunksAtOnce = 1, class Value, class Member, class Work>
KOKKOS_FORCEINLINE_FUNCTION void make_values_of_rows(const Member& member, const row_tiles& tiles, Value* partial,
                                                     unsigned* counters, const Work& work) {
  Value* const scratch = team_scratch_array<Value>(member, tiles.row_lanes * tiles.column_lanes * Rows);
  int* const flag = team_scratch_array<int>(member, 1);
  const int row_lane = member.team_rank() & (tiles.row_lanes - 1);
  const int column_lane = member.team_rank() / tiles.row_lanes;
  for (std::int64_t block = member.league_rank(); block < tiles.tiles * tiles.chunks; block += member.league_size()) {
    const std::int64_t chunk = block / tiles.tiles;
    const std::int64_t tile = block - chunk * tiles.tiles;
    const std::int64_t row = (tile * tiles.row_lanes + row_lane) * Rows;
    const std::int64_t left = tiles.rows - row;
    const int rows = left >= Rows ? Rows : left > 0 ? static_cast<int>(left) : 0;
    const std::int64_t begin = chunk * tiles.chunk;
    const std::int64_t rest = tiles.columns - begin;
    const std::int64_t end = begin + (rest < tiles.chunk ? rest : tiles.chunk);
    Value values[Rows];
    PRUMO_UNROLL
    for (int e = 0; e < Rows; ++e) values[e] = work.identity();
    if (rows > 0) work.add_share(row, rows, begin + column_lane, end, tiles.column_lanes, values);
    join_column_lanes(member, tiles, scratch, row_lane, column_lane, values, work);
    if (tiles.chunks > 1) {
      // All indices are constants. An index that is known only at run time would move the values to memory.
      PRUMO_UNROLL
      for (int e = 0; e < Rows; ++e) {
        if (e < rows && column_lane == 0) partial[chunk * tiles.rows + row + e] = values[e];
      }
      member.team_barrier();  // the first thread arrives for all threads, so all must have written
      if (!arrive_last(member, flag, counters + tile, tiles.chunks)) continue;
      PRUMO_UNROLL
      for (int e = 0; e < Rows; ++e) {
        values[e] = work.identity();
        if (e >= rows) continue;
        const Value* const of_row = partial + row + e;
        std::int64_t at = column_lane;
        if constexpr (ChunksAtOnce > 1) {
          for (; at + (ChunksAtOnce - 1) * tiles.column_lanes < tiles.chunks; at += ChunksAtOnce * tiles.column_lanes) {
            Value loaded[ChunksAtOnce];
            PRUMO_UNROLL
            for (int i = 0; i < ChunksAtOnce; ++i) loaded[i] = of_row[(at + i * tiles.column_lanes) * tiles.rows];
            PRUMO_UNROLL
            for (int i = 0; i < ChunksAtOnce; ++i) values[e] = work.join(values[e], loaded[i]);
          }
        }
        for (; at < tiles.chunks; at += tiles.column_lanes) values[e] = work.join(values[e], of_row[at * tiles.rows]);
      }
      join_column_lanes(member, tiles, scratch, row_lane, column_lane, values, work);
    }
    PRUMO_UNROLL
    for (int e = 0; e < Rows; ++e) {
      if (e < rows && column_lane == 0) work.write(row + e, values[e]);
    }
  }
}

}  // namespace prumo::detail
