// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The steps of a team for nets of the shape step_shape::windows: one image after the other. What a thread needs in all
/// steps is found before the first, and each gradient of a filter has a thread that keeps its sum in a register. An
/// image takes four barriers.

#include "images_ahead.hpp"
#include "layers/dense_layers.hpp"
#include "layers/window_image.hpp"
#include "step_body.hpp"
#include "step_loop_parts.hpp"
#include <prumo/detail/device/copy_ahead.hpp>

#include <cstdint>

namespace prumo::nets {

/// The sum of a gradient, in the thread that has it. With weights that change at once, it has the weight instead.
template <class C>
struct owned_gradient {
  int place = -1;  ///< among the gradients that a team sums; -1: none
  int from = 0;    ///< the first of the sums of lanes, among an image's elements
  int copy = 0, parameter = 0;
  C scale = 0, value = 0;
};

// What few trainings need has functions of its own, so that the instructions that all need lie close together.

struct softmax_result {
  double loss_of_image;
  int correct;
};
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class Team, class C>
KOKKOS_FUNCTION PRUMO_STEP_APART softmax_result differentiate_softmax_apart(const Team& team, const C* scores,
                                                                            C* slopes, int classes, int label,
                                                                            C scale) {
  softmax_result result;
  differentiate_loss(team, loss::softmax, activation::none, scores, slopes, classes, label, scale,
                     result.loss_of_image, result.correct);
  return result;
}

PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FUNCTION PRUMO_STEP_APART C activated_apart(activation function, C x) {
  return activated(function, x);
}

PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FUNCTION PRUMO_STEP_APART C changed_apart(step_rule<C> rule, C weight, C gradient, C* first, C* second,
                                                 int place) {
  return rule(weight, gradient, first, second, place);
}

/// \tparam AtOnce whether the team takes whole steps alone, with one image each, so that weights change at once
template <bool AtOnce, window_step_team Team, class C>
class window_steps {
 public:
  PRUMO_STEP_FUNCTION window_steps(const step_body<Team, C>& body, step_league league)
      : body_(body),
        team_(body.team()),
        table_(body.table()),
        data_(body.data()),
        scratch_(body.scratch()),
        chunks_(body.table(), body.data(), league),
        image_(body.team(), body.scratch()) {
    read_dense();
    own_gradients();
    place_pixels();
    if constexpr (!AtOnce) {
      PRUMO_UNROLL
      for (int k = 0; k < window_copies_of_thread; ++k) {
        const int i = team_.rank() + k * team_.size();
        sources_[k] = i < table_.copies ? data_.copy_sources[i] : -1;
      }
    }
    const image_chunk now = chunks_.from(0, league.rank);
    next_ = chunks_.after(now);
    if (now.count > 0) {
      body.gather(chunks_.place_of(now), 1);
      label_ = data_.labels[data_.order[chunks_.place_of(now)]];
    }
    if (next_.count > 0) next_image_ = data_.order[chunks_.place_of(next_)];
  }

  /// The sums of loss and correct answers begin with those of scratch memory. A barrier must lie before.
  PRUMO_STEP_FUNCTION void take_sums() {
    losses_ = scratch_.sums()[0];
    correct_ = scratch_.sums()[1];
  }
  /// A barrier must follow.
  PRUMO_STEP_FUNCTION void give_sums() const {
    if (measures_loss() && team_.lane() == 0) {
      scratch_.sums()[0] = losses_;
      scratch_.sums()[1] = correct_;
    }
  }

  /// Copies the parameters that other teams have changed. A barrier must follow.
  PRUMO_STEP_FUNCTION void copy_parameters() const {
    C values[window_copies_of_thread];
    PRUMO_UNROLL
    for (int k = 0; k < window_copies_of_thread; ++k) values[k] = sources_[k] >= 0 ? data_.weights[sources_[k]] : C(0);
    PRUMO_UNROLL
    for (int k = 0; k < window_copies_of_thread; ++k) {
      const int i = team_.rank() + k * team_.size();
      if (i < table_.copies) scratch_.copies()[i] = values[k];
    }
  }

