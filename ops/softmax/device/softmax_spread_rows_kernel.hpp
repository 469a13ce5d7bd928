// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of softmax on a device for a few rows that are too long for a cluster of teams, but fit into the scratch
/// memory of all multiprocessors together. A team keeps a part of a row, publishes its statistics, and waits for those
/// of the row's other parts. So rows are read once, in one launch.

#include "softmax_kept_part.hpp"
#include <prumo/detail/device/resident_teams.hpp>
#include <prumo/detail/device/team_resources.hpp>
#include <prumo/detail/teams/published_values.hpp>

#include <cstdint>

namespace prumo::detail {

/// The maximum of no number is -infinity, and the total of a number is not 0.
template <>
inline constexpr bool is_its_own_mark<softmax_statistics<float>> = true;

/// How many teams share a row, or 0 if the kernel does not pay. All sizes were measured on an H200.
struct softmax_spread_choice {
  /// Two kernels take less time for a matrix of less: the teams of one need 2 us to learn the statistics of the others.
  static constexpr std::int64_t fewest_bytes = std::int64_t{3} << 20;
  /// What a team needs beside its part of a row, at most.
  static constexpr std::int64_t reserved_bytes = std::int64_t{4} << 10;

  static constexpr std::int64_t most_bytes_of_part(const team_resources& device) {
    return device.bytes_of_team - reserved_bytes;
  }

  /// A multiprocessor has one team. Two with half of the memory each took as long for seven rows, and up to a fifth
  /// longer for one, whose parts are then twice as many.
  static constexpr int teams(std::int64_t rows, std::int64_t row_bytes, const team_resources& device) {
    if (rows * row_bytes < fewest_bytes) return 0;
    const std::int64_t teams = device.multiprocessors / rows;
    return row_bytes <= teams * most_bytes_of_part(device) ? static_cast<int>(teams) : 0;
  }
};

/// All teams must run at the same time, because each waits for all others of its row.
template <class T, class Formula>
class softmax_spread_rows_kernel {
  using C = compute_t<T>;
  using statistics = softmax_statistics<C>;
  static constexpr int threads = 512;
  using part = softmax_kept_part<T, Formula, threads>;
  static constexpr int words_of_part = words_of_published<statistics>;

 public:
  static constexpr int most_threads = threads;
  static constexpr int resident_teams = 2;
  static constexpr bool teams_wait_for_each_other = true;

  /// \param teams that share a row
  /// \param words for the statistics of all parts, all of them 0
  /// \param arrivals a counter for each row, all of them 0
  softmax_spread_rows_kernel(const softmax_problem<T>& problem, int teams, published_word* words, unsigned* arrivals)
      : problem_(problem),
        teams_(teams),
        elements_(part::elements(problem.columns, teams)),
        words_(words),
        arrivals_(arrivals) {}

  std::int64_t blocks() const { return problem_.rows * teams_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return threads; }
  std::size_t scratch_bytes() const {
    return part::scratch_bytes_for(elements_) + join_scratch<statistics>::bytes_for(threads);
  }
  /// Of the longest rows that the choice takes.
  static constexpr std::size_t most_scratch_bytes(const team_resources& device) {
    return part::most_scratch_bytes_for(softmax_spread_choice::most_bytes_of_part(device)) +
           join_scratch<statistics>::bytes_for(threads);
  }
  static constexpr std::int64_t words_for(std::int64_t teams) { return teams * words_of_part; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto scratch = team_join_scratch<statistics>(member, threads);
    pack_words* const kept = part::place(member, elements_);
    const int row = member.league_rank() / teams_, rank = member.league_rank() - row * teams_;
    published_word* const of_parts = words_ + static_cast<std::int64_t>(row) * teams_ * words_of_part;
    const part own(problem_, row, rank, elements_, member.team_rank());
    const statistics of_part = own.read(kept).join_team(member, scratch, threads);
    if (member.team_rank() == 0) publish(of_parts + rank * words_of_part, of_part);
    const statistics of_row = join_parts(of_parts, member.team_rank()).join_team(member, scratch, threads);
    clear_published_as_last(of_parts, teams_ * words_of_part, arrivals_ + row, teams_, member.team_rank());
    own.write(kept, of_row);
  }

 private:
  /// The statistics of the parts that the thread takes.
  KOKKOS_FORCEINLINE_FUNCTION softmax_running_statistics<C> join_parts(const published_word* of_parts,
                                                                       int first) const {
    softmax_running_statistics<C> result;
    for (int which = first; which < teams_; which += threads) {
      statistics value[1];
      wait_for_published(of_parts, which, threads, which + 1, value);
      result.add_part(value[0]);
    }
    return result;
  }

  softmax_problem<T> problem_;
  int teams_;
  int elements_;  ///< of a team's part of a row
  published_word* words_;
  unsigned* arrivals_;
};

}  // namespace prumo::detail
