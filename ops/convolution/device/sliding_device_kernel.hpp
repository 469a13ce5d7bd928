// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A full convolution of images with few channels on a device, as gradients of images are, without scratch memory.
///
/// Four neighbouring threads, a *quad*, have the same columns of y and a channel of x each. A thread keeps the filter
/// of its channel in registers and goes down the image. Each element of a row of x meets all rows of the filter at
/// once, so that the sums of as many rows of y wait in registers. With the next row, they move up by one: the first
/// product of a sum is added to that of the row below. The quad adds up the row that is complete, and each thread
/// stores its share.
///
/// Neighbouring quads take neighbouring columns, so that a warp stores a line at once. Rows of x come straight from the
/// device's memory, one row before they are needed.

#include "direct_device_layout.hpp"
#include "direct_device_problem.hpp"
#include "row_copies.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The filters that a sliding kernel is made for, and the columns of y of a quad.
struct sliding_tile {
  int filter_rows;
  int filter_columns;
  int columns;

  static constexpr int quad = 4;
  static constexpr int pack = 4;  ///< neighbours that a load brings

  /// Whether it computes what a filter of such extents needs.
  constexpr bool suits(const convolution_geometry& geometry) const {
    return geometry.filter_rows == filter_rows && geometry.filter_columns == filter_columns &&
           geometry.row_stride == 1 && geometry.column_stride == 1 && geometry.row_padding == filter_rows - 1 &&
           geometry.column_padding == filter_columns - 1 && geometry.in_channels <= quad;
  }
};

/// The pointers of `problem` are to elements of `type`, whose compute type is C.
template <class C, sliding_tile Tile>
class sliding_device_kernel {
  static constexpr int filter_rows = Tile.filter_rows, filter_columns = Tile.filter_columns, columns = Tile.columns;
  static constexpr int quad = sliding_tile::quad, pack = sliding_tile::pack, of_thread = columns / quad;
  static constexpr int needed = columns + filter_columns - 1;
  /// The elements of the first pack that a row needs.
  static constexpr int lead = (filter_columns - 1) % pack, packs = (needed + pack - 1) / pack;
  static_assert(lead % 2 == 0 && columns % pack == 0);

 public:
  static constexpr sliding_tile tile = Tile;
  static constexpr int most_threads = 128;
  static constexpr int resident_teams = 3;  ///< of 168 registers a thread

  sliding_device_kernel(const convolution_problem<C>& problem, dtype type, const direct_device_layout& layout)
      : problem_(problem), layout_(layout), type_(type) {}

  std::int64_t blocks() const { return layout_.teams; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return layout_.threads; }
  std::size_t scratch_bytes() const { return 0; }

  /// Those of all images and channels of y.
  KOKKOS_FUNCTION static std::int64_t all_strips(const convolution_problem<C>& problem,
                                                 const direct_device_layout& layout) {
    return problem.images * problem.out_channels * layout.column_tiles;
  }
  /// Those that teams compute: the rows of y of as many strips at once as a team has quads.
  KOKKOS_FUNCTION static std::int64_t all_rows(const convolution_problem<C>& problem,
                                               const direct_device_layout& layout) {
    const int of_team = layout.threads / quad;
    return (all_strips(problem, layout) + of_team - 1) / of_team * problem.rows;
  }

