// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the direct convolution on a device stores what its threads computed: at once, or through the scratch memory of
/// the team, where windows are pooled that do not lie in a tile.

#include "direct_device_inputs.hpp"

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

  template <int Window>
  KOKKOS_FORCEINLINE_FUNCTION void store_windows(const item_place& place, int part, const tile_place& tile_at,
                                                 const sums_type& sums) const {
    constexpr int height = Tile.rows / Window, width = Tile.columns / Window, together = results_at_once(width);
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
    with_words(at, [&](auto* to, const auto& word_of) {
      using word = std::remove_reference_t<decltype(*to)>;
      const bool in_packs = layout_.stores_packs && columns >= width;
      PRUMO_UNROLL
      for (int m = 0; m < Tile.channels; ++m) {
        if (m >= channels) break;
        auto* row = to;
        PRUMO_UNROLL
        for (int r = 0; r < height; ++r) {
          if (r >= rows) break;
          C results[width];
          sums.template pool<Window>(problem_.pooling, m, r * Window, sum_rows - r * Window, sum_columns, results);
          activate(results);
          if (in_packs) {
            PRUMO_UNROLL
            for (int k = 0; k < width; k += together) {
              prumo::detail::device_pack<word, together> words;
              PRUMO_UNROLL
              for (int i = 0; i < together; ++i) words.values[i] = word_of(results[k + i]);
              *reinterpret_cast<decltype(words)*>(row + k) = words;
            }
          } else {
            PRUMO_UNROLL
            for (int k = 0; k < width; ++k) {
              if (k < columns) row[k * problem_.y.column_stride] = word_of(results[k]);
            }
          }
          row += problem_.y.row_stride;
        }
        to += problem_.y.channel_stride;
      }
    });
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
