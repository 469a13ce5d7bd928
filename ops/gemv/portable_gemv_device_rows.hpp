// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector on a device, where rows lie in memory: groups of threads multiply rows by the
/// vector. Where there are few rows, several teams share each, and the last of them adds up what all find, in the same
/// order every time.

#include "gemm_entries.hpp"
#include "gemv_problem.hpp"
#include "portable_gemv_tuning.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/published_values.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// How rows are shared out.
struct gemv_rows_partition {
  int rows_at_once = 1;
  int group = 1;  ///< threads that share a row
  std::int64_t part = 1;
  std::int64_t parts = 1;

  /// With packs of this many elements.
  template <class T>
  static gemv_rows_partition of(std::int64_t m, std::int64_t n, int elements) {
    using tuning = gemv_tuning;
    const auto group_for = [&](int rows) {
      const std::int64_t at_once = std::int64_t{tuning::loads_of_rows<T>(rows)} * elements;
      return detail::group_threads((n + at_once - 1) / at_once, tuning::team_threads);
    };
    gemv_rows_partition result;
    result.part = n;
    result.group = group_for(tuning::rows_at_once);
    const std::int64_t groups = (m + tuning::rows_at_once - 1) / tuning::rows_at_once;
    if (groups * result.group >= tuning::many_threads) {
      result.rows_at_once = tuning::rows_at_once;
      return result;
    }
    result.group = group_for(1);
    std::int64_t bytes = tuning::shortest_part_bytes;
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    while (bytes / size * tuning::most_parts < m * n) bytes *= 2;
    if (n <= bytes / size) return result;
    result.part = bytes / size;
    result.parts = (n + result.part - 1) / result.part;
    result.group = tuning::team_threads;
    return result;
  }
};

/// A group of threads takes `Rows` rows, which share what is read of x, or a team a part of one. Elements above 1: rows
/// are read in packs.
template <class T, int Elements, int Rows>
class gemv_rows_device_kernel {
  using C = compute_t<T>;
  using pack = detail::device_pack<T, Elements>;
  static constexpr int loads = gemv_tuning::loads_of_rows<T>(Rows);

 public:
  static constexpr int most_threads = gemv_tuning::team_threads;
  static constexpr int resident_teams = gemv_tuning::resident_teams;

  /// `words`: the context's, where there are several parts; Rows is 1 then.
  gemv_rows_device_kernel(const gemv_problem<T>& problem, const gemv_rows_partition& partition,
                          detail::published_word* words)
      : problem_(problem),
        part_(partition.part),
        parts_(partition.parts),
        items_((problem.m + Rows - 1) / Rows * partition.parts),
        words_(words),
        group_(partition.group),
        form_(choose_form(problem.alpha, problem.beta)),
        x_packs_(problem.x_stride == 1 && reinterpret_cast<std::uintptr_t>(problem.x) % sizeof(pack) == 0) {}

  std::int64_t blocks() const { return items_; }
  std::int64_t blocks_per_team() const { return most_threads / group_; }
  static constexpr int team_threads() { return most_threads; }
  static constexpr std::size_t scratch_bytes() { return detail::join_scratch<C>::bytes_for(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    detail::join_scratch<C> scratch = detail::team_join_scratch<C>(member, most_threads);
    const int groups = most_threads / group_;
    const int group = member.team_rank() / group_;
    const int lane = member.team_rank() & (group_ - 1);
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * groups;
    // All threads of a team go round equally often: they meet at barriers. Rows that are read by one load lie side by
    // side: those of a team's groups.
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * groups; begin < items_; begin += step) {
      const std::int64_t row = parts_ == 1 ? begin * Rows + group : begin / parts_;
      const std::int64_t part = parts_ == 1 ? 0 : begin - row * parts_;
      C sums[Rows] = {};
      add_products(row, groups, part * part_, lane, sums);
      PRUMO_UNROLL
      for (int i = 0; i < Rows; ++i) sums[i] = detail::join_group(member, scratch, group_, sums[i], add{});
      if (parts_ > 1) {
        constexpr int words = detail::words_of_published<C>;
        if (part < parts_ - 1) {
          if (lane == 0) detail::publish(words_ + begin * words, sums[0]);
          continue;
        }
        sums[0] = detail::join_published<most_threads>(member, scratch, words_ + row * parts_ * words, parts_, C(0),
                                                       sums[0], add{});
      }
      if (lane != 0) continue;
      PRUMO_UNROLL
      for (int i = 0; i < Rows; ++i) write(row + static_cast<std::int64_t>(i) * groups, sums[i]);
    }
  }

