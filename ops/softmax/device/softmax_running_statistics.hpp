// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The maximum and the sum of exponentials of a row that several threads of a device read.

#include "softmax_device_share.hpp"

namespace prumo::detail {

/// The statistics of what a thread has read so far (Milakov and Gimelshein, "Online normalizer calculation for
/// softmax", 2018).
template <class C>
struct softmax_running_statistics {
  C maximum = softmax_lowest<C>();
  C total = C(0);

  /// Takes a number into the maximum, and the total to the new one. Returns what to subtract from numbers that are
  /// added.
  KOKKOS_FORCEINLINE_FUNCTION C shift_with(C number) {
    const C new_maximum = Kokkos::fmax(maximum, number);
    const C shift = softmax_shift(new_maximum);
    total = total_under(shift);
    maximum = new_maximum;
    return shift;
  }

  template <class Share>
  KOKKOS_FORCEINLINE_FUNCTION void add(Share& share) {
    const C shift = shift_with(share.largest());
    total = total + share.template sum_exponentials<false>(shift);
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(C value) {
    const C shift = shift_with(value);
    total = total + prumo::exp(value - shift);
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_part(const softmax_statistics<C>& other) {
    const C shift = shift_with(other.maximum);
    total = total + other.total * prumo::exp(other.maximum - shift);
  }

  /// The total under another maximum, which is not infinite.
  KOKKOS_FORCEINLINE_FUNCTION C total_under(C shift) const { return total * prumo::exp(maximum - shift); }

  /// The statistics of `group` neighbouring threads, at most exchange_threads.
  KOKKOS_FORCEINLINE_FUNCTION softmax_statistics<C> join_neighbours(int group) const {
    const C of_group = prumo::detail::join_neighbours(group, maximum, join_maxima{});
    return {of_group, prumo::detail::join_neighbours(group, total_under(softmax_shift(of_group)), join_sums{})};
  }

  /// The statistics of all threads of a team, after one barrier.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION softmax_statistics<C> join_team(const Member& member,
                                                              join_scratch<softmax_statistics<C>>& scratch,
                                                              int threads) const {
    const softmax_statistics<C> own = join_neighbours(exchange_threads);
    const int lane = member.team_rank() % exchange_threads, stretches = threads / exchange_threads;
    softmax_statistics<C>* const values = scratch.take();
    if (lane == 0) values[member.team_rank() / exchange_threads] = own;
    member.team_barrier();
    const softmax_statistics<C> other = values[lane % stretches];
    return softmax_running_statistics{other.maximum, other.total}.join_neighbours(stretches);
  }
};

}  // namespace prumo::detail
