// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution as a matrix product whose right operand is never made: Y = W X, where column j of X has the elements
/// that the filter meets at place j. A team copies those of the next terms from the images to its scratch memory while
/// it multiplies (Chetlur et al., "cuDNN: Efficient primitives for deep learning", 2014, section 3). It is for images
/// of many channels. Each sum is added up in the order of its terms, as `direct` does it, and has the same bits.

#include "convolution_problem.hpp"
#include "gemm_activation.hpp"
#include "implicit_gemm_layout.hpp"
#include "scratch_copies.hpp"
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Nothing is pooled.
template <class C, implicit_gemm_tile Tile>
class implicit_gemm_kernel {
  static constexpr int of_thread = implicit_gemm_tile::of_thread, pack_elements = 4, packs = of_thread / pack_elements;
  static constexpr int threads = Tile.threads(), channels = Tile.channels(), places = Tile.places();
  /// Each thread copies the elements of its places; with fewer places than threads, several share a place's elements.
  static constexpr int copied_places = places > threads ? places / threads : 1;
  static constexpr int copying_groups = threads > places ? threads / places : 1;
  using pack = prumo::detail::device_pack<C, pack_elements>;
  static_assert(places % threads == 0 || threads % places == 0);
  static_assert((copying_groups & (copying_groups - 1)) == 0);

 public:
  static constexpr implicit_gemm_tile tile = Tile;
  static constexpr int most_threads = threads;
  static constexpr int resident_teams = Tile.resident_teams();

  /// \param weights those that weight_columns_kernel arranged
  implicit_gemm_kernel(const convolution_problem<C>& problem, const implicit_gemm_layout& layout, const C* weights)
      : x_(problem.x),
        y_(problem.y),
        bias_(problem.bias),
        bias_stride_(problem.bias_stride),
        weights_(weights),
        layout_(layout),
        activation_(problem.activation),
        places_(static_cast<int>(problem.images * problem.rows * problem.columns)),
        in_channels_(static_cast<int>(problem.in_channels)),
        out_channels_(static_cast<int>(problem.out_channels)),
        height_(static_cast<int>(problem.height)),
        width_(static_cast<int>(problem.width)),
        filter_rows_(static_cast<int>(problem.filter_rows)),
        filter_columns_(static_cast<int>(problem.filter_columns)),
        row_stride_(static_cast<int>(problem.row_stride)),
        column_stride_(static_cast<int>(problem.column_stride)),
        row_padding_(static_cast<int>(problem.row_padding)),
        column_padding_(static_cast<int>(problem.column_padding)),
        rows_(static_cast<int>(problem.rows)),
        columns_(static_cast<int>(problem.columns)),
        by_columns_(columns_),
        by_places_of_image_(rows_ * columns_) {}

  std::int64_t blocks() const { return place_tiles() * layout_.channel_tiles; }
  static constexpr std::int64_t blocks_per_team() { return 1; }
  static constexpr int team_threads() { return threads; }
  std::size_t scratch_bytes() const { return bytes_of(layout_.terms_of_slab); }
  /// The bytes of scratch memory for two slabs of `terms` terms each.
  static constexpr std::size_t bytes_of(int terms) {
    return 2 * static_cast<std::size_t>(terms) * (channels + places) * sizeof(C) + sizeof(pack);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    C* const scratch = reinterpret_cast<C*>(prumo::detail::team_scratch_array<pack>(
        member, layout_.terms_of_slab * 2 * (channels + places) / pack_elements));
    const std::int64_t count = place_tiles() * layout_.channel_tiles;
    for (std::int64_t index = member.league_rank(); index < count; index += member.league_size()) {
      // Teams that run at the same time read the same elements for different output channels.
      const auto of_places = static_cast<int>(index / layout_.channel_tiles);
      const auto of_channels = static_cast<int>(index - std::int64_t{of_places} * layout_.channel_tiles);
      compute_tile(member, of_channels * channels, of_places * places, scratch);
    }
  }

