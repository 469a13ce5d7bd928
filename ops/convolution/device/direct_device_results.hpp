// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the direct convolution on a device stores what its threads computed: at once, or through the scratch memory of
/// the team, where windows are pooled that do not lie in a tile.

#include "direct_device_inputs.hpp"
#include "scratch_copies.hpp"

#include <cstdint>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C, convolution_tile Tile>
class direct_device_results : protected direct_device_inputs<C, Tile> {
  using inputs = direct_device_inputs<C, Tile>;

 protected:
  using inputs::inputs;
  using inputs::layout_;
  using inputs::problem_;
  using inputs::type_;
  using typename inputs::item_place;
  using sums_type = convolution_sums<C, Tile>;

  /// Where a tile lies: in an image of an item, and in a band and a part.
  struct tile_place {
    int image;
    int channels;  ///< which tile of the part's channels
    int row;
    int column;
  };

  /// Stores the sums of a tile, or the windows that lie in it.
  KOKKOS_FORCEINLINE_FUNCTION void store(const item_place& place, int part, const tile_place& at,
                                         const sums_type& sums) const {
    if constexpr (Tile.holds_windows(4)) {
      if (layout_.tile_window == 4) return store_windows<4>(place, part, at, sums);
    }
    if constexpr (Tile.holds_windows(2)) {
      if (layout_.tile_window == 2) return store_windows<2>(place, part, at, sums);
    }
    store_windows<1>(place, part, at, sums);
  }

  /// Where the results of an item go that are of one tile of channels.
  struct near_target {
    std::int64_t first;  ///< of the elements of y
    int convolved_rows;
    int rows;  ///< of y
    int channels;
  };

  KOKKOS_FORCEINLINE_FUNCTION near_target target_of(const item_place& place, int part, int channel_tile) const {
    const std::int64_t channel = (std::int64_t{part} * layout_.channel_tiles + channel_tile) * Tile.channels;
    return {place.first_image * problem_.y.image_stride + channel * problem_.y.channel_stride +
                place.rows.first * problem_.y.row_stride,
            static_cast<int>(place.rows.convolved_last - place.rows.convolved_first),
            static_cast<int>(place.rows.last - place.rows.first), static_cast<int>(problem_.out_channels - channel)};
  }

  /// The same as store(), where distances inside an item have 32 bits.
  KOKKOS_FORCEINLINE_FUNCTION void store_near(const near_target& target, const tile_place& at,
                                              const sums_type& sums) const {
    if constexpr (Tile.holds_windows(4)) {
      if (layout_.tile_window == 4) return store_windows_near<4>(target, at, sums);
    }
    if constexpr (Tile.holds_windows(2)) {
      if (layout_.tile_window == 2) return store_windows_near<2>(target, at, sums);
    }
    store_windows_near<1>(target, at, sums);
  }

