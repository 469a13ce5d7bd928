// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// One image through a net of the shape step_shape::windows, forward and backward: a first convolution of one channel,
/// behind it a filter that all maps share, whose windows of 4 x 4 places cover the convolution's result without
/// touching each other, both with a sigmoid, and a dense layer.
///
/// A thread has two rows of a window in one map, and its neighbour the other two. It computes their part of the
/// convolution, and together they get the result of the shared filter. Neither these places nor their gradients are
/// ever stored: between the layers only a number for each window goes through scratch memory. Sums of gradients stay in
/// registers until weights change. The places of what a
/// thread reads and writes are found once, before the first image.

#include "fused/plan/step_scratch.hpp"
#include "fused/plan/window_plan.hpp"
#include "loss_terms.hpp"
#include "step_sigmoid.hpp"
#include "step_team.hpp"
#include "window_sums.hpp"
#include <prumo/detail/compiler.hpp>

namespace prumo::nets {

/// Whether a team takes windows.
template <class Team>
concept window_step_team = Team::shape == step_shape::windows;

/// What a thread has of each image. All functions are for all threads of a team, and none contains a barrier unless it
/// says so.
/// \tparam AtOnce whether weights change at once. Otherwise the pixels of two images are there.
template <bool AtOnce, window_step_team Team, class C>
class window_image {
 public:
  PRUMO_STEP_FUNCTION window_image(const Team& team, const step_scratch<C>& scratch)
      : team_(team), image_(scratch.memory()), copies_(scratch.copies()) {
    const step_table& table = scratch.table();
    const step_layer &first = table.layer[0], &shared = table.layer[1];
    const int halves = table.window_halves.of_an_image, rank = team.rank();
    const item_place at(rank < halves ? rank : 0, table.window_halves);
    const int window = at.column / 2, half = at.column % 2, windows = shared.out_height * shared.out_width;
    has_sums_ = rank < halves;
    takes_part_ = rank - team.lane() < halves;
    exists_ = has_sums_ && window < windows;
    const int row = exists_ ? shared.y_items.by_columns.quotient(window) : 0;
    const int column = exists_ ? window - row * shared.out_width : 0;
    x_ = first.x.begin + (row * window_side + half * window_rows - first.row_padding) * first.x.pitch +
         column * window_side - first.column_padding;
    next_x_ = x_;
    if constexpr (!AtOnce) x_ += table.window_image_apart;
    x_pitch_ = first.x.pitch;
    taps_ = first.forward_copy + at.channel * window_map_copies;
    shared_ = shared.forward_copy;
    inputs_ = shared.y.begin;
    input_ = exists_ ? at.channel * windows + window : 0;
    sums_ = table.window_sums + rank / window_lanes * window_group_sums;
  }

  /// The image that comes next: y of the convolution's places of this thread, and of the shared filter in scratch
  /// memory. A barrier must follow.
  PRUMO_STEP_FUNCTION void convolve() {
    if constexpr (!AtOnce) {
      const int x = x_;
      x_ = next_x_;
      next_x_ = x;
    }
    if (!team_.same_in_stretch(takes_part_)) return;
    C taps[window_map_copies];
    load_run(copies_ + taps_, taps);
    PRUMO_UNROLL
    for (int place = 0; place < window_places; ++place) y_[place] = taps[window_taps];
    for_each_product([&](int place, int tap, C pixel) { y_[place] = prumo::fma(taps[tap], pixel, y_[place]); });
    PRUMO_UNROLL
    for (int place = 0; place < window_places; ++place) y_[place] = step_sigmoid(y_[place]);
    load_run(copies_ + shared_ + half() * window_places, of_half_);
    C result = 0;
    PRUMO_UNROLL
    for (int place = 0; place < window_places; ++place) result = prumo::fma(of_half_[place], y_[place], result);
    result += team_.across(result, 1);
    input_value_ = step_sigmoid(result + copies_[shared_ + shared_taps]);
    if (exists_ && half() == 0) image_[inputs_ + input_] = input_value_;
  }

  PRUMO_STEP_FUNCTION void begin_sums() {
    PRUMO_UNROLL
    for (C& each : of_map_) each = 0;
    PRUMO_UNROLL
    for (C& each : of_shared_) each = 0;
  }