  /// The parameters that this team has changed alone, to the memory of the device.
  PRUMO_STEP_FUNCTION void store_parameters() const {
    for (int i = team_.rank(); i < table_.copies; i += team_.size()) {
      if (const int to = data_.copy_sources[i]; to >= 0) data_.weights[to] = scratch_.copies()[i];
    }
  }

  PRUMO_STEP_FUNCTION void begin_group() {
    filter_.value = shared_.value = 0;
    losses_ = correct_ = 0;
  }

  /// The sums of a group to memory. Ends with a barrier.
  PRUMO_STEP_FUNCTION void end_group(int group) const {
    C* const partials = data_.partials + static_cast<std::int64_t>(group) * table_.gradients;
    if (filter_.place >= 0) partials[filter_.place] = filter_.value;
    if (shared_.place >= 0) partials[shared_.place] = shared_.value;
    if (measures_loss() && team_.lane() == 0) {
      data_.sums[2 * group] = losses_;
      data_.sums[2 * group + 1] = correct_;
    }
    team_.barrier();
  }

  /// An image in scratch memory forward and backward; then the next one is there. Begins behind a barrier and ends with
  /// one.
  /// \param scale of the gradients of scores
  /// \param factors of this image
  PRUMO_STEP_FUNCTION void run_image(C scale, C* factors, const step_rule<C>& rule) {
    load_next();
    image_.convolve();
    team_.barrier();
    multiply_dense(scale);
    team_.barrier();
    if (which_loss_ == loss::softmax) {
      if (measures_loss()) differentiate_softmax(scale);
      team_.barrier();
    } else if (measures_loss()) {
      add_loss();
    }
    if (team_.stretch() == team_.stretches() - 2) take_bias(factors, rule);
    image_.sum_gradients([&](int input, C value, int half, bool exists) {
      return dense_backward(input, value, half, exists, factors, rule);
    });
    prumo::detail::wait_for_copy_groups<0>();
    team_.barrier();
    finish_gradients(rule);
    put_next();
    team_.barrier();
  }

 private:
  static constexpr int sums_of_stretch = Team::lanes / shared_lanes;
  /// Outputs of the dense layer whose weights two lanes load before they change the first of them.
  static constexpr int outputs_at_once = 10;

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
    shared_.from = table_.window_sums + map_sums + half * half_sums + within +
                   team_.lane() % shared_lanes * window_group_sums;
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
    const int words = table_.pixels / pixels_of_word;
    const int begin = (first.out_channels * map_sums + Team::lanes - 1) / Team::lanes * Team::lanes;
    word_ = team_.rank() - begin + (team_.rank() < begin ? team_.size() : 0);
    if (word_ >= words) word_ = -1;
    const item_place at(word_ < 0 ? 0 : word_ * pixels_of_word, first.x_items);
    pixel_ = first.x.begin + at.row * first.x.pitch + at.column;
  }

  /// Whether this thread's stretch adds up losses.
  PRUMO_STEP_FUNCTION bool measures_loss() const { return team_.stretch() == team_.stretches() - 1; }

  PRUMO_STEP_FUNCTION C* scores() const { return image_.image() + scores_; }
  PRUMO_STEP_FUNCTION C* slopes() const { return image_.image() + slopes_; }