  /// Keeps the results in the scratch memory: [image][channel of the part][row of the band][column].
  KOKKOS_FORCEINLINE_FUNCTION void keep(const item_place& place, const tile_place& at, const sums_type& sums,
                                        C* results) const {
    const int width = static_cast<int>(problem_.columns);
    const int rows = static_cast<int>(place.rows.convolved_last - place.rows.convolved_first) - at.row;
    C* const to =
        results +
        ((at.image * layout_.channel_tiles + at.channels) * Tile.channels * layout_.convolved_rows + at.row) * width +
        at.column;
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows; ++r) {
        PRUMO_UNROLL
        for (int k = 0; k < Tile.columns; ++k) {
          if (r < rows && k < width - at.column) to[(m * layout_.convolved_rows + r) * width + k] = sums.at(m, r, k);
        }
      }
    }
  }

  /// Activates the results of an item where that was not done yet, pools them, and stores the windows in y.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void finish(const Member& member, C* results, const item_place& place, int part) const {
    const int channels = layout_.channel_tiles * Tile.channels;
    member.team_barrier();
    const bool activates_maxima = problem_.activates_maxima();
    if (is_long(problem_.activation) && !activates_maxima) {
      const int count = place.images * channels * layout_.convolved_rows * static_cast<int>(problem_.columns);
      PRUMO_KEEP_LOOP
      for (int at = member.team_rank(); at < count; at += layout_.threads) {
        results[at] = activated_at_length(problem_.activation, results[at]);
      }
      member.team_barrier();
    }
    const int rows = static_cast<int>(place.rows.last - place.rows.first);
    const int columns = static_cast<int>(problem_.y_columns);
    const int first_channel = part * channels;
    const int count = place.images * channels * rows * columns;
    PRUMO_KEEP_LOOP
    for (int at = member.team_rank(); at < count; at += layout_.threads) {
      const int rest = at / columns;
      const int column = at - rest * columns;
      const int plane = rest / rows, row = rest - plane * rows;
      const int image = plane / channels, channel = first_channel + plane - image * channels;
      if (channel >= problem_.out_channels) continue;
      C result =
          window_at(results + plane * layout_.convolved_rows * static_cast<int>(problem_.columns), place, row, column);
      if (activates_maxima) result = activated_at_length(problem_.activation, result);
      with_words((place.first_image + image) * problem_.y.image_stride + channel * problem_.y.channel_stride +
                     (place.rows.first + row) * problem_.y.row_stride + column * problem_.y.column_stride,
                 [&](auto* to, const auto& word_of) { *to = word_of(result); });
    }
  }

 private:
  /// Activates results, or maxima, where that was not done yet.
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void activate(C (&results)[Count]) const {
    if (is_long(problem_.activation)) {
      PRUMO_UNROLL
      for (int k = 0; k < Count; ++k) results[k] = activated_at_length(problem_.activation, results[k]);
    } else if (problem_.activation == activation_function::relu && problem_.activates_maxima()) {
      PRUMO_UNROLL
      for (int k = 0; k < Count; ++k) results[k] = prumo::maximum(results[k], C(0));
    }
  }

  /// What is there of a tile.
  struct tile_extents {
    int sum_rows;  ///< of the convolution
    int sum_columns;
    int rows;  ///< of y
    int columns;
    int channels;
  };

  template <int Window>
  KOKKOS_FORCEINLINE_FUNCTION void store_windows(const item_place& place, int part, const tile_place& tile_at,
                                                 const sums_type& sums) const {
    const int sum_rows = static_cast<int>(place.rows.convolved_last - place.rows.convolved_first) - tile_at.row;
    const int sum_columns = static_cast<int>(problem_.columns) - tile_at.column;
    const std::int64_t first_row = place.rows.first + tile_at.row / Window;
    const int first_column = tile_at.column / Window;
    const int rows = static_cast<int>(place.rows.last - first_row);
    const int columns = static_cast<int>(problem_.y_columns) - first_column;
    const std::int64_t first_channel = (std::int64_t{part} * layout_.channel_tiles + tile_at.channels) * Tile.channels;
    const int channels = static_cast<int>(problem_.out_channels - first_channel);
    const std::int64_t at = (place.first_image + tile_at.image) * problem_.y.image_stride +
                            first_channel * problem_.y.channel_stride + first_row * problem_.y.row_stride +
                            first_column * problem_.y.column_stride;
    store_windows_at<Window>(at, {sum_rows, sum_columns, rows, columns, channels}, sums);
  }

  template <int Window>
  KOKKOS_FORCEINLINE_FUNCTION void store_windows_near(const near_target& target, const tile_place& at,
                                                      const sums_type& sums) const {
    const int row = at.row / Window, column = at.column / Window;
    const int distance = at.image * static_cast<int>(problem_.y.image_stride) +
                         row * static_cast<int>(problem_.y.row_stride) +
                         column * static_cast<int>(problem_.y.column_stride);
    store_windows_at<Window>(target.first + distance,
                             {target.convolved_rows - at.row, static_cast<int>(problem_.columns) - at.column,
                              target.rows - row, static_cast<int>(problem_.y_columns) - column, target.channels},
                             sums);
  }

  /// \param at the first of the elements of y
  template <int Window>
  KOKKOS_FORCEINLINE_FUNCTION void store_windows_at(std::int64_t at, const tile_extents& there,
                                                    const sums_type& sums) const {
    constexpr int height = Tile.rows / Window, width = Tile.columns / Window, together = results_at_once(width);
    const bool is_whole = there.channels >= Tile.channels && there.rows >= height && there.columns >= width &&
                          there.sum_rows >= Tile.rows && there.sum_columns >= Tile.columns;
    // Of a tile that is all there; 0: of none.
    const int pack = Tile.keeps_weights && is_whole ? layout_.result_pack : 0;
    with_words(at, [&](auto* to, const auto& word_of) {
      if constexpr (Tile.keeps_weights) {  // with few sums, every instruction beside them counts
        if (pack == together) return store_whole_tile<Window, together>(to, word_of, sums);
        if (pack == 1) return store_whole_tile<Window, 1>(to, word_of, sums);
        if constexpr (together == 4) {
          if (pack == 2) return store_whole_tile<Window, 2>(to, word_of, sums);
        }
      }
      store_part_of_tile<Window>(to, word_of, sums, there);
    });
  }

  /// Stores a tile that is all there, in packs of `Pack`.
  template <int Window, int Pack, class Word, class WordOf>
  KOKKOS_FORCEINLINE_FUNCTION void store_whole_tile(Word* to, const WordOf& word_of, const sums_type& sums) const {
    constexpr int height = Tile.rows / Window, width = Tile.columns / Window;
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      Word* row = to;
      PRUMO_UNROLL
      for (int r = 0; r < height; ++r) {
        C results[width];
        sums.template pool<Window>(problem_.pooling, m, r * Window, Window, Tile.columns, results);
        activate(results);
        store_packs<Pack>(row, word_of, results);
        row += problem_.y.row_stride;
      }
      to += problem_.y.channel_stride;
    }
  }

  template <int Window, class Word, class WordOf>
  KOKKOS_FORCEINLINE_FUNCTION void store_part_of_tile(Word* to, const WordOf& word_of, const sums_type& sums,
                                                      const tile_extents& there) const {
    constexpr int height = Tile.rows / Window, width = Tile.columns / Window, together = results_at_once(width);
    const bool in_packs = together > 1 && layout_.result_pack == together && there.columns >= width;
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      if (m >= there.channels) break;
      Word* row = to;
      PRUMO_UNROLL
      for (int r = 0; r < height; ++r) {
        if (r >= there.rows) break;
        C results[width];
        sums.template pool<Window>(problem_.pooling, m, r * Window, there.sum_rows - r * Window, there.sum_columns,
                                   results);
        activate(results);
        if (in_packs) {
          store_packs<together>(row, word_of, results);
        } else {
          PRUMO_UNROLL
          for (int k = 0; k < width; ++k) {
            if (k < there.columns) row[k * problem_.y.column_stride] = word_of(results[k]);
          }
        }
        row += problem_.y.row_stride;
      }
      to += problem_.y.channel_stride;
    }
  }

  template <int Pack, int Count, class Word, class WordOf>
  KOKKOS_FORCEINLINE_FUNCTION void store_packs(Word* to, const WordOf& word_of, const C (&results)[Count]) const {
    PRUMO_UNROLL
    for (int k = 0; k < Count; k += Pack) {
      prumo::detail::device_pack<Word, Pack> words;
      PRUMO_UNROLL
      for (int i = 0; i < Pack; ++i) words.values[i] = word_of(results[k + i]);
      if constexpr (Pack > 1 && Tile.keeps_weights) {
        store_streaming(to + k, words);
      } else if constexpr (Pack > 1) {
        *reinterpret_cast<decltype(words)*>(to + k) = words;
      } else {
        to[k * problem_.y.column_stride] = words.values[0];
      }
    }
  }

  /// Calls visit(pointer to an element of y as a word, function that rounds a result to a word).
  template <class Visitor>
  KOKKOS_FORCEINLINE_FUNCTION void with_words(std::int64_t index, const Visitor& visit) const {
    if constexpr (std::is_same_v<C, float>) {
      if (type_ != dtype::f32) {
        const bool is_bf16 = type_ == dtype::bf16;
        visit(reinterpret_cast<std::uint16_t*>(problem_.y.data) + index,
              [=](float value) { return is_bf16 ? bf16(value).bits : f16(value).bits; });
        return;
      }
    }
    visit(problem_.y.data + index, [](C value) { return value; });
  }

  /// The pooled window of a channel at a place of the band.
  KOKKOS_FORCEINLINE_FUNCTION C window_at(const C* plane, const item_place& place, int row, int column) const {
    using prumo::detail::pooled_window;
    using prumo::detail::pooling_kind;
    const int width = static_cast<int>(problem_.columns);
    const pooling_window& window = problem_.window;
    window_range rows(place.rows.first + row, window.row_stride, window.row_padding, window.height, problem_.rows);
    const window_range columns(column, window.column_stride, window.column_padding, window.width, problem_.columns);
    rows.begin -= place.rows.convolved_first;
    rows.end -= place.rows.convolved_first;
    return problem_.pooling == convolution_pooling::maximum
               ? pooled_window<pooling_kind::maximum, C>(plane, width, 1, rows, columns)
               : pooled_window<pooling_kind::mean, C>(plane, width, 1, rows, columns);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