  /// Behind the gradients of the scores and a barrier: the gradients of the first two layers are added to the sums of
  /// this thread.
  /// \param dense_backward(input, value, half, exists) gives half of the gradient of an input, without the slope of the
  ///        activation below: two neighbouring lanes call it and share the outputs
  template <class DenseBackward>
  PRUMO_STEP_FUNCTION void sum_gradients(const DenseBackward& dense_backward) {
    if (!team_.same_in_stretch(takes_part_)) return;
    C slope = dense_backward(input_, input_value_, half(), exists_);
    slope += team_.across(slope, 1);
    slope = exists_ ? slope * slope_of(activation::sigmoid, input_value_) : C(0);
    C slopes[window_places];
    PRUMO_UNROLL
    for (int place = 0; place < window_places; ++place) {
      slopes[place] = slope * of_half_[place] * slope_of(activation::sigmoid, y_[place]);
      of_shared_[place] = prumo::fma(slope, y_[place], of_shared_[place]);
    }
    of_shared_[window_places] += slope;
    PRUMO_UNROLL
    for (int place = 0; place < window_places; ++place) of_map_[window_taps] += slopes[place];
    for_each_product(
        [&](int place, int tap, C pixel) { of_map_[tap] = prumo::fma(slopes[place], pixel, of_map_[tap]); });
  }

  /// The sums of neighbouring lanes to scratch memory. A barrier must follow.
  PRUMO_STEP_FUNCTION void share_sums() {
    if (!team_.same_in_stretch(takes_part_)) return;
    C* const to = image_ + sums_;
    const auto store = [&](int which, C total) {
      if (has_sums_) to[which] = total;
    };
    share_out<half_sums, 2, window_lanes>(team_, of_shared_, map_sums + half() * half_sums, store);
    share_out<map_sums, 1, window_lanes>(team_, of_map_, 0, store);
  }

  /// visit(input, half, exists), where the halves of a window share an input of the dense layer.
  template <class Visit>
  PRUMO_STEP_FUNCTION void with_input(const Visit& visit) const {
    if (team_.same_in_stretch(takes_part_)) visit(input_, half(), exists_);
  }

  PRUMO_STEP_FUNCTION C* image() const { return image_; }
  PRUMO_STEP_FUNCTION C* copies() const { return copies_; }

 private:
  PRUMO_STEP_FUNCTION int half() const { return team_.lane() & 1; }

  /// visit(place, tap, pixel) for each tap of the filter at each place of this thread: forward and backward multiply
  /// the same pixels, and load each row of them once.
  template <class Visit>
  PRUMO_STEP_FUNCTION void for_each_product(const Visit& visit) const {
    PRUMO_UNROLL
    for (int r = 0; r < window_filter + window_rows - 1; ++r) {
      C values[window_filter + window_side - 1];
      load_run(image_ + x_ + r * x_pitch_, values);
      PRUMO_UNROLL
      for (int row = 0; row < window_rows; ++row) {
        const int tap_row = r - row;
        if (tap_row < 0 || tap_row >= window_filter) continue;
        PRUMO_UNROLL
        for (int tap = 0; tap < window_filter; ++tap) {
          PRUMO_UNROLL
          for (int k = 0; k < window_side; ++k) {
            visit(row * window_side + k, tap_row * window_filter + tap, values[k + tap]);
          }
        }
      }
    }
  }

  const Team& team_;
  C *image_, *copies_;
  int x_, x_pitch_;     ///< the first pixel under the filter at the first place
  int next_x_;          ///< the same of the next image
  int taps_, shared_;   ///< the copies of this map's taps and of the shared filter
  int inputs_, input_;  ///< where those of the dense layer begin, and which is this thread's
  int sums_;
  bool exists_;    ///< whether this thread has a window
  bool has_sums_;  ///< whether it is among lanes that add their sums for a map
  /// Whether its stretch has windows. The others of the stretch have the first window, and store nothing.
  bool takes_part_;
  // Kept from forward to backward.
  C y_[window_places];
  C of_half_[window_places];  ///< taps of the shared filter
  C input_value_ = 0;
  C of_map_[map_sums] = {};  ///< sums of gradients, over images that do not change the weights
  C of_shared_[half_sums] = {};
};

}  // namespace prumo::nets
