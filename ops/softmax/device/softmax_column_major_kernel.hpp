// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of softmax on a device for column-major matrices, whose rows lie side by side: neighbouring threads take
/// neighbouring rows. If there are few rows, a first kernel finds the statistics of each, and a second one writes.

#include "softmax_stretch.hpp"
#include <prumo/detail/teams/row_tiles.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// How a column-major matrix is shared out.
template <class T>
struct softmax_column_major_choice {
  using partition = softmax_device_partition<T>;
  static constexpr int usual_threads = partition::usual_threads, most_threads = partition::most_threads;
  /// Numbers that a thread holds: of short rows, and of others.
  static constexpr int few = 8, many = partition::packs_of_segment * partition::pack_elements;
  /// Rows side by side: fewer would leave a part of each sector of memory to another team.
  static constexpr int fewest_rows = static_cast<int>(32 / sizeof(T));
  /// Where one kernel has fewer teams than this for rows that do not fit into their registers, two kernels share out
  /// chunks of rows ...
  static constexpr std::int64_t fewest_teams = 96;
  /// ... to so many teams.
  static constexpr std::int64_t teams_of_chunks = 1024;

  int threads = usual_threads;
  int held = few;
  bool in_chunks = false;
  row_tiles tiles;

  static softmax_column_major_choice of(std::int64_t rows, std::int64_t columns) {
    softmax_column_major_choice result;
    if (columns > std::int64_t{few} * usual_threads / fewest_rows) result.held = many;
    if (columns > std::int64_t{many} * usual_threads / fewest_rows) result.threads = most_threads;
    const int most_lanes = result.threads / fewest_rows;
    int lanes = group_threads((columns + result.held - 1) / result.held, most_lanes);
    // Few teams have fewer rows each.
    while (lanes < most_lanes && rows * lanes < fewest_teams * result.threads) lanes *= 2;
    result.tiles = row_tiles::of(rows, columns, 1,
                                 {.team_threads = result.threads, .teams = 1, .shortest_share = 1,
                                  .least_column_lanes = lanes});
    const std::int64_t fitting = std::int64_t{result.held} * result.tiles.column_lanes;
    if (columns <= fitting || result.tiles.tiles >= fewest_teams) return result;
    result = {.threads = usual_threads, .held = many, .in_chunks = true, .tiles = {}};
    result.tiles = row_tiles::of(rows, columns, 1,
                                 {.team_threads = usual_threads, .teams = teams_of_chunks, .shortest_share = few,
                                  .least_column_lanes = usual_threads / exchange_threads});
    return result;
  }
};

/// What a thread has of a matrix: columns of one row.
template <class T, class Formula, int Held, int Threads>
class softmax_column_major_team {
 public:
  using C = compute_t<T>;
  using statistics = softmax_statistics<C>;
  static_assert(Held % device_pack_elements<T> == 0);
  using stretch = softmax_stretch<T, Formula, Held / device_pack_elements<T>, false>;

  static constexpr int most_threads = Threads;
  static constexpr int resident_teams = softmax_device_partition<T>::most_threads / Threads;

  softmax_column_major_team(const softmax_problem<T>& problem, const row_tiles& tiles)
      : problem_(problem), tiles_(tiles) {}

  std::int64_t blocks() const { return problem_.columns == 0 ? 0 : tiles_.blocks(); }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }

 protected:
  struct place {
    std::int64_t row, begin;
    std::int64_t count;  ///< of the columns of the chunk; 0 beyond the last row
    int row_lane, column_lane;
  };

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION place place_of(const Member& member, std::int64_t block) const {
    const int row_lane = member.team_rank() & (tiles_.row_lanes - 1);
    const std::int64_t chunk = block / tiles_.tiles, tile = block - chunk * tiles_.tiles;
    const std::int64_t row = tile * tiles_.row_lanes + row_lane, begin = chunk * tiles_.chunk;
    const std::int64_t rest = problem_.columns - begin;
    const std::int64_t count = row < problem_.rows ? (rest < tiles_.chunk ? rest : tiles_.chunk) : 0;
    return {row, begin, count, row_lane, member.team_rank() / tiles_.row_lanes};
  }
  KOKKOS_FORCEINLINE_FUNCTION stretch stretch_of(const place& at) const {
    return stretch(problem_, at.row, at.begin, at.count, at.column_lane, tiles_.column_lanes);
  }

  softmax_problem<T> problem_;
  row_tiles tiles_;
};

