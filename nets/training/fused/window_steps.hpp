// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The steps of a team for nets of the shape step_shape::windows: one image after the other. What a thread needs in all
/// steps is found before the first, and each gradient has a thread that keeps its sum in a register. A step of a single
/// image takes four barriers. In steps of more images, one goes backward and the next one forward between the same two
/// barriers, and an image takes two.

#include "images_ahead.hpp"
#include "layers/window_dense.hpp"
#include "layers/window_image.hpp"
#include "step_body.hpp"
#include "step_loop_parts.hpp"
#include <prumo/detail/device/copy_ahead.hpp>

#include <cstdint>

namespace prumo::nets {

/// The sum of a gradient over all windows, in the thread that has it. With weights that change at once, it has the
/// weight instead.
template <class C>
struct owned_gradient {
  int place = -1;  ///< among the gradients that a team sums; -1: none
  int from = 0;    ///< the first of the sums of lanes, among an image's elements
  int copy = 0, parameter = 0;
  C scale = 0, value = 0;
};

/// \tparam AtOnce whether the team takes whole steps alone, with one image each, so that weights change at once
template <bool AtOnce, window_step_team Team, class C>
class window_steps {
 public:
  PRUMO_STEP_FUNCTION window_steps(const step_body<Team, C>& body, step_league league)
      : team_(body.team()),
        table_(body.table()),
        data_(body.data()),
        scratch_(body.scratch()),
        chunks_(body.table(), body.data(), league),
        image_(body.team(), body.scratch()),
        dense_(body.team(), body.data(), body.scratch()) {
    words_ = table_.pixels / pixels_of_word;
    own_gradients();
    place_pixels();
    if constexpr (!AtOnce) {
      // In registers they would be spilled, and a barrier of the grid empties the cache where they are then.
      for (int i = team_.rank(); i < table_.copies; i += team_.size())
        scratch_.sources()[i] = data_.copies[i].parameter;
    }
    const image_chunk now = chunks_.from(0, league.rank);
    next_ = chunks_.after(now);
    if (now.count > 0) {
      body.gather(chunks_.place_of(now), 1);
      put_label_ = data_.labels[data_.order[chunks_.place_of(now)]];
    }
    if (next_.count > 0) next_image_ = data_.order[chunks_.place_of(next_)];
    if constexpr (!AtOnce) load_next();
  }

  /// Copies the parameters that other teams have changed. A barrier must follow.
  PRUMO_STEP_FUNCTION void copy_parameters() const {
    C values[window_copies_of_thread];
    PRUMO_UNROLL
    for (int k = 0; k < window_copies_of_thread; ++k) {
      const int i = team_.rank() + k * team_.size();
      const int source = i < table_.copies ? scratch_.sources()[i] : -1;
      values[k] = source >= 0 ? data_.weights[source] : C(0);
    }
    PRUMO_UNROLL
    for (int k = 0; k < window_copies_of_thread; ++k) {
      const int i = team_.rank() + k * team_.size();
      if (i < table_.copies) scratch_.copies()[i] = values[k];
    }
  }

  /// The parameters that this team has changed alone, to the memory of the device.
  PRUMO_STEP_FUNCTION void store_parameters() const {
    for (int i = team_.rank(); i < table_.copies; i += team_.size()) {
      if (const int to = data_.copies[i].parameter; to >= 0) data_.weights[to] = scratch_.copies()[i];
    }
  }

  PRUMO_STEP_FUNCTION void begin_group() {
    image_.begin_sums();
    dense_.begin_group();
    if (measures_loss() && team_.lane() == 0) scratch_.sums()[0] = scratch_.sums()[1] = 0;
  }

  /// The sums of a group to memory.
  PRUMO_STEP_FUNCTION void end_group(int group) const {
    C* const partials = data_.partials + static_cast<std::int64_t>(group) * table_.gradients;
    if (filter_.place >= 0) partials[filter_.place] = filter_.value;
    if (shared_.place >= 0) partials[shared_.place] = shared_.value;
    image_.with_input([&](int input, int part, bool exists) { dense_.store_gradients(partials, input, part, exists); });
    dense_.store_bias(partials);
    if (measures_loss() && team_.lane() == 0) {
      data_.sums[2 * group] = scratch_.sums()[0];
      data_.sums[2 * group + 1] = scratch_.sums()[1];
    }
  }

