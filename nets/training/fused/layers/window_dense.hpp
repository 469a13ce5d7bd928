// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The dense layer and the loss of an image whose net has the shape step_shape::windows.

#include "dense_layers.hpp"
#include "fused/plan/step_scratch.hpp"
#include "fused/plan/window_plan.hpp"
#include "loss_terms.hpp"
#include "step_sigmoid.hpp"
#include "step_team.hpp"

#include <cstdint>

namespace prumo::nets {

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
  differentiate_loss(team, loss::softmax, activation::none, scores, slopes, classes, label, scale, result.loss_of_image,
                     result.correct);
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

/// A part of what a thread has of each image. The functions are for all threads of a team unless they say so, and none
/// contains a barrier.
/// \tparam AtOnce whether weights change at once
template <bool AtOnce, class Team, class C>
class window_dense {
 public:
  // What is in the table for this layer is kept in registers, because a load from it takes as long as ten other
  // instructions.
  PRUMO_STEP_FUNCTION window_dense(const Team& team, const step_data<C>& data, const step_scratch<C>& scratch)
      : team_(team),
        data_(data),
        table_(scratch.table()),
        image_(scratch.memory()),
        copies_(scratch.copies()),
        scratch_(scratch) {
    const step_layer& last = table_.layer[2];
    inputs_ = last.in_size();
    outputs_ = last.out_channels;
    begin_ = last.x.begin;
    weights_ = last.forward_copy;
    bias_ = last.bias_copy;
    scores_ = last.y.begin;
    slopes_ = table_.window_slopes;
    weight_scale_ = static_cast<C>(last.weight_scale);
    which_loss_ = table_.which_loss;
  }

  PRUMO_STEP_FUNCTION bool has_softmax() const { return which_loss_ == loss::softmax; }

  /// The scores, and their gradients unless they depend on all scores: a stretch of threads for each.
  PRUMO_STEP_FUNCTION void multiply(int label, C scale) const {
    const C* const x = image_ + begin_ + team_.lane();
    PRUMO_KEEP_LOOP
    for (int output = team_.stretch(); output < outputs_; output += team_.stretches()) {
      const C* const weights = copies_ + weights_ + output * inputs_ + team_.lane();
      constexpr int chains = 2;
      C sum[chains] = {};
      PRUMO_UNROLL
      for (int first = 0; first < most_window_inputs; first += Team::lanes) {
        C& part = sum[first / Team::lanes % chains];
        if (first + team_.lane() < inputs_) part = prumo::fma(weights[first], x[first], part);
      }
      C score = sum_of_lanes(team_, sum[0] + sum[1]);
      if (bias_ >= 0) score += copies_[bias_ + output];
      if (which_loss_ == loss::squared) score = activated_apart(table_.layer[2].activate, score);
      if (team_.lane() == 0) scores()[output] = score;
      if (which_loss_ == loss::softmax) continue;
      const C target = output == label ? C(1) : C(0);
      const C slope = which_loss_ == loss::squared
                          ? slope_of_loss(loss::squared, table_.layer[2].activate, score, target, scale)
                          : (step_sigmoid(score) - target) * scale;
      if (team_.lane() == 0) slopes()[output] = slope;
    }
  }

  /// Their gradients and the loss, for one stretch.
  PRUMO_STEP_FUNCTION void differentiate_softmax(int label, C scale) const {
    const softmax_result result =
        differentiate_softmax_apart<Team, C>(team_, scores(), slopes(), outputs_, label, scale);
    if (team_.lane() == 0) add(result.loss_of_image, result.correct);
  }

  /// The loss where the gradients are there, for one stretch.
  PRUMO_STEP_FUNCTION void add_loss(int label) const {
    const C* const all = scores();
    const C at_label = all[label];
    C sum = 0;
    int better = 0;
    PRUMO_KEEP_LOOP
    for (int i = team_.lane(); i < outputs_; i += Team::lanes) {
      const C score = all[i];
      if (i < label ? !(score < at_label) : !(score <= at_label)) ++better;
      sum += term_of_loss(which_loss_, score, i == label ? C(1) : C(0));
    }
    const auto loss_of_image = static_cast<double>(sum_of_lanes(team_, sum));
    const int correct = sum_of_lanes(team_, better) == 0 ? 1 : 0;
    if (team_.lane() == 0) add(loss_of_image, correct);
  }

  /// The new bias, for one stretch.
  PRUMO_STEP_FUNCTION void change_bias(const step_rule<C>& rule) const {
    const step_layer& last = table_.layer[2];
    if (last.bias < 0) return;
    PRUMO_KEEP_LOOP
    for (int output = team_.lane(); output < outputs_; output += Team::lanes) {
      C* const bias = copies_ + bias_ + output;
      *bias = changed(rule, *bias, slopes()[output] * static_cast<C>(last.bias_scale), last.bias + output);
    }
  }

  PRUMO_STEP_FUNCTION void begin_group() {
    bias_gradient_ = 0;
    PRUMO_UNROLL
    for (C& each : gradients_) each = 0;
  }

  /// The gradient of the bias, in the last threads of the team.
  PRUMO_STEP_FUNCTION void sum_bias() {
    if (const int output = bias_of_thread(); output < outputs_) bias_gradient_ += slopes()[output];
  }

