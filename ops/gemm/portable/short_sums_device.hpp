// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product on a device for sums of few products. It is bound by memory, mostly by writing C, and not by
/// multiply-adds. Each thread keeps its columns of B in registers and walks down rows of C. Its team
/// copies the rows of A that it needs to scratch memory first. One thread computes the whole sum of an entry of C.

#include "gemm_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/device/team_resources.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// How the teams of a device share out C.
struct short_sums_partition {
  static constexpr int threads = 256, warps = threads / detail::exchange_threads;
  /// The rows are shared out so that all teams can run at the same time: this number on a multiprocessor.
  static constexpr int resident_teams = 3;
  /// A warp that computes one row at a time walks down at least this many, or it would spend most of its time on
  /// loading B.
  static constexpr int fewest_steps = 4;

  int column_lanes = 1;  ///< threads side by side, a power of two; the others of a warp take further rows
  int column_warps = 1;  ///< warps side by side, a power of two
  int rows = 1;          ///< of a team
  std::int64_t row_groups = 1;
  std::int64_t column_groups = 1;

  /// \param columns that a thread has
  /// \param most_rows that fit into a team's scratch memory
  static short_sums_partition of(std::int64_t m, std::int64_t n, int columns, int most_rows,
                                 std::int64_t multiprocessors) {
    short_sums_partition result;
    result.column_lanes = detail::group_threads(n, detail::exchange_threads);
    const std::int64_t width = std::int64_t{result.column_lanes} * columns;
    result.column_warps = detail::group_threads((n + width - 1) / width, warps);
    const std::int64_t wanted = multiprocessors * resident_teams;
    while (result.column_warps > 1 && result.groups_of_columns(n, width) * result.groups_of_rows(m) < wanted &&
           std::int64_t{2} * result.rows_of_a_step() <= m) {
      result.column_warps /= 2;
    }
    result.column_groups = result.groups_of_columns(n, width);
    const std::int64_t wanted_groups = std::max<std::int64_t>(1, wanted / result.column_groups);
    const std::int64_t fewest = result.fewest_rows();
    const std::int64_t most = std::max<std::int64_t>(fewest, most_rows);
    result.rows = static_cast<int>(std::clamp((m + wanted_groups - 1) / wanted_groups, fewest, most));
    result.row_groups = (m + result.rows - 1) / result.rows;
    return result;
  }

  /// Rows that a team computes at a time.
  KOKKOS_FUNCTION constexpr int rows_of_a_step() const {
    return warps / column_warps * (detail::exchange_threads / column_lanes);
  }

 private:
  int fewest_rows() const { return rows_of_a_step() * (column_lanes == detail::exchange_threads ? fewest_steps : 1); }
  std::int64_t groups_of_columns(std::int64_t n, std::int64_t width) const {
    return (n + width * column_warps - 1) / (width * column_warps);
  }
  std::int64_t groups_of_rows(std::int64_t m) const { return (m + fewest_rows() - 1) / fewest_rows(); }
};

/// C = alpha A B + beta C for 0 < k <= Depth. Sums of fewer products are filled up with zeros.
///
/// \tparam Columns the number of columns of C that a thread has. Between two of them lie those of its neighbours.
template <class T, int Depth, int Columns>
class short_sums_device_kernel {
  using C = compute_t<T>;
  static constexpr int pack_elements = std::min(Depth, static_cast<int>(16 / sizeof(C)));
  using pack = detail::device_pack<C, pack_elements>;
  static constexpr int packs = Depth / pack_elements;
  /// Rows of several packs begin in different banks of scratch memory, because neighbouring threads may read
  /// neighbouring rows.
  static constexpr int pitch = packs == 1 ? 1 : packs + 1;
  static constexpr int scratch_packs = 2048;

 public:
  static constexpr int most_threads = short_sums_partition::threads;
  static constexpr int resident_teams = short_sums_partition::resident_teams + (Columns == 1 ? 1 : 0);

  short_sums_device_kernel(const gemm_problem<T>& problem, std::int64_t multiprocessors)
      : a_(problem.a),
        b_(problem.b),
        c_(problem.c),
        m_(problem.m),
        n_(problem.n),
        depth_(static_cast<int>(problem.k)),
        alpha_(problem.alpha),
        beta_(problem.beta),
        partition_(short_sums_partition::of(problem.m, problem.n, Columns, scratch_packs / pitch, multiprocessors)) {}

