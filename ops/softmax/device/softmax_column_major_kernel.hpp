// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of softmax on a device for column-major matrices, whose rows lie side by side: neighbouring threads take
/// neighbouring rows. If rows do not stay in registers, a first kernel finds the statistics of each, and a second one
/// writes.

#include "softmax_stretch.hpp"
#include <prumo/detail/rounding.hpp>
#include <prumo/detail/teams/row_tiles.hpp>

#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// How a column-major matrix is shared out. All sizes were measured on an H200.
template <class T>
struct softmax_column_major_choice {
  static constexpr int usual_threads = 256, most_threads = 512;
  /// Numbers that a thread holds, of shorter and of longer rows.
  static constexpr int some = sizeof(T) == 8 ? 8 : 16, many = sizeof(T) == 8 ? 8 : 32;
  /// How many rows a team takes side by side, at least and usually. With fewer rows, it would load sectors of memory of
  /// which it needs only a part.
  static constexpr int fewest_rows = sizeof(T) == 8 ? 8 : 16, usual_rows = 32;
  /// Shorter rows take less time in a thread each.
  static constexpr std::int64_t fewest_columns = device_pack_elements<T> + 1;
  /// The longest rows that stay in the registers of a team.
  static constexpr std::int64_t longest_held = std::int64_t{many} * most_threads / fewest_rows;
  /// Fewer teams leave a large device idle.
  static constexpr std::int64_t fewest_teams = 128;

  int threads = usual_threads;
  int held = some;
  row_tiles tiles;  ///< in chunks where rows are not held

  static softmax_column_major_choice of(std::int64_t rows, std::int64_t columns) {
    return columns > longest_held ? in_chunks(rows, columns) : in_registers(rows, columns);
  }

 private:
  static softmax_column_major_choice in_registers(std::int64_t rows, std::int64_t columns) {
    softmax_column_major_choice result;
    if (columns > std::int64_t{some} * usual_threads / usual_rows) result.threads = most_threads;
    if (columns > std::int64_t{some} * most_threads / fewest_rows) result.held = many;
    const int most_lanes = result.threads / fewest_rows;
    int lanes = group_threads(divide_up(columns, result.held), most_lanes);
    while (lanes < most_lanes && rows * lanes < fewest_teams * result.threads) lanes *= 2;
    result.tiles = row_tiles::of(rows, columns, 1, {.team_threads = result.threads, .least_column_lanes = lanes});
    return result;
  }

  static softmax_column_major_choice in_chunks(std::int64_t rows, std::int64_t columns) {
    // Where all teams share the same few rows, more of them leave more to be joined at the end.
    constexpr std::int64_t few_tiles = 16, few_teams = 528, many_teams = 1056;
    const bool are_few = rows < few_tiles * usual_rows;
    return {.threads = usual_threads,
            .held = many,
            .tiles = row_tiles::of(rows, columns, 1,
                                   {.team_threads = usual_threads,
                                    .teams = are_few ? few_teams : many_teams,
                                    .shortest_share = some,
                                    .least_column_lanes = usual_threads / usual_rows})};
  }
};

/// The threads of a team: neighbours take neighbouring rows, and threads of a row every column_lanes-th column.
template <class T>
class softmax_column_major_team {
 public:
  softmax_column_major_team(const softmax_problem<T>& problem, const row_tiles& tiles)
      : problem_(problem), tiles_(tiles) {}

  std::int64_t blocks() const { return problem_.columns == 0 ? 0 : tiles_.blocks(); }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return tiles_.row_lanes * tiles_.column_lanes; }

 protected:
  struct place {
    std::int64_t row, begin, count;  ///< count: of the columns of the chunk; 0 beyond the last row
    int row_lane, column_lane;
  };

  /// blocks() on a device.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t items() const { return tiles_.tiles * tiles_.chunks; }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION place place_of(const Member& member, std::int64_t block) const {
    const int row_lane = member.team_rank() & (tiles_.row_lanes - 1);
    const std::int64_t chunk = block / tiles_.tiles, tile = block - chunk * tiles_.tiles;
    const std::int64_t row = tile * tiles_.row_lanes + row_lane, begin = chunk * tiles_.chunk;
    const std::int64_t rest = problem_.columns - begin;
    const std::int64_t count = row < problem_.rows ? (rest < tiles_.chunk ? rest : tiles_.chunk) : 0;
    return {row, begin, count, row_lane, member.team_rank() / tiles_.row_lanes};
  }

  softmax_problem<T> problem_;
  row_tiles tiles_;
};

/// Rows that stay in the registers of a team.
template <class T, class Formula, int Held, int Threads>
class softmax_column_major_kernel : public softmax_column_major_team<T> {
  using C = compute_t<T>;
  using share_type = softmax_share<T, Held / device_pack_elements<T>, false>;
  static_assert(Held % device_pack_elements<T> == 0);
  /// Values that a thread joins one after the other.
  static constexpr int joined_at_once = 8;

 public:
  using softmax_column_major_team<T>::softmax_column_major_team;

  static constexpr int most_threads = Threads;
  static constexpr int resident_teams = Threads > 256 ? 2 : sizeof(T) == 8 ? 4 : 6;