  /// A team takes an equal share of the rows of all strips, and begins and ends inside of them.
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t strips = all_strips(problem_, layout_), rows = all_rows(problem_, layout_);
    const int of_team = layout_.threads / quad;
    const std::int64_t end = rows * (member.league_rank() + 1) / member.league_size();
    std::int64_t at = rows * member.league_rank() / member.league_size();
    std::int64_t group = at / problem_.rows;
    int first = static_cast<int>(at - group * problem_.rows);
    held_filter held;
    PRUMO_KEEP_LOOP
    for (; at < end; ++group, first = 0) {
      const std::int64_t left = end - at;
      const int height = static_cast<int>(problem_.rows);
      const int last = left < height - first ? first + static_cast<int>(left) : height;
      with_elements_of(type_, problem_.x.data, [&](const auto* x) {
        compute(member, x, group * of_team + member.team_rank() / quad, strips, first, last, held);
      });
      at += last - first;
    }
  }

 private:
  /// The filter of a channel of x and of y.
  struct held_filter {
    int channel = -1;  ///< of y; none yet
    C weights[filter_rows][filter_columns];
  };

  KOKKOS_FORCEINLINE_FUNCTION void load_filter(int channel, int in_channel, bool is_there, held_filter& held) const {
    if (channel == held.channel) return;
    held.channel = channel;
    with_elements_of(type_, problem_.w.data, [&](const auto* w) {
      const auto* const filter =
          w + (is_there ? channel * problem_.w.image_stride + in_channel * problem_.w.channel_stride : 0);
      PRUMO_UNROLL
      for (int p = 0; p < filter_rows; ++p) {
        PRUMO_UNROLL
        for (int q = 0; q < filter_columns; ++q) {
          const auto weight = filter[p * problem_.w.row_stride + q * problem_.w.column_stride];
          held.weights[p][q] = is_there ? static_cast<C>(weight) : C(0);
        }
      }
    });
  }

  /// Where a thread is in an image.
  template <class T>
  struct place {
    const T* row;  ///< of x, from the first column that the strip needs
    bool has_pack[packs];
    T* target;  ///< in y
    int there;  ///< the columns that this thread stores
  };

  /// Packs beside the image keep what they hold, zero.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void load_row(const place<T>& now, C (&x)[needed]) const {
    if constexpr (lead > 0) {
      if (now.has_pack[0]) load_pack<lead>(now.row, x);
    }
    PRUMO_UNROLL
    for (int i = lead > 0 ? 1 : 0; i < packs; ++i) {
      constexpr int before = lead > 0 ? pack - lead : 0;
      if (now.has_pack[i]) load_pack<pack>(now.row + i * pack - before, x + i * pack - before);
    }
  }
  template <int Count, class T>
  KOKKOS_FORCEINLINE_FUNCTION static void load_pack(const T* from, C* to) {
    const auto loaded = *reinterpret_cast<const prumo::detail::device_pack<T, Count>*>(from);
    PRUMO_UNROLL
    for (int k = 0; k < Count; ++k) to[k] = static_cast<C>(loaded.values[k]);
  }

  /// Rows [first, last) of a strip of y.
  template <class Member, class T>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Member& member, const T* images, std::int64_t which,
                                           std::int64_t strips, int first, int last, held_filter& held) const {
    const bool is_there = which < strips;
    const std::int64_t plane = (is_there ? which : 0) / layout_.column_tiles;
    const int strip = static_cast<int>((is_there ? which : 0) - plane * layout_.column_tiles);
    const std::int64_t image = plane / problem_.out_channels;
    const int channel = static_cast<int>(plane - image * problem_.out_channels), c = member.team_rank() % quad;
    const bool has_channel = c < problem_.in_channels;
    load_filter(channel, c, has_channel, held);

    // A sum of row k needs rows of x from k - (filter_rows - 1) on.
    const int height = static_cast<int>(problem_.height), width = static_cast<int>(problem_.width);
    const int begin = first < filter_rows - 1 ? 0 : first - (filter_rows - 1), end = last < height ? last : height;
    const int first_column = strip * columns - (filter_columns - 1), own_column = strip * columns + c * of_thread;
    place<T> now;
    now.row = images + image * problem_.x.image_stride + (has_channel ? c : 0) * problem_.x.channel_stride +
              begin * problem_.x.row_stride + first_column;
    PRUMO_UNROLL
    for (int i = 0; i < packs; ++i) {
      const int column = strip * columns + (i - (filter_columns - 1 + pack - 1) / pack) * pack;
      now.has_pack[i] = is_there && has_channel && column >= 0 && column < width;
    }
    now.target = reinterpret_cast<T*>(problem_.y.data) + image * problem_.y.image_stride +
                 channel * problem_.y.channel_stride + own_column * problem_.y.column_stride +
                 begin * problem_.y.row_stride;
    now.there = is_there ? static_cast<int>(problem_.columns) - own_column : 0;

    C sums[filter_rows][columns] = {};
    C x[2][needed] = {};
    const bool is_odd = (end - begin) % 2 != 0;
    // Two rows in turns have registers of their own. An odd number of rows begins with the second.
    if (is_odd) {
      load_row(now, x[1]);
    } else {
      load_row(now, x[0]);
    }
    PRUMO_KEEP_LOOP
    for (int row = is_odd ? begin - 1 : begin; row < end; row += 2) {
      if (row >= begin) {
        now.row += problem_.x.row_stride;
        load_row(now, x[1]);
        add_row(x[0], held, sums);
        finish_row(member, now, row >= first, sums);
      }
      if (row + 2 < end) {
        now.row += problem_.x.row_stride;
        load_row(now, x[0]);
      }
      add_row(x[1], held, sums);
      finish_row(member, now, row + 1 >= first, sums);
    }
    PRUMO_KEEP_LOOP
    for (int row = end; row < last; ++row) {  // below the image
      PRUMO_UNROLL
      for (int d = 0; d + 1 < filter_rows; ++d) {
        PRUMO_UNROLL
        for (int k = 0; k < columns; ++k) sums[d][k] = sums[d + 1][k];
      }
      finish_row(member, now, row >= first, sums);
    }
  }

  /// Moves the sums up by a row, and adds the products with a row of x: sums[d] are those of the row of y that is d
  /// below the one that becomes complete.
  KOKKOS_FORCEINLINE_FUNCTION static void add_row(const C (&x)[needed], const held_filter& held,
                                                  C (&sums)[filter_rows][columns]) {
    PRUMO_UNROLL
    for (int d = 0; d < filter_rows; ++d) {
      const C(&w)[filter_columns] = held.weights[filter_rows - 1 - d];
      PRUMO_UNROLL
      for (int q = 0; q < filter_columns; ++q) {
        PRUMO_UNROLL
        for (int k = 0; k < columns; ++k) {
          if (q > 0) {
            sums[d][k] = prumo::fma(w[q], x[q + k], sums[d][k]);
          } else if (d + 1 < filter_rows) {
            sums[d][k] = prumo::fma(w[q], x[q + k], sums[d + 1][k]);
          } else {
            sums[d][k] = w[q] * x[q + k];
          }
        }
      }
    }
  }

  /// Adds up the first row of the sums of a quad, and stores this thread's share of it, if `stores`.
  template <class Member, class T>
  KOKKOS_FORCEINLINE_FUNCTION void finish_row(const Member& member, place<T>& now, bool stores,
                                              const C (&sums)[filter_rows][columns]) const {
    const int c = member.team_rank() % quad;
    C half[columns / 2], own[of_thread];
    halve(member, 2, (c & 2) != 0, sums[0], half);
    halve(member, 1, (c & 1) != 0, half, own);
    PRUMO_UNROLL
    for (int k = 0; k < of_thread; ++k) {
      if (stores && k < now.there) now.target[k * problem_.y.column_stride] = static_cast<T>(own[k]);
    }
    now.target += problem_.y.row_stride;
  }

  /// Adds the upper or the lower half of the sums of this thread to those of the thread at a distance, which takes the
  /// other half.
  template <class Member, int Count>
  KOKKOS_FORCEINLINE_FUNCTION static void halve(const Member& member, int distance, bool is_upper,
                                                const C (&sums)[Count], C (&half)[Count / 2]) {
    PRUMO_UNROLL
    for (int k = 0; k < Count / 2; ++k) {
      const C kept = is_upper ? sums[Count / 2 + k] : sums[k], other = is_upper ? sums[k] : sums[Count / 2 + k];
      half[k] = kept + prumo::detail::value_across(member, other, distance);
    }
  }

  convolution_problem<C> problem_;
  direct_device_layout layout_;
  dtype type_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