  /// A step of a single image in scratch memory; then the next one is there. Begins behind a barrier and ends with one.
  /// \param scale of the gradients of scores
  PRUMO_STEP_FUNCTION void run_single_image(C scale, const step_rule<C>& rule) {
    load_next();
    image_.convolve();
    team_.barrier();
    label_ = put_label_;
    dense_.multiply(label_, scale);
    team_.barrier();
    if (dense_.has_softmax()) {
      if (measures_loss()) dense_.differentiate_softmax(label_, scale);
      team_.barrier();
    } else if (measures_loss()) {
      dense_.add_loss(label_);
    }
    if (team_.stretch() == team_.stretches() - 2) dense_.change_bias(rule);
    image_.begin_sums();
    image_.sum_gradients([&](int input, C value, int part, bool exists) {
      return dense_.change_backward(input, value, part, exists, rule);
    });
    image_.share_sums();
    prumo::detail::wait_for_copy_groups<0>();
    team_.barrier();
    finish_gradients(rule);
    put_next();
    team_.barrier();
  }

  /// Some images forward and backward, and their sums. The first one is in scratch memory; in the end that behind them
  /// is there. A barrier must lie before and behind.
  /// \param scale of the gradients of scores
  PRUMO_STEP_FUNCTION void run_images(int count, C scale, const step_rule<C>& rule) {
    // A loop that begins elsewhere would need some functions twice, and the memory of instructions is short.
    PRUMO_KEEP_LOOP
    for (int image = 0;; ++image) {
      if (image > 0) {
        if (!dense_.has_softmax() && measures_loss()) dense_.add_loss(label_);
        dense_.sum_bias();
        image_.sum_gradients(
            [&](int input, C value, int part, bool exists) { return dense_.sum_backward(input, value, part, exists); });
      }
      if (image >= count) break;
      image_.convolve();
      team_.barrier();
      label_ = put_label_;
      dense_.multiply(label_, scale);
      if (dense_.has_softmax()) {
        team_.barrier();
        if (measures_loss()) dense_.differentiate_softmax(label_, scale);
      }
      prumo::detail::wait_for_copy_groups<0>();
      put_next();
      load_next();
      team_.barrier();
    }
    image_.share_sums();
    team_.barrier();
    finish_gradients(rule);
  }

 private:
  static constexpr int sums_of_stretch = Team::lanes / shared_lanes;

  /// Finds the gradients of this thread: of the convolution's filters from the first thread on, of the shared filter
  /// from the last stretch on, because several lanes sum these.
  PRUMO_STEP_FUNCTION void own_gradients() {
    const step_layer &first = table_.layer[0], &shared = table_.layer[1];
    const int map = team_.rank() / map_sums, tap = team_.rank() - map * map_sums;
    groups_of_map_ = table_.window_halves.columns / window_lanes;
    if (map < first.out_channels && (tap < window_taps || first.bias >= 0)) {
      filter_.place = first.gradient + (tap < window_taps ? map * window_taps + tap : first.weight_count() + map);
      filter_.from = table_.window_sums + map * groups_of_map_ * window_group_sums + tap;
      own(filter_);
    }
    const int begin = (team_.stretches() - 1 - team_.stretch()) * sums_of_stretch;
    const int which = begin + team_.lane() / shared_lanes, count = shared_taps + (shared.bias >= 0 ? 1 : 0);
    sums_shared_ = begin < count;
    const int half = which < shared_taps ? which / window_places : 0;
    const int within = which < shared_taps ? which % window_places : window_places;
    shared_.from =
        table_.window_sums + map_sums + half * half_sums + within + team_.lane() % shared_lanes * window_group_sums;
    if (which < count && team_.lane() % shared_lanes == 0) {
      shared_.place = shared.gradient + which;
      own(shared_);
    }
  }

  PRUMO_STEP_FUNCTION void own(owned_gradient<C>& it) const {
    const filter_parameter to = data_.filter_parameters[it.place];
    const step_layer& of = table_.layer[to.layer];
    it.copy = to.copy;
    it.parameter = to.parameter;
    it.scale = static_cast<C>(to.is_bias ? of.bias_scale : of.weight_scale);
    if constexpr (AtOnce) it.value = data_.weights[to.parameter];
  }

  /// Threads that own no filter's gradient begin with the next image's pixels.
  PRUMO_STEP_FUNCTION void place_pixels() {
    const step_layer& first = table_.layer[0];
    const int begin = (first.out_channels * map_sums + Team::lanes - 1) / Team::lanes * Team::lanes;
    word_ = team_.rank() - begin + (team_.rank() < begin ? team_.size() : 0);
    if (word_ >= words_) word_ = -1;
    const item_place at(word_ < 0 ? 0 : word_ * pixels_of_word, first.x_items);
    next_pixel_ = first.x.begin + at.row * first.x.pitch + at.column;
    pixel_ = next_pixel_ + (AtOnce ? 0 : table_.window_image_apart);
  }