  /// What is in the table for the dense layer. Threads have it in registers, because a load from the table takes as
  /// long as ten other instructions.
  PRUMO_STEP_FUNCTION void read_dense() {
    const step_layer& last = table_.layer[2];
    dense_inputs_ = last.in_size();
    dense_outputs_ = last.out_channels;
    dense_begin_ = last.x.begin;
    dense_weights_ = last.forward_copy;
    dense_bias_ = last.bias_copy;
    scores_ = last.y.begin;
    slopes_ = table_.window_slopes;
    which_loss_ = table_.which_loss;
    words_ = table_.pixels / pixels_of_word;
    dense_scale_ = static_cast<C>(last.weight_scale);
  }

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
    } else {
      return chunks_.after(next_);
    }
  }

  /// Makes numbers of it, where the image before is done with.
  PRUMO_STEP_FUNCTION void put_next() {
    if (next_.count > 0 && word_ >= 0) {
      const unsigned word = reinterpret_cast<const unsigned*>(scratch_.next_bytes())[word_];
      PRUMO_UNROLL
      for (int i = 0; i < pixels_of_word; ++i) image_.image()[pixel_ + i] = pixel_value<C>(word >> (8 * i) & 255);
    }
    label_ = next_label_;
    next_ = after_;
    next_image_ = image_after_;
  }

  /// The scores, and their gradients unless they depend on all scores: a stretch of threads for each.
  PRUMO_STEP_FUNCTION void multiply_dense(C scale) const {
    const C* const x = image_.image() + dense_begin_ + team_.lane();
    PRUMO_KEEP_LOOP
    for (int output = team_.stretch(); output < dense_outputs_; output += team_.stretches()) {
      const C* const weights = image_.copies() + dense_weights_ + output * dense_inputs_ + team_.lane();
      constexpr int chains = 2;
      C sum[chains] = {};
      PRUMO_UNROLL
      for (int first = 0; first < most_window_inputs; first += Team::lanes) {
        C& part = sum[first / Team::lanes % chains];
        if (first + team_.lane() < dense_inputs_) part = prumo::fma(weights[first], x[first], part);
      }
      C score = sum_of_lanes(team_, sum[0] + sum[1]);
      if (dense_bias_ >= 0) score += image_.copies()[dense_bias_ + output];
      if (which_loss_ == loss::squared) score = activated_apart(table_.layer[2].activate, score);
      if (team_.lane() == 0) scores()[output] = score;
      if (which_loss_ == loss::softmax) continue;
      const C target = output == label_ ? C(1) : C(0);
      const C slope = which_loss_ == loss::squared
                          ? slope_of_loss(loss::squared, table_.layer[2].activate, score, target, scale)
                          : (step_sigmoid(score) - target) * scale;
      if (team_.lane() == 0) slopes()[output] = slope;
    }
  }

  PRUMO_STEP_FUNCTION void differentiate_softmax(C scale) {
    const softmax_result result =
        differentiate_softmax_apart<Team, C>(team_, scores(), slopes(), dense_outputs_, label_, scale);
    losses_ += result.loss_of_image;
    correct_ += result.correct;
  }

  PRUMO_STEP_FUNCTION void add_loss() {
    const C* const all = scores();
    const C at_label = all[label_];
    C sum = 0;
    int better = 0;
    PRUMO_KEEP_LOOP
    for (int i = team_.lane(); i < dense_outputs_; i += Team::lanes) {
      const C score = all[i];
      if (i < label_ ? !(score < at_label) : !(score <= at_label)) ++better;
      sum += term_of_loss(which_loss_, score, i == label_ ? C(1) : C(0));
    }
    losses_ += static_cast<double>(sum_of_lanes(team_, sum));
    correct_ += sum_of_lanes(team_, better) == 0 ? 1 : 0;
  }

  /// The new bias of the dense layer, or the gradients of the scores to memory.
  PRUMO_STEP_FUNCTION void take_bias(C* factors, const step_rule<C>& rule) const {
    const step_layer& last = table_.layer[2];
    PRUMO_KEEP_LOOP
    for (int output = team_.lane(); output < dense_outputs_; output += Team::lanes) {
      const C slope = slopes()[output];
      if constexpr (!AtOnce) {
        factors[last.dy_factor + output] = slope;
      } else if (last.bias >= 0) {
        C* const bias = image_.copies() + dense_bias_ + output;
        *bias = changed(rule, *bias, slope * static_cast<C>(last.bias_scale), last.bias + output);
      }
    }
  }

  /// Half of the gradient of an input of the dense layer, over every other output; and new weights, or the input to
  /// memory.
  PRUMO_STEP_FUNCTION C dense_backward(int input, C value, int half, bool exists, C* factors,
                                       const step_rule<C>& rule) const {
    C* const column = image_.copies() + dense_weights_ + half * dense_inputs_ + input;
    const C* const of_half = slopes() + half;
    C sum = 0;
    PRUMO_KEEP_LOOP
    for (int first = 0; first < dense_outputs_; first += outputs_at_once) {
      constexpr int count = outputs_at_once / 2;
      C weights[count], of_output[count];
      PRUMO_UNROLL
      for (int k = 0; k < count; ++k) {
        const bool is_there = first + 2 * k + half < dense_outputs_;
        weights[k] = is_there ? column[(first + 2 * k) * dense_inputs_] : C(0);
        of_output[k] = is_there ? of_half[first + 2 * k] : C(0);
        sum = prumo::fma(weights[k], of_output[k], sum);
      }
      if constexpr (AtOnce) {
        const C scaled = value * dense_scale_;
        if (rule.which == optimizer::sgd) {
          PRUMO_UNROLL
          for (int k = 0; k < count; ++k) {
            weights[k] = prumo::fma(-rule.rate, of_output[k] * scaled, weights[k]);
          }
        } else {
          const int parameter = table_.layer[2].weights + (first + half) * dense_inputs_ + input;
          PRUMO_UNROLL
          for (int k = 0; k < count; ++k) {
            if (!exists || first + 2 * k + half >= dense_outputs_) continue;
            weights[k] = changed(rule, weights[k], of_output[k] * scaled, parameter + 2 * k * dense_inputs_);
          }
        }
        PRUMO_UNROLL
        for (int k = 0; k < count; ++k) {
          if (exists && first + 2 * k + half < dense_outputs_) column[(first + 2 * k) * dense_inputs_] = weights[k];
        }
      }
    }
    if constexpr (!AtOnce) {
      if (exists && half == 0) factors[table_.layer[2].x_factor + input] = value;
    }
    return sum;
  }

  PRUMO_STEP_FUNCTION C changed(const step_rule<C>& rule, C weight, C gradient, int parameter) const {
    if (rule.which == optimizer::sgd) return prumo::fma(-rule.rate, gradient, weight);
    return changed_apart(rule, weight, gradient, data_.first_moments, data_.second_moments, parameter);
  }

  /// The gradients of filters over all windows.
  PRUMO_STEP_FUNCTION void finish_gradients(const step_rule<C>& rule) {
    if (filter_.place >= 0) {
      const C* const from = image_.image() + filter_.from;
      C sum = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 3
#endif
      for (int group = 0; group < groups_of_map_; ++group) sum += from[group * window_group_sums];
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
      it.value = changed(rule, it.value, sum * it.scale, it.parameter);
      image_.copies()[it.copy] = it.value;
    } else {
      it.value += sum;
    }
  }

  const step_body<Team, C>& body_;
  const Team& team_;
  const step_table& table_;
  const step_data<C>& data_;
  const step_scratch<C>& scratch_;
  image_chunks<Team, C> chunks_;
  window_image<Team, C> image_;
  owned_gradient<C> filter_, shared_;
  int groups_of_map_ = 0;
  int dense_inputs_ = 0, dense_outputs_ = 0, dense_begin_ = 0, dense_weights_ = 0, dense_bias_ = 0;
  int scores_ = 0, slopes_ = 0, words_ = 0;
  C dense_scale_ = 1;
  loss which_loss_ = loss::sigmoid;
  bool sums_shared_ = false;
  int word_ = -1, pixel_ = 0;  ///< four pixels that this thread puts into scratch memory, and their place there
  int sources_[window_copies_of_thread] = {};
  int label_ = 0, next_label_ = 0, next_image_ = 0, image_after_ = 0;
  image_chunk next_, after_;
  double losses_ = 0, correct_ = 0;  ///< in the lanes of the stretch that adds them up
};

}  // namespace prumo::nets