  /// Half of the gradient of an input, over every other output; and the gradients of its weights for these are added to
  /// the sums of this thread.
  PRUMO_STEP_FUNCTION C sum_backward(int input, C value, int half, bool exists) {
    const C* const column = copies_ + weights_ + half * inputs_ + input;
    const C* const of_half = slopes() + half;
    const int outputs = exists ? outputs_ : 0;
    C sum = 0;
    PRUMO_UNROLL
    for (int first = 0; first < most_window_outputs; first += outputs_at_once) {
      if (first > 0 && first >= outputs_) break;
      PRUMO_UNROLL
      for (int output = first; output < first + outputs_at_once && output < most_window_outputs; output += 2) {
        const bool is_there = output + half < outputs;
        const int place = output * inputs_;
        const C weight = is_there ? column[place] : C(0), slope = is_there ? of_half[output] : C(0);
        sum = prumo::fma(weight, slope, sum);
        gradients_[output / 2] = prumo::fma(slope, value, gradients_[output / 2]);
      }
    }
    return sum;
  }

  /// The sums of a group to memory.
  /// \param partials of the group
  PRUMO_STEP_FUNCTION void store_gradients(C* partials, int input, int half, bool exists) const {
    const step_layer& last = table_.layer[2];
    C* const column = partials + last.gradient + half * inputs_ + input;
    const int outputs = exists ? outputs_ : 0;
    PRUMO_UNROLL
    for (int output = 0; output < most_window_outputs; output += 2) {
      const int place = output * inputs_;
      if (output + half < outputs) column[place] = gradients_[output / 2];
    }
  }
  PRUMO_STEP_FUNCTION void store_bias(C* partials) const {
    const step_layer& last = table_.layer[2];
    const int output = bias_of_thread();
    if (last.bias >= 0 && output < outputs_) partials[last.gradient + last.weight_count() + output] = bias_gradient_;
  }

  /// Half of the gradient of an input, over every other output; and new weights.
  PRUMO_STEP_FUNCTION C change_backward(int input, C value, int half, bool exists, const step_rule<C>& rule) const {
    C* const column = copies_ + weights_ + half * inputs_ + input;
    const C* const of_half = slopes() + half;
    // A thread without a window reads no weight, because the thread that has the weight may write it meanwhile.
    const int outputs = exists ? outputs_ : 0;
    C sum = 0;
    PRUMO_KEEP_LOOP
    for (int first = 0; first < outputs_; first += outputs_at_once) {
      constexpr int count = outputs_at_once / 2;
      C weights[count], of_output[count];
      PRUMO_UNROLL
      for (int k = 0; k < count; ++k) {
        const bool is_there = first + 2 * k + half < outputs;
        const int place = (first + 2 * k) * inputs_;
        weights[k] = is_there ? column[place] : C(0);
        of_output[k] = is_there ? of_half[first + 2 * k] : C(0);
        sum = prumo::fma(weights[k], of_output[k], sum);
      }
      const C scaled = value * weight_scale_;
      if (rule.which == optimizer::sgd) {
        PRUMO_UNROLL
        for (int k = 0; k < count; ++k) {
          weights[k] = prumo::fma(-rule.rate, of_output[k] * scaled, weights[k]);
        }
      } else {
        const int parameter = table_.layer[2].weights + (first + half) * inputs_ + input;
        PRUMO_UNROLL
        for (int k = 0; k < count; ++k) {
          if (first + 2 * k + half >= outputs) continue;
          weights[k] = changed(rule, weights[k], of_output[k] * scaled, parameter + 2 * k * inputs_);
        }
      }
      PRUMO_UNROLL
      for (int k = 0; k < count; ++k) {
        const int place = (first + 2 * k) * inputs_;
        if (first + 2 * k + half < outputs) column[place] = weights[k];
      }
    }
    return sum;
  }

  PRUMO_STEP_FUNCTION C changed(const step_rule<C>& rule, C weight, C gradient, int parameter) const {
    if (rule.which == optimizer::sgd) return prumo::fma(-rule.rate, gradient, weight);
    return changed_apart(rule, weight, gradient, data_.first_moments, data_.second_moments, parameter);
  }

 private:
  /// Outputs whose weights two lanes load before they change the first of them.
  static constexpr int outputs_at_once = 10;

  PRUMO_STEP_FUNCTION void add(double loss_of_image, int correct) const {
    scratch_.sums()[0] += loss_of_image;
    scratch_.sums()[1] += correct;
  }
  /// The output whose bias this thread sums, if it exists.
  PRUMO_STEP_FUNCTION int bias_of_thread() const { return team_.size() - 1 - team_.rank(); }
  PRUMO_STEP_FUNCTION C* scores() const { return image_ + scores_; }
  PRUMO_STEP_FUNCTION C* slopes() const { return image_ + slopes_; }

  const Team& team_;
  const step_data<C>& data_;
  const step_table& table_;
  C *image_, *copies_;
  const step_scratch<C>& scratch_;
  int inputs_, outputs_, begin_, weights_, bias_, scores_, slopes_;
  C weight_scale_;
  loss which_loss_;
  C gradients_[most_window_outputs / 2] = {};  ///< sums over the images of a group, of every other output
  C bias_gradient_ = 0;
};

}  // namespace prumo::nets