  /// Whether this thread's stretch adds up losses.
  PRUMO_STEP_FUNCTION bool measures_loss() const { return team_.stretch() == team_.stretches() - 1; }

  /// Begins to load the image that comes next, and its label.
  PRUMO_STEP_FUNCTION void load_next() {
    if (next_.count > 0) {
      const auto* const from = reinterpret_cast<const unsigned*>(data_.pixels) + std::int64_t{next_image_} * words_;
      auto* const to = reinterpret_cast<unsigned*>(scratch_.next_bytes());
      if (word_ >= 0) prumo::detail::begin_copy(from + word_, to + word_);
      next_label_ = data_.labels[next_image_];
    }
    prumo::detail::end_copy_group();
    after_ = chunk_after_next();
    if (after_.count > 0) image_after_ = data_.order[chunks_.place_of(after_)];
  }

  PRUMO_STEP_FUNCTION image_chunk chunk_after_next() const {
    if constexpr (AtOnce) {
      const int step = next_.step + 1;
      return {step, 0, 0, next_.count > 0 && step < data_.steps ? 1 : 0, 1};
    } else if (next_.first + 1 < next_.end) {
      return {next_.step, next_.group, next_.first + 1, 1, next_.end};
    } else {
      return chunks_.after(next_);
    }
  }

  /// Makes numbers of it, in the place of an image that is done with.
  PRUMO_STEP_FUNCTION void put_next() {
    if (next_.count > 0 && word_ >= 0) {
      const unsigned word = reinterpret_cast<const unsigned*>(scratch_.next_bytes())[word_];
      PRUMO_UNROLL
      for (int i = 0; i < pixels_of_word; ++i) image_.image()[pixel_ + i] = pixel_value<C>(word >> (8 * i) & 255);
    }
    if constexpr (!AtOnce) {
      const int pixel = pixel_;
      pixel_ = next_pixel_;
      next_pixel_ = pixel;
    }
    put_label_ = next_label_;
    next_ = after_;
    next_image_ = image_after_;
  }

  /// The gradients of filters over all windows.
  PRUMO_STEP_FUNCTION void finish_gradients(const step_rule<C>& rule) {
    if (filter_.place >= 0) {
      const C* const from = image_.image() + filter_.from;
      C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 3
#endif
      for (int group = 0; group < groups_of_map_; ++group) {
        const int place = group * window_group_sums;
        sum += from[place];
      }
      take(filter_, sum, rule);
    }
    if (sums_shared_) {
      const C* const from = image_.image() + shared_.from;
      const int groups = table_.window_halves.of_an_image / window_lanes;
      C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int group = team_.lane() % shared_lanes; group < groups; group += shared_lanes) {
        sum += from[(group - team_.lane() % shared_lanes) * window_group_sums];
      }
      PRUMO_UNROLL
      for (int distance = 1; distance < shared_lanes; distance *= 2) sum += team_.across(sum, distance);
      if (shared_.place >= 0) take(shared_, sum, rule);
    }
  }

  PRUMO_STEP_FUNCTION void take(owned_gradient<C>& it, C sum, const step_rule<C>& rule) const {
    if constexpr (AtOnce) {
      it.value = dense_.changed(rule, it.value, sum * it.scale, it.parameter);
      image_.copies()[it.copy] = it.value;
    } else {
      it.value = sum;
    }
  }

  const Team& team_;
  const step_table& table_;
  const step_data<C>& data_;
  const step_scratch<C>& scratch_;
  image_chunks<Team, C> chunks_;
  window_image<AtOnce, Team, C> image_;
  window_dense<AtOnce, Team, C> dense_;
  owned_gradient<C> filter_, shared_;
  int groups_of_map_ = 0;
  int words_ = 0;  ///< of an image's pixels
  bool sums_shared_ = false;
  int word_ = -1;                                   ///< four pixels that this thread puts into scratch memory
  int pixel_ = 0, next_pixel_ = 0;                  ///< their place there, and that of the image behind it
  int label_ = 0, put_label_ = 0, next_label_ = 0;  ///< of the image, of the last one that was put, of the next one
  int next_image_ = 0, image_after_ = 0;
  image_chunk next_, after_;
};

}  // namespace prumo::nets