 private:
  struct add {
    KOKKOS_FORCEINLINE_FUNCTION C operator()(C a, C b) const { return a + b; }
  };

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t row, C sum) const {
    if (row >= problem_.m) return;
    write_entry_by<T>(form_, C(problem_.alpha), C(problem_.beta), sum, problem_.y[row * problem_.y_stride]);
  }

  /// A thread's share of the rows `first`, `first + distance`, ... from a column on. Rows beyond the last are that one
  /// again, which nobody writes.
  KOKKOS_FORCEINLINE_FUNCTION void add_products(std::int64_t first, int distance, std::int64_t column, int lane,
                                                C (&sums)[Rows]) const {
    const T* rows[Rows];
    PRUMO_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const std::int64_t wanted = first + static_cast<std::int64_t>(i) * distance;
      const std::int64_t row = wanted < problem_.m ? wanted : problem_.m - 1;
      rows[i] = problem_.a.data + row * problem_.a.row_stride + column * problem_.a.column_stride;
    }
    const T* const x = problem_.x + column * problem_.x_stride;
    const std::int64_t count = problem_.n - column < part_ ? problem_.n - column : part_;
    const std::int64_t packs = count / Elements;
    const std::int64_t group = group_;
    std::int64_t at = lane;
    PRUMO_KEEP_LOOP
    for (; at + (loads - 1) * group < packs; at += loads * group) add_packs<loads>(rows, x, at, sums);
    PRUMO_KEEP_LOOP
    for (; at < packs; at += group_) add_packs<1>(rows, x, at, sums);
    if constexpr (Elements > 1) {
      PRUMO_KEEP_LOOP
      for (std::int64_t j = packs * Elements + lane; j < count; j += group_) {
        const C factor = static_cast<C>(x[j * problem_.x_stride]);
        PRUMO_UNROLL
        for (int i = 0; i < Rows; ++i) sums[i] = prumo::fma(static_cast<C>(rows[i][j]), factor, sums[i]);
      }
    }
  }

  template <int Loads>
  KOKKOS_FORCEINLINE_FUNCTION void add_packs(const T* const (&rows)[Rows], const T* x, std::int64_t at,
                                             C (&sums)[Rows]) const {
    const std::int64_t group = group_;
    pack loaded[Loads][Rows];
    PRUMO_UNROLL
    for (int load = 0; load < Loads; ++load) {
      PRUMO_UNROLL
      for (int i = 0; i < Rows; ++i) loaded[load][i] = load_pack(rows[i], at + load * group);
    }
    PRUMO_UNROLL
    for (int load = 0; load < Loads; ++load) {
      const pack factors = load_factors(x, at + load * group);
      PRUMO_UNROLL
      for (int e = 0; e < Elements; ++e) {
        const C factor = static_cast<C>(factors.values[e]);
        PRUMO_UNROLL
        for (int i = 0; i < Rows; ++i) {
          sums[i] = prumo::fma(static_cast<C>(loaded[load][i].values[e]), factor, sums[i]);
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION pack load_pack(const T* row, std::int64_t at) const {
    if constexpr (Elements > 1) {
      return reinterpret_cast<const pack*>(row)[at];
    } else {
      return {{row[at * problem_.a.column_stride]}};
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION pack load_factors(const T* x, std::int64_t at) const {
    if (x_packs_) return reinterpret_cast<const pack*>(x)[at];
    pack factors;
    PRUMO_UNROLL
    for (int e = 0; e < Elements; ++e) factors.values[e] = x[(at * Elements + e) * problem_.x_stride];
    return factors;
  }

  gemv_problem<T> problem_;
  std::int64_t part_;
  std::int64_t parts_;
  std::int64_t items_;
  detail::published_word* words_;
  int group_;
  scaled_form form_;
  bool x_packs_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