/// Whole rows. Of those that registers do not hold, the rest is read twice.
template <class T, class Formula, int Held, int Threads>
class softmax_column_major_kernel : public softmax_column_major_team<T, Formula, Held, Threads> {
  using team = softmax_column_major_team<T, Formula, Held, Threads>;
  using typename team::statistics;

 public:
  using team::team;

  std::size_t scratch_bytes() const { return row_tiles_scratch_bytes<statistics, 1>(Threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto* const scratch = team_scratch_array<statistics>(member, Threads);
    for (std::int64_t block = member.league_rank(); block < this->blocks(); block += member.league_size()) {
      const auto at = this->place_of(member, block);
      auto stretch = this->stretch_of(at);
      const auto own = stretch.read();
      statistics of_row[1] = {{own.maximum, own.total}};
      join_column_lanes(member, this->tiles_, scratch, at.row_lane, at.column_lane, of_row, join_statistics{});
      stretch.write(of_row[0]);
    }
  }
};

/// of_rows[r] = the statistics of row r. A team takes a chunk of a tile; the last team of a tile joins its chunks.
template <class T, class Formula, int Held, int Threads>
class softmax_column_major_statistics_kernel : public softmax_column_major_team<T, Formula, Held, Threads> {
  using team = softmax_column_major_team<T, Formula, Held, Threads>;
  using typename team::statistics;

 public:
  /// `partial`: a value for each row and chunk; `counters`: one for each tile
  softmax_column_major_statistics_kernel(const softmax_problem<T>& problem, const row_tiles& tiles,
                                         statistics* partial, unsigned* counters, statistics* of_rows)
      : team(problem, tiles), partial_(partial), counters_(counters), of_rows_(of_rows) {}

  std::size_t scratch_bytes() const { return row_tiles_scratch_bytes<statistics, 1>(Threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    // The next kernel reads the same rows as this one.
    let_next_kernel_start(member);
    make_values_of_rows<1>(member, this->tiles_, partial_, counters_, *this);
  }

  /// \name What make_values_of_rows() asks for
  /// @{
  KOKKOS_FORCEINLINE_FUNCTION statistics identity() const { return {softmax_lowest<typename team::C>(), 0}; }
  KOKKOS_FORCEINLINE_FUNCTION statistics join(const statistics& a, const statistics& b) const {
    return join_statistics::join(a, b);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_share(std::int64_t row, int /*rows*/, std::int64_t column, std::int64_t end,
                                             int step, statistics (&values)[1]) const {
    typename team::stretch stretch(this->problem_, row, column, end - column, 0, step);
    const auto found = stretch.read();
    values[0] = {found.maximum, found.total};
  }
  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t row, const statistics& of_row) const { of_rows_[row] = of_row; }
  /// @}

 private:
  statistics* partial_;
  unsigned* counters_;
  statistics* of_rows_;
};

/// Writes chunks, the last ones first: they may still be cached. A team begins to read while the kernel before it,
/// which finds the statistics, still runs.
template <class T, class Formula, int Held, int Threads>
class softmax_column_major_write_kernel : public softmax_column_major_team<T, Formula, Held, Threads> {
  using team = softmax_column_major_team<T, Formula, Held, Threads>;
  using typename team::statistics;

 public:
  static constexpr bool waits_itself = true;

  softmax_column_major_write_kernel(const softmax_problem<T>& problem, const row_tiles& tiles,
                                    const statistics* of_rows)
      : team(problem, tiles), of_rows_(of_rows) {}

  std::size_t scratch_bytes() const { return 0; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    for (std::int64_t turn = member.league_rank(); turn < this->blocks(); turn += member.league_size()) {
      const auto at = this->place_of(member, this->blocks() - 1 - turn);
      auto stretch = this->stretch_of(at);
      stretch.read_last_tile();
      if (turn == member.league_rank()) wait_for_work_before(member);
      if (at.count > 0) stretch.write(of_rows_[at.row]);
    }
  }

 private:
  const statistics* of_rows_;
};

}  // namespace prumo::detail
