// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector on a device, where columns lie in memory: threads add up multiples of columns,
/// neighbouring ones in neighbouring rows.

#include "gemm_entries.hpp"
#include "gemv_problem.hpp"
#include "portable_gemv_tuning.hpp"
#include <prumo/detail/teams/row_tiles.hpp>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// How columns are shared out.
template <class T>
detail::row_tiles gemv_row_tiles(std::int64_t m, std::int64_t n, int elements) {
  using tuning = gemv_tuning;
  constexpr int most_sharing = 8;  // a warp of rows each
  constexpr int loads = tuning::loads<T>;
  return detail::row_tiles::of(m, n, elements,
                               {.team_threads = tuning::team_threads,
                                .teams = tuning::column_teams,
                                .shortest_share = tuning::shortest_columns,
                                .least_column_lanes = detail::group_threads((n + loads - 1) / loads, most_sharing)});
}
static_assert(gemv_tuning::column_teams <= detail::arrival_counters_of_a_context,
              "a tile of several chunks has a counter");

/// A team takes a chunk of a tile. Elements above 1: columns are read in packs.
template <class T, int Elements>
class gemv_columns_device_kernel {
  using C = compute_t<T>;
  using pack = detail::device_pack<T, Elements>;
  static constexpr int loads = gemv_tuning::loads<T>;

 public:
  static constexpr int most_threads = gemv_tuning::team_threads;
  static constexpr int resident_teams = gemv_tuning::resident_teams;

  /// `partial`: a value for each row and chunk; `counters`: one for each tile; both where there are several chunks.
  gemv_columns_device_kernel(const gemv_problem<T>& problem, const detail::row_tiles& tiles, C* partial,
                             unsigned* counters)
      : problem_(problem),
        tiles_(tiles),
        partial_(partial),
        counters_(counters),
        form_(choose_form(problem.alpha, problem.beta)) {}

  std::int64_t blocks() const { return tiles_.blocks(); }
  static constexpr std::int64_t blocks_per_team() { return 1; }
  static constexpr int team_threads() { return most_threads; }
  static constexpr std::size_t scratch_bytes() { return detail::row_tiles_scratch_bytes<C, Elements>(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    detail::make_values_of_rows<Elements>(member, tiles_, partial_, counters_, *this);
  }

  /// \name What make_values_of_rows() asks for
  /// @{
  KOKKOS_FORCEINLINE_FUNCTION static C identity() { return C(0); }
  KOKKOS_FORCEINLINE_FUNCTION static C join(C a, C b) { return a + b; }

  KOKKOS_FORCEINLINE_FUNCTION void add_share(std::int64_t row, int rows, std::int64_t column, std::int64_t end,
                                             std::int64_t step, C (&sums)[Elements]) const {
    const T* const first = problem_.a.data + row * problem_.a.row_stride;
    PRUMO_KEEP_LOOP
    for (; column + (loads - 1) * step < end; column += loads * step) {
      add_columns<loads>(first, rows, column, step, sums);
    }
    PRUMO_KEEP_LOOP
    for (; column < end; column += step) add_columns<1>(first, rows, column, step, sums);
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t row, C sum) const {
    write_entry_by<T>(form_, C(problem_.alpha), C(problem_.beta), sum, problem_.y[row * problem_.y_stride]);
  }
  /// @}

 private:
  template <int Loads>
  KOKKOS_FORCEINLINE_FUNCTION void add_columns(const T* first, int rows, std::int64_t column, std::int64_t step,
                                               C (&sums)[Elements]) const {
    pack loaded[Loads];
    PRUMO_UNROLL
    for (int load = 0; load < Loads; ++load) {
      loaded[load] = load_pack(first + (column + load * step) * problem_.a.column_stride, rows);
    }
    PRUMO_UNROLL
    for (int load = 0; load < Loads; ++load) {
      const C factor = static_cast<C>(problem_.x[(column + load * step) * problem_.x_stride]);
      PRUMO_UNROLL
      for (int e = 0; e < Elements; ++e) sums[e] = prumo::fma(static_cast<C>(loaded[load].values[e]), factor, sums[e]);
    }
  }

  /// Beyond the last row: zeros.
  KOKKOS_FORCEINLINE_FUNCTION static pack load_pack(const T* from, int rows) {
    if (rows == Elements) return *reinterpret_cast<const pack*>(from);
    pack loaded;
    PRUMO_UNROLL
    for (int e = 0; e < Elements; ++e) loaded.values[e] = e < rows ? from[e] : static_cast<T>(C(0));
    return loaded;
  }

  gemv_problem<T> problem_;
  detail::row_tiles tiles_;
  C* partial_;
  unsigned* counters_;
  scaled_form form_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
