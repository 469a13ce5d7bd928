// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products of all rows of one array with all rows of another, by one team: what a dense layer computes for many images
/// at once, forward and backward. Pieces of the rows lie in scratch memory, and the next pieces are on their way while
/// the team multiplies. So each number comes from memory once for many products.

#include "step_team.hpp"
#include <prumo/detail/device/copy_ahead.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::nets {

/// Rows of numbers. One of the distances is 1.
template <class C>
struct number_rows {
  const C* begin;
  std::int64_t row_apart;    ///< elements from a row to the next
  std::int64_t depth_apart;  ///< elements from a number to the next one of its row
  bool has_packs = false;    ///< whether rows consist of packs, and begin at multiples of 16 bytes
};

/// The rows of the left and the right array that a thread multiplies with each other.
struct product_tile {
  int left, left_apart;
  int right, right_apart;

  /// The rows of a sum.
  PRUMO_STEP_FUNCTION int left_of(int sum) const { return left + sum / product_columns * left_apart; }
  PRUMO_STEP_FUNCTION int right_of(int sum) const { return right + sum % product_columns * right_apart; }
};
inline constexpr int product_sums = product_rows * product_columns;

/// Begins to copy a piece of some rows to scratch memory: the numbers from `first` to before `depth`, and zeros behind.
/// A thread has the same place of several rows.
template <int Elements, class Team, class C>
PRUMO_STEP_FUNCTION void copy_along_rows(const Team& team, const number_rows<C>& from, int rows, int first, int depth,
                                         C* to) {
  using pack = prumo::detail::device_pack<C, Elements>;
  constexpr unsigned packs = product_depth / Elements;
  const auto rank = static_cast<unsigned>(team.rank()), size = static_cast<unsigned>(team.size());
  const int apart = size < packs ? 1 : static_cast<int>(size / packs);
  for (unsigned place = rank % packs; place < packs; place += size) {
    const int k = static_cast<int>(place) * Elements;
    int row = static_cast<int>(rank / packs);
    // Threads behind the last whole group of them have no place.
    if (row >= apart) row = rows;
    const C* source = from.begin + row * from.row_apart + first + k;
    C* target = to + row * product_pitch<C> + k;
    for (; row < rows; row += apart, source += apart * from.row_apart, target += apart * product_pitch<C>) {
      if (first + k < depth) {
        prumo::detail::begin_copy(reinterpret_cast<const pack*>(source), reinterpret_cast<pack*>(target));
      } else {
        *reinterpret_cast<pack*>(target) = {};
      }
    }
  }
}

/// The same where the rows lie side by side. Neighbouring threads have a few rows and a few numbers of each, so that
/// they read whole sectors and write to different banks.
template <class Team, class C>
PRUMO_STEP_FUNCTION void copy_across_rows(const Team& team, const number_rows<C>& from, int rows, int first, int depth,
                                          C* to) {
  constexpr unsigned together = 8, deep = 4, places = together * product_depth;
  const auto rank = static_cast<unsigned>(team.rank()), size = static_cast<unsigned>(team.size());
  const int apart = static_cast<int>(together) * (size < places ? 1 : static_cast<int>(size / places));
  for (unsigned place = rank % places; place < places; place += size) {
    const int k = static_cast<int>(place / together % deep + place / (together * deep) * deep);
    int row = static_cast<int>(rank / places * together);
    row = row < apart ? row + static_cast<int>(place % together) : rows;
    const C* source = from.begin + row + (first + k) * from.depth_apart;
    C* target = to + row * product_pitch<C> + k;
    for (; row < rows; row += apart, source += apart, target += apart * product_pitch<C>) {
      if (first + k < depth) {
        prumo::detail::begin_copy(source, target);
      } else {
        *target = 0;
      }
    }
  }
}

template <class Team, class C>
PRUMO_STEP_FUNCTION void copy_piece(const Team& team, const number_rows<C>& from, int rows, int first, int depth,
                                    C* to) {
  if (from.depth_apart != 1) {
    copy_across_rows(team, from, rows, first, depth, to);
  } else if (from.has_packs) {
    copy_along_rows<prumo::detail::device_pack_elements<C>>(team, from, rows, first, depth, to);
  } else {
    copy_along_rows<1>(team, from, rows, first, depth, to);
  }
}

