// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A stretch of a row that is longer than what the registers of a device's threads hold.

#include "softmax_running_statistics.hpp"

#include <cstdint>

namespace prumo::detail {

/// A stretch of a row as a group of threads walks it: in tiles of what its registers hold, and the elements before the
/// first pack and after the last one.
template <class T, class Formula, int Packs, bool InPacks>
class softmax_stretch {
  using C = compute_t<T>;
  using run = pack_run<T, std::int64_t>;

 public:
  /// What thread `lane` of `group` has of `count` elements.
  KOKKOS_FORCEINLINE_FUNCTION softmax_stretch(const softmax_problem<T>& problem, std::int64_t row, std::int64_t begin,
                                              std::int64_t count, int lane, int group)
      : source_(problem.source + row * problem.source_row_stride + begin * problem.source_column_stride),
        target_(problem.target + row * problem.target_row_stride + begin * problem.target_column_stride),
        source_stride_(InPacks ? 1 : problem.source_column_stride),
        target_stride_(InPacks ? 1 : problem.target_column_stride),
        run_(InPacks ? run::of(source_, count) : run::without_ends(count)),
        lane_(lane),
        group_(group) {}

  /// Reads the stretch from its beginning to its end. The last tile stays in registers.
  KOKKOS_FORCEINLINE_FUNCTION softmax_running_statistics<C> read() {
    softmax_running_statistics<C> statistics;
    if (run_.has_end_for(lane_)) statistics.add(load(source_[run_.end_of(lane_)]));
    for (std::int64_t begin = 0; begin < run_.whole; begin += tile()) {
      load_tile(begin);
      statistics.add(share_);
    }
    return statistics;
  }

  /// Reads the last tile, which stays in registers.
  KOKKOS_FORCEINLINE_FUNCTION void read_last_tile() {
    if (run_.whole > 0) load_tile(begin_of_last_tile());
  }

  /// Writes the stretch from its end to its beginning, because what was read last is the likeliest to be cached. read()
  /// or read_last_tile() was called before.
  KOKKOS_FORCEINLINE_FUNCTION void write(const softmax_statistics<C>& of_row) {
    const C shift = softmax_shift(of_row.maximum), factor = softmax_row_factor<T, Formula>(of_row.total);
    if (run_.has_end_for(lane_)) {
      const C x = load(source_[run_.end_of(lane_)]);
      target_[run_.end_of(lane_)] = static_cast<T>(softmax_result<T, Formula>(x, shift, factor));
    }
    if (run_.whole == 0) return;
    const std::int64_t last = begin_of_last_tile();
    for (std::int64_t begin = last; begin >= 0; begin -= tile()) {
      if (begin != last) load_tile(begin);
      share_.template finish_values<Formula>(shift, factor);
      share_.store_to(target_ + (run_.head + begin) * target_stride_, length_of(begin), target_stride_, lane_, group_);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t tile() const { return std::int64_t{group_} * (Packs * run::pack_elements); }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t begin_of_last_tile() const { return (run_.whole - 1) / tile() * tile(); }
  KOKKOS_FORCEINLINE_FUNCTION int length_of(std::int64_t begin) const {
    return static_cast<int>(run_.whole - begin < tile() ? run_.whole - begin : tile());
  }
  KOKKOS_FORCEINLINE_FUNCTION void load_tile(std::int64_t begin) {
    share_.load_from(source_ + (run_.head + begin) * source_stride_, length_of(begin), source_stride_, lane_, group_);
  }

  const T* source_;
  T* target_;
  std::int64_t source_stride_;
  std::int64_t target_stride_;
  run run_;
  int lane_;
  int group_;
  softmax_share<T, Packs, InPacks> share_;
};

}  // namespace prumo::detail
