// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of softmax on a device for long rows that a cluster of teams keeps in its scratch memory. So rows are
/// read once, and a few of them keep many multiprocessors busy.

#include "softmax_kept_part.hpp"
#include <prumo/detail/device/team_cluster.hpp>
#include <prumo/detail/device/team_resources.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// How many teams share a row, or 0 if the kernel does not pay. All sizes were measured on an H100.
struct softmax_shared_choice {
  /// Shorter rows take less time in the registers of a team. So do 64 KiB of 16-bit numbers, which are computed faster,
  /// if each team has one row at most.
  static constexpr std::int64_t fewest_bytes = std::int64_t{36} << 10;
  static constexpr std::int64_t fewest_bytes_of_half = std::int64_t{64} << 10;
  /// The longest parts of rows of which a multiprocessor holds this number. A team needs up to 4 KiB beside its part.
  static constexpr std::int64_t bytes_of_part(int teams_of_multiprocessor, const team_resources& device) {
    return device.bytes_of_multiprocessor / teams_of_multiprocessor - (std::int64_t{4} << 10);
  }
  /// A team takes nearly as long for half of this.
  static constexpr std::int64_t fewest_bytes_of_team = std::int64_t{8} << 10;
  /// Where half of the multiprocessors have no team, each team should have no more than this.
  static constexpr std::int64_t most_bytes_of_few_teams = std::int64_t{32} << 10;

  /// \param keeps_row whether softmax_kept_rows_kernel takes the rows, two on each multiprocessor
  static constexpr int teams(std::int64_t rows, std::int64_t row_bytes, std::size_t element_bytes, bool keeps_row,
                             const team_resources& device) {
    const std::int64_t multiprocessors = device.multiprocessors;
    const bool is_half = element_bytes == 2 && rows <= multiprocessors;
    if (row_bytes < (is_half ? fewest_bytes_of_half : fewest_bytes)) return 0;
    // A large team a row takes less time where that fills the device at once.
    if (keeps_row && 2 * rows > multiprocessors && rows <= multiprocessors) return 0;
    // Of three teams of a multiprocessor, some read while others write.
    const std::int64_t third = bytes_of_part(3, device), half = bytes_of_part(2, device);
    int teams = 1;
    const bool fits_at_once = rows <= 2 * multiprocessors;
    if (row_bytes > (fits_at_once ? half : third)) {
      teams = 2;
      while (teams < most_teams_of_cluster && row_bytes > teams * third) teams *= 2;
    }
    if (row_bytes > teams * half) return 0;
    while (teams < most_teams_of_cluster && 2 * rows * teams <= multiprocessors * 3 / 2 &&
           row_bytes >= 2 * teams * fewest_bytes_of_team) {
      teams *= 2;
    }
    return 2 * rows * teams < multiprocessors && row_bytes > teams * most_bytes_of_few_teams ? 0 : teams;
  }
};

template <class T, class Formula>
class softmax_shared_rows_kernel {
  using statistics = softmax_statistics<compute_t<T>>;
  static constexpr int threads = 256;
  using part = softmax_kept_part<T, Formula, threads>;
  static constexpr std::size_t bytes_beside_part =
      join_scratch<statistics>::bytes_for(threads) + 2 * most_teams_of_cluster * sizeof(statistics);

 public:
  static constexpr int most_threads = threads;
  static constexpr int resident_teams = 4;

  /// \param teams that share a row, a power of two up to most_teams_of_cluster
  softmax_shared_rows_kernel(const softmax_problem<T>& problem, int teams)
      : problem_(problem), teams_(teams), elements_(part::elements(problem.columns, teams)) {}

  std::int64_t blocks() const {
    const std::int64_t most_rows = INT_MAX / teams_;
    return std::min(problem_.rows, most_rows) * teams_;
  }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return threads; }
  int teams_of_cluster() const { return teams_; }
  std::size_t scratch_bytes() const { return part::scratch_bytes_for(elements_) + bytes_beside_part; }
  /// Of the longest rows that the choice takes.
  static std::size_t most_scratch_bytes(const team_resources& device) {
    return part::most_scratch_bytes_for(softmax_shared_choice::bytes_of_part(2, device)) + bytes_beside_part;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    arrive_at_cluster();
    auto scratch = team_join_scratch<statistics>(member, threads);
    // The statistics of all parts of a row. Rows use two places in turns: before one is written again, all teams have
    // met at the barrier of the row between, and none still reads the row before that.
    auto* of_parts = team_scratch_array<statistics>(member, 2 * most_teams_of_cluster);
    pack_words* const kept = part::place(member, elements_);
    const int rank = member.league_rank() % teams_, clusters = member.league_size() / teams_;
    std::int64_t turn = 0;
    for (std::int64_t row = member.league_rank() / teams_; row < problem_.rows; row += clusters, ++turn) {
      const part own(problem_, row, rank, elements_, member.team_rank());
      const statistics of_part = own.read(kept).join_team(member, scratch, threads);
      if (turn == 0) wait_for_cluster();
      statistics* const place = of_parts + turn % 2 * most_teams_of_cluster;
      if (member.team_rank() < teams_) store_in_team(place + rank, member.team_rank(), of_part);
      arrive_at_cluster();
      wait_for_cluster();
      const statistics other = place[member.team_rank() % teams_];
      own.write(kept, softmax_running_statistics<compute_t<T>>{other.maximum, other.total}.join_neighbours(teams_));
    }
  }

 private:
  softmax_problem<T> problem_;
  int teams_;
  int elements_;  ///< of a team's part of a row
};

}  // namespace prumo::detail