 private:
  /// The terms of a slab, from the first of an input channel and a row of its filter.
  struct slab {
    int channel = 0;
    int row = 0;
    int channels = 0;
    int rows = 0;
  };

  /// A place of the filter, whose elements a thread copies.
  struct source {
    const C* first;         ///< of the first channel, where the filter's first element would lie
    int row;                ///< of the image, there
    std::uint32_t columns;  ///< bit q: column q of the filter lies inside the image
  };

  KOKKOS_FORCEINLINE_FUNCTION void measure(slab& which) const {
    const int channels_left = in_channels_ - which.channel, rows_left = filter_rows_ - which.row;
    which.channels = channels_left < layout_.slab_channels ? channels_left : layout_.slab_channels;
    which.rows = rows_left < layout_.slab_rows ? rows_left : layout_.slab_rows;
  }
  KOKKOS_FORCEINLINE_FUNCTION void advance(slab& which) const {
    which.row += which.rows;
    if (which.row >= filter_rows_) {
      which.row = 0;
      which.channel += which.channels;
    }
    measure(which);
  }
  KOKKOS_FORCEINLINE_FUNCTION int terms_of(const slab& which) const {
    return which.channels * which.rows * filter_columns_;
  }

  KOKKOS_FUNCTION std::int64_t place_tiles() const { return (std::int64_t{places_} + places - 1) / places; }

  /// A place as an image, a row and a column of its results.
  struct position {
    int image;
    int row;
    int column;
  };
  KOKKOS_FORCEINLINE_FUNCTION position position_of(int place) const {
    const int image = by_places_of_image_.quotient(place), within = place - image * rows_ * columns_;
    const int row = by_columns_.quotient(within);
    return {image, row, within - row * columns_};
  }

  KOKKOS_FORCEINLINE_FUNCTION source source_at(int place) const {
    const bool is_there = place < places_;
    const position at = position_of(is_there ? place : 0);
    const int row = at.row * row_stride_ - row_padding_, column = at.column * column_stride_ - column_padding_;
    std::uint32_t columns = 0;
    for (int q = 0; q < filter_columns_; ++q) {
      const bool is_inside = is_there && column + q >= 0 && column + q < width_;
      columns |= static_cast<std::uint32_t>(is_inside) << q;
    }
    return {x_.data + at.image * x_.image_stride + row * x_.row_stride + column * x_.column_stride, row, columns};
  }

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void compute_tile(const Member& member, int first_channel, int first_place,
                                                C* scratch) const {
    const int thread = member.team_rank();
    source sources[copied_places];
    PRUMO_UNROLL
    for (int i = 0; i < copied_places; ++i) sources[i] = source_at(first_place + thread % places + i * threads);
    // Threads of a warp form a block of four by eight, which reads the fewest different words of scratch memory.
    constexpr int rows_of_warp = Tile.channel_threads < 4 ? Tile.channel_threads : 4;
    constexpr int columns_of_warp = 32 / rows_of_warp, warps_across = Tile.place_threads / columns_of_warp;
    static_assert(Tile.place_threads % columns_of_warp == 0 && Tile.channel_threads % rows_of_warp == 0);
    const int warp = thread / 32, lane = thread % 32;
    const int thread_channel = warp / warps_across * rows_of_warp + lane / columns_of_warp;
    const int thread_place = warp % warps_across * columns_of_warp + lane % columns_of_warp;

    const int buffer_elements = layout_.terms_of_slab * (channels + places);
    slab now, next;
    measure(now);
    next = now;
    member.team_barrier();  // the tile before may still be read
    copy_weights(now, first_channel, scratch, thread);
    copy_elements(now, sources, scratch, thread);
    C sums[of_thread][of_thread] = {};
    int buffer = 0;
    PRUMO_KEEP_LOOP
    while (true) {
      wait_for_copies();
      member.team_barrier();
      advance(next);
      const bool is_last = next.channel >= in_channels_;
      C* const current = scratch + buffer * buffer_elements;
      if (!is_last) {
        C* const other = scratch + (1 - buffer) * buffer_elements;
        copy_weights(next, first_channel, other, thread);
        copy_elements(next, sources, other, thread);
      }
      multiply(terms_of(now), current + thread_channel * pack_elements,
               current + layout_.terms_of_slab * channels + thread_place * pack_elements, sums);
      if (is_last) break;
      now = next;
      buffer = 1 - buffer;
    }
    finish(first_channel + thread_channel * pack_elements, first_place + thread_place * pack_elements, sums);
  }