/// Adds the products of a piece to the sums of a tile: those of every pack from `begin` to before `end`.
template <class C>
PRUMO_STEP_FUNCTION void add_products(const C* left, const C* right, const product_tile& tile, int begin, int end,
                                      C (&sum)[product_sums]) {
  using pack = prumo::detail::device_pack<C>;
  constexpr int elements = prumo::detail::device_pack_elements<C>, pitch = product_pitch<C>;
  left += tile.left * pitch + begin * elements;
  right += tile.right * pitch + begin * elements;
  const int left_apart = tile.left_apart * pitch, right_apart = tile.right_apart * pitch;
#if defined(__CUDA_ARCH__)
#pragma unroll 2
#endif
  for (int which = begin; which < end; ++which, left += elements, right += elements) {
    pack of_right[product_columns];
    PRUMO_UNROLL
    for (int j = 0; j < product_columns; ++j) of_right[j] = *reinterpret_cast<const pack*>(right + j * right_apart);
    PRUMO_UNROLL
    for (int i = 0; i < product_rows; ++i) {
      const pack of_left = *reinterpret_cast<const pack*>(left + i * left_apart);
      PRUMO_UNROLL
      for (int e = 0; e < elements; ++e) {
        PRUMO_UNROLL
        for (int j = 0; j < product_columns; ++j) {
          C& total = sum[i * product_columns + j];
          total = prumo::fma(of_left.values[e], of_right[j].values[e], total);
        }
      }
    }
  }
}

/// The sums of products of each row on the left with each row on the right. A barrier must be before; ends with one.
/// \param scratch room for `elements`, least_product_elements(left_rows) or more
/// \param begin(right row) what is added to the products
/// \param write(tile, sums, which of them) stores the sums that a thread has, of the rows that there are
template <class Team, class C, class Begin, class Write>
PRUMO_STEP_FUNCTION void multiply_rows(const Team& team, const number_rows<C>& left, int left_rows,
                                       const number_rows<C>& right, int right_rows, int depth, C* scratch, int elements,
                                       const Begin& begin, const Write& write) {
  constexpr int packs = product_depth / prumo::detail::device_pack_elements<C>, pitch = product_pitch<C>;
  const int left_threads = (left_rows + product_rows - 1) / product_rows, left_room = left_threads * product_rows;
  // As few equal blocks of rows on the right as there are threads and scratch memory for.
  int most_threads = (elements / (2 * pitch) - left_room) / product_columns;
  if (most_threads > team.size() / left_threads) most_threads = team.size() / left_threads;
  if (most_threads < 1) most_threads = 1;
  const int all_threads = (right_rows + product_columns - 1) / product_columns;
  const int blocks = (all_threads + most_threads - 1) / most_threads;
  const int right_threads = (all_threads + blocks - 1) / blocks, tiles = left_threads * right_threads;
  int parts = 1;
  while (2 * parts * tiles <= team.size() && 2 * parts <= packs && 2 * parts <= Team::lanes) parts *= 2;
  const int part_packs = packs / parts, buffer = elements / (2 * pitch) * pitch;
  C* const right_scratch = scratch + left_room * pitch;
  PRUMO_KEEP_LOOP
  for (int first_right = 0; first_right < right_rows; first_right += right_threads * product_columns) {
    const int left_of_all = right_rows - first_right;
    const int rows = left_of_all < right_threads * product_columns ? left_of_all : right_threads * product_columns;
    const number_rows<C> of_block{right.begin + first_right * right.row_apart, right.row_apart, right.depth_apart,
                                  right.has_packs};
    const auto copy = [&](int first, int which) {
      copy_piece(team, left, left_rows, first, depth, scratch + which * buffer);
      copy_piece(team, of_block, rows, first, depth, right_scratch + which * buffer);
      prumo::detail::end_copy_group();
    };
    // Where a team has fewer threads than tiles, a thread has several, one after the other.
    PRUMO_KEEP_LOOP
    for (int first_item = 0; first_item < tiles * parts; first_item += team.size()) {
      const int item = first_item + team.rank(), part = item & (parts - 1), which_tile = item / parts;
      const bool has_tile = which_tile < tiles;
      const int left_thread = has_tile ? which_tile / right_threads : 0;
      const int right_thread = has_tile ? which_tile - left_thread * right_threads : 0;
      const product_tile tile{left_thread, left_threads, right_thread, right_threads};
      C sum[product_sums];
      PRUMO_UNROLL
      for (int j = 0; j < product_columns; ++j) {
        const int row = first_right + tile.right_of(j);
        const C of_row = part == 0 && row < right_rows ? begin(row) : C(0);
        PRUMO_UNROLL
        for (int i = 0; i < product_rows; ++i) sum[i * product_columns + j] = of_row;
      }
      copy(0, 0);
      int which = 0;
      PRUMO_KEEP_LOOP
      for (int first = 0; first < depth; first += product_depth, which ^= 1) {
        prumo::detail::wait_for_copy_groups<0>();
        // Behind this barrier the piece is there, and the one before it is done with.
        team.barrier();
        if (first + product_depth < depth) copy(first + product_depth, which ^ 1);
        if (has_tile) {
          add_products(scratch + which * buffer, right_scratch + which * buffer, tile, part * part_packs,
                       (part + 1) * part_packs, sum);
        }
      }
      const sums_of_lane mine = share_sums(team, sum, parts);
      const product_tile in_all{tile.left, tile.left_apart, first_right + tile.right, tile.right_apart};
      if (has_tile) write(in_all, sum, mine);
      team.barrier();
    }
  }
}

}  // namespace prumo::nets
