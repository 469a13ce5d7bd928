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

  /// Stores the sums of a tile, or the windows that lie in it, which take the sums' place.
  KOKKOS_FORCEINLINE_FUNCTION void store(const item_place& place, int part, const tile_place& at,
                                         sums_type& sums) const {
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
  KOKKOS_FORCEINLINE_FUNCTION void store_near(const near_target& target, const tile_place& at, sums_type& sums) const {
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
                                                 sums_type& sums) const {
    const int sum_rows = static_cast<int>(place.rows.convolved_last - place.rows.convolved_first) - tile_at.row;
    const int sum_columns = static_cast<int>(problem_.columns) - tile_at.column;
    const std::int64_t first_row = place.rows.first + tile_at.row / Window;
    const int first_column = tile_at.column / Window;
    const int rows = static_cast<int>(place.rows.last - first_row);
    int columns = static_cast<int>(problem_.y_columns) - first_column;
    if constexpr (Tile.spreads) {  // the next tile stores what it shares with this one
      if (tile_at.column + Tile.columns < problem_.width) columns = Tile.columns;
    }
    const std::int64_t first_channel = (std::int64_t{part} * layout_.channel_tiles + tile_at.channels) * Tile.channels;
    const int channels = static_cast<int>(problem_.out_channels - first_channel);
    const std::int64_t at = (place.first_image + tile_at.image) * problem_.y.image_stride +
                            first_channel * problem_.y.channel_stride + first_row * problem_.y.row_stride +
                            first_column * problem_.y.column_stride;
    store_windows_at<Window>(at, {sum_rows, sum_columns, rows, columns, channels}, sums);
  }

  template <int Window>
  KOKKOS_FORCEINLINE_FUNCTION void store_windows_near(const near_target& target, const tile_place& at,
                                                      sums_type& sums) const {
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
  KOKKOS_FORCEINLINE_FUNCTION void store_windows_at(std::int64_t at, const tile_extents& there, sums_type& sums) const {
    const bool has_all_sums = there.sum_rows >= Tile.rows && there.sum_columns >= Tile.columns;
    const auto has_whole_windows = [&] {
      return problem_.y_rows * Window <= problem_.rows && problem_.y_columns * Window <= problem_.columns;
    };
    if constexpr (Tile.keeps_weights) {  // with few sums, every instruction beside them counts
      const bool is_whole = has_all_sums && there.channels >= Tile.channels && there.rows >= Tile.rows / Window &&
                            there.columns >= Tile.columns / Window;
      if (is_whole && problem_.pooling != convolution_pooling::mean) {
        pool_and_activate<Window>(convolution_pooling::maximum, Tile.rows, Tile.columns, sums);
        return with_words(
            at, [&](auto* to, const auto& word_of) { store_activated<Window, true>(to, word_of, there, sums); });
      }
    }
    // Where pooling rounds up, the last windows reach beyond the convolution.
    if (has_all_sums || has_whole_windows()) {
      pool_and_activate<Window>(problem_.pooling, Tile.rows, Tile.columns, sums);
    } else {
      pool_and_activate<Window>(problem_.pooling, there.sum_rows, there.sum_columns, sums);
    }
    with_words(at, [&](auto* to, const auto& word_of) { store_activated<Window, false>(to, word_of, there, sums); });
  }

  /// Pools the windows of a tile, and activates maxima by relu, or tanh.
  template <int Window>
  KOKKOS_FORCEINLINE_FUNCTION void pool_and_activate(convolution_pooling pooling, int sum_rows, int sum_columns,
                                                     sums_type& sums) const {
    if constexpr (Window > 1) {
      sums.template pool<Window>(pooling, sum_rows, sum_columns);
      if (problem_.activation == activation_function::relu && problem_.activates_maxima()) {
        sums.template for_each_window<Window>([](C& sum) { sum = prumo::maximum(sum, C(0)); });
      }
      if constexpr (sums_type::has_tanh_of_maxima(Window)) {
        if (problem_.activation == activation_function::tanh) {
          sums.template for_each_window<Window>([](C& sum) { sum = prumo::tanh(sum); });
        }
      }
    }
  }

  /// Stores what is there of a tile, after long activations.
  /// \tparam Whole whether all of it is there
  template <int Window, bool Whole, class Word, class WordOf>
  KOKKOS_FORCEINLINE_FUNCTION void store_activated(Word* to, const WordOf& word_of, const tile_extents& there,
                                                   const sums_type& sums) const {
    const activation_function function = problem_.activation;
    const bool is_done = sums_type::has_tanh_of_maxima(Window) && function == activation_function::tanh;
    if (is_done || !is_long(function)) return store_in_packs<Window, Whole>(to, word_of, there, sums);
    const auto to_word = [=](C result) { return word_of(activated_at_length(function, result)); };
    store_in_packs<Window, Whole>(to, to_word, there, sums);
  }

  template <int Window, bool Whole, class Word, class ToWord>
  KOKKOS_FORCEINLINE_FUNCTION void store_in_packs(Word* to, const ToWord& to_word, const tile_extents& there,
                                                  const sums_type& sums) const {
    constexpr int together = results_at_once(Tile, Window);
    if (layout_.result_pack == together) return store_tile<Window, together, Whole>(to, to_word, there, sums);
    if constexpr (together == 4) {
      if (layout_.result_pack == 2) return store_tile<Window, 2, Whole>(to, to_word, there, sums);
    }
    if constexpr (together > 1) store_tile<Window, 1, Whole>(to, to_word, there, sums);
  }

  /// Stores what is there of a tile, in packs of `Pack`. There is no branch for each row: a warp whose tiles end at
  /// different places would take both ways, and wait for each address where it branches.
  template <int Window, int Pack, bool Whole, class Word, class ToWord>
  KOKKOS_FORCEINLINE_FUNCTION void store_tile(Word* to, const ToWord& to_word, const tile_extents& there,
                                              const sums_type& sums) const {
    PRUMO_UNROLL
    for (int m = 0; m < Tile.channels; ++m) {
      if (!Whole && m >= there.channels) break;
      Word* row = to;
      PRUMO_UNROLL
      for (int r = 0; r < Tile.rows / Window; ++r) {
        constexpr int width = Tile.sum_columns() / Window;
        prumo::detail::device_pack<Word, Pack> words[width / Pack];
        PRUMO_UNROLL
        for (int k = 0; k < width; ++k) words[k / Pack].values[k % Pack] = to_word(sums.at(m, r, k));
        PRUMO_UNROLL
        for (int k = 0; k < width; k += Pack) {
          if (Whole || (r < there.rows && k < there.columns)) store_words<Pack>(row, k, words[k / Pack]);
        }
        row += problem_.y.row_stride;
      }
      to += problem_.y.channel_stride;
    }
  }

  /// Stores the words of a pack from column k of a row on.
  template <int Pack, class Word>
  KOKKOS_FORCEINLINE_FUNCTION void store_words(Word* row, int k,
                                               const prumo::detail::device_pack<Word, Pack>& words) const {
    if constexpr (Pack > 1) {
      store_at_once<Tile.keeps_weights>(row + k, words);
    } else {
      row[k * problem_.y.column_stride] = words.values[0];
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