  KOKKOS_FORCEINLINE_FUNCTION void copy_weights(const slab& which, int first_channel, C* to, int thread) const {
    constexpr int packs_of_term = channels / pack_elements;
    const std::int64_t term = (std::int64_t{which.channel} * filter_rows_ + which.row) * filter_columns_;
    const C* const from = weights_ + term * layout_.weights_pitch + first_channel;
    const int count = terms_of(which) * packs_of_term;
    for (int at = thread; at < count; at += threads) {
      const int of_slab = at / packs_of_term, of_term = (at - of_slab * packs_of_term) * pack_elements;
      copy_pack_to_scratch<C, pack_elements>(from + of_slab * layout_.weights_pitch + of_term,
                                             to + of_slab * channels + of_term);
    }
  }

  /// Copies the elements of a slab. Its *lines* are the rows of the filters, or all channels if a filter has one
  /// element.
  KOKKOS_FORCEINLINE_FUNCTION void copy_elements(const slab& which, const source (&sources)[copied_places], C* scratch,
                                                 int thread) const {
    const int group = thread / places;  // 0 without groups, which take lines or channels in turns
    C* const first_term = scratch + layout_.terms_of_slab * channels + thread % places;
    if (filter_rows_ * filter_columns_ == 1) {
      const int count = (which.channels - group + copying_groups - 1) / copying_groups;
      copy_line(sources, which, group, 0, count, copying_groups * x_.channel_stride, first_term + group * places,
                copying_groups * places);
      return;
    }
    int channel = 0, row = group;
    PRUMO_KEEP_LOOP
    while (true) {
      for (; row >= which.rows; row -= which.rows) ++channel;
      if (channel >= which.channels) break;
      C* const to = first_term + (channel * which.rows + row) * filter_columns_ * places;
      copy_line(sources, which, channel, row, filter_columns_, x_.column_stride, to, places);
      row += copying_groups;
    }
  }