  std::size_t scratch_bytes() const { return 2 * values_of_join * sizeof(C); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    C* const of_maxima = team_scratch_array<C>(member, 2 * values_of_join);
    C* const of_sums = of_maxima + values_of_join;
    for (std::int64_t block = member.league_rank(); block < this->items(); block += member.league_size()) {
      const auto at = this->place_of(member, block);
      const softmax_problem<T>& problem = this->problem_;
      const int count = static_cast<int>(at.count), lanes = this->tiles_.column_lanes;
      share_type share;
      share.load_from(problem.source + at.row, count, problem.source_column_stride, at.column_lane, lanes);
      const C shift = softmax_shift(join_lanes(member, of_maxima, at.row_lane, share.largest(), join_maxima{}));
      const C own = share.template sum_exponentials<Formula::keeps_exponentials>(shift);
      const C factor = softmax_row_factor<T, Formula>(join_lanes(member, of_sums, at.row_lane, own, join_sums{}));
      share.template finish_kept<Formula>(shift, factor);
      share.store_to(problem.target + at.row, count, problem.target_column_stride, at.column_lane, lanes);
    }
  }

 private:
  static constexpr int values_of_join = Threads + Threads / joined_at_once;

  /// Joins the values of the threads of a row. `values` is written again when all threads have met at the barrier of a
  /// join with other values.
  template <class Member, class Join>
  KOKKOS_FORCEINLINE_FUNCTION C join_lanes(const Member& member, C* values, int row_lane, C value,
                                           const Join& join) const {
    int lanes = this->tiles_.column_lanes;
    const int row_lanes = this->tiles_.row_lanes, rank = member.team_rank();
    if (lanes == 1) return value;
    values[rank] = value;
    member.team_barrier();
    if (lanes > joined_at_once) {
      lanes /= joined_at_once;
      C* const joined = values + Threads;
      if (rank < lanes * row_lanes) {
        C found = values[rank];
        PRUMO_UNROLL
        for (int i = 1; i < joined_at_once; ++i) found = join(found, values[rank + i * lanes * row_lanes]);
        joined[rank] = found;
      }
      member.team_barrier();
      values = joined;
    }
    C found = values[row_lane];
    for (int lane = 1; lane < lanes; ++lane) found = join(found, values[row_lane + lane * row_lanes]);
    return found;
  }
};

/// of_rows[r] = the statistics of row r. A team takes a chunk of a tile; the last team of a tile joins its chunks.
template <class T, class Formula, int Held>
class softmax_column_major_statistics_kernel : public softmax_column_major_team<T> {
  using team = softmax_column_major_team<T>;
  using statistics = softmax_statistics<compute_t<T>>;
  using stretch_type = softmax_stretch<T, Formula, Held / device_pack_elements<T>, false>;

 public:
  static constexpr int most_threads = softmax_column_major_choice<T>::usual_threads;
  static constexpr int resident_teams = 4;

  /// `partial`: a value for each row and chunk; `counters`: one for each tile
  softmax_column_major_statistics_kernel(const softmax_problem<T>& problem, const row_tiles& tiles, statistics* partial,
                                         unsigned* counters, statistics* of_rows)
      : team(problem, tiles), partial_(partial), counters_(counters), of_rows_(of_rows) {}

  std::size_t scratch_bytes() const { return row_tiles_scratch_bytes<statistics, 1>(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    // The next kernel may begin to load its elements, because this kernel does not write them.
    let_next_kernel_start(member);
    make_values_of_rows<1, chunks_at_once>(member, this->tiles_, partial_, counters_, *this);
  }

  /// \name What make_values_of_rows() asks for
  /// @{
  KOKKOS_FORCEINLINE_FUNCTION statistics identity() const { return {softmax_lowest<compute_t<T>>(), 0}; }
  KOKKOS_FORCEINLINE_FUNCTION statistics join(const statistics& a, const statistics& b) const {
    softmax_running_statistics<compute_t<T>> result{a.maximum, a.total};
    result.add_part(b);
    return {result.maximum, result.total};
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_share(std::int64_t row, int /*rows*/, std::int64_t column, std::int64_t end,
                                             int step, statistics (&values)[1]) const {
    const auto found = stretch_type(this->problem_, row, column, end - column, 0, step).read();
    values[0] = {found.maximum, found.total};
  }
  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t row, const statistics& of_row) const { of_rows_[row] = of_row; }
  /// @}

 private:
  /// Statistics that are loaded before the first of them is joined.
  static constexpr int chunks_at_once = 4;

  statistics* partial_;
  unsigned* counters_;
  statistics* of_rows_;
};

/// Writes chunks, the last ones first: they may still be cached. A team begins to read while the kernel before it,
/// which finds the statistics, still runs.
template <class T, class Formula, int Held>
class softmax_column_major_write_kernel : public softmax_column_major_team<T> {
  using team = softmax_column_major_team<T>;
  using statistics = softmax_statistics<compute_t<T>>;
  using stretch_type = softmax_stretch<T, Formula, Held / device_pack_elements<T>, false>;

 public:
  static constexpr int most_threads = softmax_column_major_choice<T>::usual_threads;
  static constexpr int resident_teams = 4;
  static constexpr bool waits_itself = true;

  softmax_column_major_write_kernel(const softmax_problem<T>& problem, const row_tiles& tiles,
                                    const statistics* of_rows)
      : team(problem, tiles), of_rows_(of_rows) {}

  std::size_t scratch_bytes() const { return 0; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    for (std::int64_t turn = member.league_rank(); turn < this->items(); turn += member.league_size()) {
      const auto at = this->place_of(member, this->items() - 1 - turn);
      stretch_type stretch(this->problem_, at.row, at.begin, at.count, at.column_lane, this->tiles_.column_lanes);
      stretch.read_last_tile();
      if (turn == member.league_rank()) wait_for_work_before(member);
      if (at.count > 0) stretch.write(of_rows_[at.row]);
    }
  }

 private:
  const statistics* of_rows_;
};

}  // namespace prumo::detail
