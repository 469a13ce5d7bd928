// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of softmax on a device for short rows of neighbouring elements that are not whole packs.

#include "softmax_device_share.hpp"

#include <cstdint>

namespace prumo::detail {

/// Neighbouring threads take neighbouring elements. Group threads take two rows at once where they are short. A row
/// waits for two chains of exchanges between its threads, and the other row is computed meanwhile.
///
/// Group is a power of two. Group * Elements is the length of the longest row.
template <class T, class Formula, int Group, int Elements>
class softmax_element_rows_kernel {
  using C = compute_t<T>;
  /// The rows of a group.
  static constexpr int together = Elements <= 4 ? 2 : 1;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = sizeof(C) * Elements * together <= 32 ? 6 : 4;

  explicit softmax_element_rows_kernel(const softmax_problem<T>& problem)
      : source_(problem.source),
        target_(problem.target),
        rows_(problem.rows),
        source_stride_(problem.source_row_stride),
        target_stride_(problem.target_row_stride),
        columns_(static_cast<int>(problem.columns)) {}

  std::int64_t blocks() const { return rows_; }
  std::int64_t blocks_per_team() const { return most_threads / Group * together; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return 0; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    constexpr int at_once = most_threads / Group * together;
    const int thread = member.team_rank(), lane = thread & (Group - 1);
    const int left = columns_ - lane;
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * at_once;
    for (std::int64_t row = static_cast<std::int64_t>(member.league_rank()) * at_once + thread / Group * together;
         row - thread / Group * together < rows_; row += step) {
      const std::int64_t rest = rows_ - row;
      const T* const source = source_ + row * source_stride_ + lane;
      C values[together][Elements];
      PRUMO_UNROLL
      for (int r = 0; r < together; ++r) {
        T loaded[Elements];
        PRUMO_UNROLL
        for (int element = 0; element < Elements; ++element) {
          loaded[element] = r < rest && element * Group < left ? source[r * source_stride_ + element * Group]
                                                               : static_cast<T>(softmax_lowest<C>());
        }
        PRUMO_UNROLL
        for (int element = 0; element < Elements; ++element) values[r][element] = load(loaded[element]);
      }
      C shift[together], factor[together];
      PRUMO_UNROLL
      for (int r = 0; r < together; ++r) {
        C largest = values[r][0];
        PRUMO_UNROLL
        for (int element = 1; element < Elements; ++element) largest = Kokkos::fmax(largest, values[r][element]);
        shift[r] = softmax_shift(join_neighbours(Group, largest, join_maxima{}));
      }
      PRUMO_UNROLL
      for (int r = 0; r < together; ++r) {
        C sum(0);
        PRUMO_UNROLL
        for (int element = 0; element < Elements; ++element) {
          const C exponential = softmax_exponential<T, Formula::keeps_exponentials>(values[r][element], shift[r]);
          if constexpr (Formula::keeps_exponentials) values[r][element] = exponential;
          sum = sum + exponential;
        }
        factor[r] = softmax_row_factor<T, Formula>(join_neighbours(Group, sum, join_sums{}));
      }
      T* const target = target_ + row * target_stride_ + lane;
      PRUMO_UNROLL
      for (int r = 0; r < together; ++r) {
        PRUMO_UNROLL
        for (int element = 0; element < Elements; ++element) {
          if (r < rest && element * Group < left) {
            target[r * target_stride_ + element * Group] =
                static_cast<T>(Formula::from_kept(values[r][element], shift[r], factor[r]));
          }
        }
      }
    }
  }

 private:
  const T* source_;
  T* target_;
  std::int64_t rows_;
  std::int64_t source_stride_;
  std::int64_t target_stride_;
  int columns_;
};

}  // namespace prumo::detail
