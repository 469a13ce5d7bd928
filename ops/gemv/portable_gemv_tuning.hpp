// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What there is to tune about portable products of a matrix and a vector on a device.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/teams/published_values.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// All that there is to tune, after what reductions found on an H200. Results depend on these numbers, not on the
/// device.
struct gemv_tuning {
  static constexpr int team_threads = 256;
  /// Teams a multiprocessor: what registers are limited for. With one more, packs of several rows or columns spill.
  static constexpr int resident_teams = 3;
  /// Threads that are enough for rows of several at a time.
  static constexpr std::int64_t many_threads = std::int64_t{1} << 17;
  static constexpr int rows_at_once = 4;
  /// Bytes of the shortest part of a long row, and how many parts there are at most.
  static constexpr std::int64_t shortest_part_bytes = 16384;
  static constexpr std::int64_t most_parts = prumo::detail::most_parts_of_an_array;
  /// Teams for columns, and the fewest columns a thread takes.
  static constexpr std::int64_t column_teams = 2048;
  static constexpr std::int64_t shortest_columns = 16;

  /// Packs of the matrix that a thread has under way at a time, and in each of this many rows.
  template <class T>
  static constexpr int loads = sizeof(T) == 2 ? 4 : 8;
  template <class T>
  static constexpr int loads_of_rows(int rows) {
    return rows == 1 ? 4 : loads<T> / rows;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