  std::int64_t blocks() const { return partition_.row_groups * partition_.column_groups; }
  static constexpr std::int64_t blocks_per_team() { return 1; }
  static constexpr int team_threads() { return most_threads; }
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(partition_.rows * pitch) * sizeof(pack); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    pack* const rows_of_a = detail::team_scratch_array<pack>(member, partition_.rows * pitch);
    const std::int64_t blocks = partition_.row_groups * partition_.column_groups;
    for (std::int64_t block = member.league_rank(); block < blocks; block += member.league_size()) {
      if (block != member.league_rank()) member.team_barrier();  // rows of the block before may still be read
      const std::int64_t column_group = block / partition_.row_groups;
      const std::int64_t row = (block - column_group * partition_.row_groups) * partition_.rows;
      compute(member, rows_of_a, row, column_group);
    }
  }

 private:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Member& member, pack* rows_of_a, std::int64_t row,
                                           std::int64_t column_group) const {
    const int warp = member.team_rank() / detail::exchange_threads,
              lane = member.team_rank() % detail::exchange_threads;
    const int column_lane = lane & (partition_.column_lanes - 1), column_warp = warp & (partition_.column_warps - 1);
    const int rows = m_ - row < partition_.rows ? static_cast<int>(m_ - row) : partition_.rows;
    const std::int64_t column =
        (column_group * partition_.column_warps + column_warp) * partition_.column_lanes * Columns + column_lane;
    const std::int64_t left = (n_ - column + partition_.column_lanes - 1) / partition_.column_lanes;
    const int columns = left < Columns ? static_cast<int>(left) : Columns;

    // B is on its way while rows of A are copied.
    T of_b[Depth][Columns];
    load_columns(b_.data + column * b_.column_stride, columns, of_b);
    copy_rows(member, reinterpret_cast<C*>(rows_of_a), a_.data + row * a_.row_stride, rows);
    C right[Depth][Columns];
    PRUMO_UNROLL
    for (int p = 0; p < Depth; ++p) {
      PRUMO_UNROLL
      for (int j = 0; j < Columns; ++j) right[p][j] = static_cast<C>(of_b[p][j]);
    }
    member.team_barrier();

    const int first = warp / partition_.column_warps * (detail::exchange_threads / partition_.column_lanes) +
                      lane / partition_.column_lanes;
    T* const to = c_.data + (row + first) * c_.row_stride + column * c_.column_stride;
    if (beta_ != C(0)) {
      walk<true, false>(rows_of_a, first, rows, columns, right, to);
    } else if (c_.column_stride == 1 && partition_.column_lanes == detail::exchange_threads) {
      walk<false, true>(rows_of_a, first, rows, columns, right, to);
    } else {
      walk<false, false>(rows_of_a, first, rows, columns, right, to);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_columns(const T* from, int columns, T (&of_b)[Depth][Columns]) const {
    const std::int64_t apart = partition_.column_lanes * b_.column_stride;
    PRUMO_UNROLL
    for (int p = 0; p < Depth; ++p) {
      PRUMO_UNROLL
      for (int j = 0; j < Columns; ++j) {
        of_b[p][j] = p < depth_ && j < columns ? from[j * apart] : static_cast<T>(C(0));
      }
      from += b_.row_stride;
    }
  }

  /// Copies rows of A to scratch memory, with zeros behind each. Neighbouring threads read neighbours in memory.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void copy_rows(const Member& member, C* to, const T* from, int rows) const {
    constexpr int at_once = 8;
    const int count = rows * Depth;
    int element = member.team_rank();
    PRUMO_KEEP_LOOP
    for (; element + (at_once - 1) * most_threads < count; element += at_once * most_threads) {
      copy_elements<at_once>(to, from, element, rows);
    }
    PRUMO_KEEP_LOOP
    for (; element < count; element += most_threads) copy_elements<1>(to, from, element, rows);
  }

  /// Copies elements that lie the threads of a team apart. All loads come before the first store.
  template <int Elements>
  KOKKOS_FORCEINLINE_FUNCTION void copy_elements(C* to, const T* from, int element, int rows) const {
    T loaded[Elements];
    int places[Elements];
    PRUMO_UNROLL
    for (int i = 0; i < Elements; ++i) {
      const int which = element + i * most_threads;
      const int p = a_.row_stride == 1 ? which / rows : which % Depth;
      const int r = a_.row_stride == 1 ? which - p * rows : which / Depth;
      loaded[i] = p < depth_ ? from[r * a_.row_stride + p * a_.column_stride] : static_cast<T>(C(0));
      places[i] = r * (pitch * pack_elements) + p;
    }
    PRUMO_UNROLL
    for (int i = 0; i < Elements; ++i) to[places[i]] = static_cast<C>(loaded[i]);
  }

  /// \tparam InRows whether C's columns, and those of a warp, lie side by side
  template <bool ReadsC, bool InRows>
  KOKKOS_FORCEINLINE_FUNCTION void walk(const pack* rows_of_a, int first, int rows, int columns,
                                        const C (&right)[Depth][Columns], T* to) const {
    const std::int64_t apart = InRows ? detail::exchange_threads : partition_.column_lanes * c_.column_stride;
    const int step = partition_.rows_of_a_step();
    const std::int64_t step_of_c = step * c_.row_stride;
    PRUMO_KEEP_LOOP
    for (int r = first; r < rows; r += step) {
      C left[Depth];
      PRUMO_UNROLL
      for (int i = 0; i < packs; ++i) {
        const pack of_row = rows_of_a[r * pitch + i];
        PRUMO_UNROLL
        for (int e = 0; e < pack_elements; ++e) left[i * pack_elements + e] = of_row.values[e];
      }
      PRUMO_UNROLL
      for (int j = 0; j < Columns; ++j) {
        C sum = left[0] * right[0][j];
        PRUMO_UNROLL
        for (int p = 1; p < Depth; ++p) sum = prumo::fma(left[p], right[p][j], sum);
        if (j < columns) write<ReadsC>(to[j * apart], sum);
      }
      to += step_of_c;
    }
  }

  template <bool ReadsC>
  KOKKOS_FORCEINLINE_FUNCTION void write(T& entry, C sum) const {
    C result = alpha_ * sum;
    if constexpr (ReadsC) result = prumo::fma(beta_, static_cast<C>(entry), result);
    entry = static_cast<T>(result);
  }

  gemm_matrix<const T> a_, b_;
  gemm_matrix<T> c_;
  std::int64_t m_, n_;
  int depth_;
  C alpha_, beta_;
  short_sums_partition partition_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