  /// Copies the elements of a line of a slab.
  /// \param step from one element to the next
  KOKKOS_FORCEINLINE_FUNCTION void copy_line(const source (&sources)[copied_places], const slab& which, int channel,
                                             int row, int count, std::int64_t step, C* to, int to_step) const {
    const std::int64_t offset = (which.channel + channel) * x_.channel_stride + (which.row + row) * x_.row_stride;
    const unsigned shift = filter_rows_ * filter_columns_ == 1 ? 0 : 1;  // then one bit is for all channels
    const C* from[copied_places];
    std::uint32_t there[copied_places];
    PRUMO_UNROLL
    for (int i = 0; i < copied_places; ++i) {
      const int of_image = sources[i].row + which.row + row;
      from[i] = sources[i].first + offset;
      there[i] = of_image >= 0 && of_image < height_ ? sources[i].columns : 0;
    }
    for (int k = 0; k < count; ++k, to += to_step) {
      PRUMO_UNROLL
      for (int i = 0; i < copied_places; ++i) {
        copy_element_to_scratch(from[i], (there[i] & 1U) != 0, to + i * threads);
        from[i] += step;
        there[i] >>= shift;
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void multiply(int terms, const C* weights, const C* elements,
                                                   C (&sums)[of_thread][of_thread]) {
    constexpr int at_once = 4;
    int term = 0;
    PRUMO_KEEP_LOOP
    for (; term + at_once <= terms; term += at_once) {
      PRUMO_UNROLL
      for (int t = 0; t < at_once; ++t) add_term(weights + t * channels, elements + t * places, sums);
      weights += at_once * channels;
      elements += at_once * places;
    }
    PRUMO_KEEP_LOOP
    for (; term < terms; ++term) {
      add_term(weights, elements, sums);
      weights += channels;
      elements += places;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void add_term(const C* weights, const C* elements,
                                                   C (&sums)[of_thread][of_thread]) {
    C w[of_thread], x[of_thread];
    read(weights, Tile.channel_threads * pack_elements, w);
    read(elements, Tile.place_threads * pack_elements, x);
    // Neighbouring products share an operand, which they then need not read from a register again.
    PRUMO_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      PRUMO_UNROLL
      for (int j = 0; j < of_thread; ++j) {
        const int k = i % 2 == 0 ? j : of_thread - 1 - j;
        sums[i][k] = prumo::fma(w[i], x[k], sums[i][k]);
      }
    }
  }

  /// A thread's channels or places: packs that lie `distance` elements apart.
  KOKKOS_FORCEINLINE_FUNCTION static void read(const C* from, int distance, C (&values)[of_thread]) {
    PRUMO_UNROLL
    for (int which = 0; which < packs; ++which) {
      const pack loaded = *reinterpret_cast<const pack*>(from + which * distance);
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) values[which * pack_elements + i] = loaded.values[i];
    }
  }

  /// Adds the bias, activates and stores the sums, whose first one is that of a channel at a place.
  KOKKOS_FORCEINLINE_FUNCTION void finish(int first_channel, int first_place, C (&sums)[of_thread][of_thread]) const {
    C* targets[of_thread];  // in the first channel; null behind the last place
    PRUMO_UNROLL
    for (int j = 0; j < of_thread; ++j) targets[j] = target_at(first_place + distance_of(j, Tile.place_threads));
    PRUMO_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      const int channel = first_channel + distance_of(i, Tile.channel_threads);
      if (channel >= out_channels_) continue;
      complete(channel, sums[i]);
      const std::int64_t offset = channel * y_.channel_stride;
      PRUMO_UNROLL
      for (int j = 0; j < of_thread; j += pack_elements) {
        if (layout_.stores_packs) {
          pack results;
          PRUMO_UNROLL
          for (int k = 0; k < pack_elements; ++k) results.values[k] = sums[i][j + k];
          if (targets[j] != nullptr) store_at_once<false>(targets[j] + offset, results);
        } else {
          PRUMO_UNROLL
          for (int k = j; k < j + pack_elements; ++k) {
            if (targets[k] != nullptr) targets[k][offset] = sums[i][k];
          }
        }
      }
    }
  }

  /// The distance of a thread's channel or place from its first one.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int distance_of(int which, int threads_across) {
    return which / pack_elements * threads_across * pack_elements + which % pack_elements;
  }

  KOKKOS_FORCEINLINE_FUNCTION void complete(int channel, C (&sums)[of_thread]) const {
    if (bias_ != nullptr) {
      const C bias = bias_[channel * bias_stride_];
      PRUMO_UNROLL
      for (C& sum : sums) sum = sum + bias;
    }
    if (activation_ == activation_function::relu) {
      PRUMO_UNROLL
      for (C& sum : sums) sum = prumo::maximum(sum, C(0));
    } else if (is_long(activation_)) {
      PRUMO_UNROLL
      for (C& sum : sums) sum = activated_at_length(activation_, sum);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION C* target_at(int place) const {
    if (place >= places_) return nullptr;
    const position at = position_of(place);
    return y_.data + at.image * y_.image_stride + at.row * y_.row_stride + at.column * y_.column_stride;
  }

  image_array<const C> x_;
  image_array<C> y_;
  const C* bias_;
  std::int64_t bias_stride_;
  const C* weights_;
  implicit_gemm_layout layout_;
  activation_function activation_;
  int places_;  ///< of all images
  int in_channels_, out_channels_;
  int height_, width_;
  int filter_rows_, filter_columns_;
  int row_stride_, column_stride_;
  int row_padding_, column_padding_;
  int rows_, columns_;
  prumo::detail::index_divider by_columns_;
  prumo::detail::index_divider by_places_of_image_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
