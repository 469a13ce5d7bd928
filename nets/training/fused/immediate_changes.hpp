// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a team that takes a step alone, with one image, changes the weights at once. Their copies stay in its scratch
/// memory.

#include "dense_layers.hpp"
#include "filter_layers.hpp"
#include "step_scratch.hpp"

namespace prumo::nets {

/// Weights that a thread loads before it changes the first of them.
inline constexpr int weights_at_once = 8;

/// dx of a dense layer for one image, times the slope below, and new weights: a thread for each input, and for each
/// bias.
template <class Team, class C>
PRUMO_STEP_FUNCTION void change_dense(const Team& team, const step_layer& it, C* image, const C* from,
                                      const step_data<C>& data, const step_rule<C>& rule, C* copies) {
  const int inputs = it.in_size(), outputs = it.out_channels;
  const C* const dy = image + it.dy.begin;
  const C weight_scale = static_cast<C>(it.weight_scale);
  for (int input = team.rank(); input < inputs; input += team.size()) {
    C* const x = image + it.x.begin + input;
    const C value = *x;
    const C scaled = value * weight_scale;
    C sum = 0;
    PRUMO_KEEP_LOOP
    for (int first = 0; first < outputs; first += weights_at_once) {
      C weights[weights_at_once];
      PRUMO_UNROLL
      for (int k = 0; k < weights_at_once; ++k) {
        const int output = first + k < outputs ? first + k : first;
        weights[k] = from[output * inputs + input];
      }
      PRUMO_UNROLL
      for (int k = 0; k < weights_at_once; ++k) {
        if (first + k < outputs) {
          const C slope = dy[first + k];
          sum = prumo::fma(weights[k], slope, sum);
          const int which = (first + k) * inputs + input;
          const C changed =
              rule(weights[k], slope * scaled, data.first_moments, data.second_moments, it.weights + which);
          data.weights[it.weights + which] = changed;
          if (it.forward_copy >= 0) copies[it.forward_copy + which] = changed;
        }
      }
    }
    if (!it.is_first) image[it.dx.begin + input] = sum * slope_of(it.below, value);
  }
  // The last threads have no input, if there are any.
  for (int output = team.size() - 1 - team.rank(); output < it.bias_count(); output += team.size()) {
    const int at = it.bias + output;
    const C changed =
        rule(data.weights[at], dy[output] * static_cast<C>(it.bias_scale), data.first_moments, data.second_moments, at);
    data.weights[at] = changed;
    if (it.bias_copy >= 0) copies[it.bias_copy + output] = changed;
  }
}

/// Changes the parameters of all filters, and sets their gradients back to 0.
template <class Team, class C>
PRUMO_STEP_FUNCTION void change_filters(const Team& team, const step_data<C>& data, const step_scratch<C>& scratch,
                                        const step_rule<C>& rule) {
  C* const copies = scratch.copies;
  for (int which = 0; which < scratch.table->layers; ++which) {
    const step_layer& it = scratch.table->layer[which];
    if (!it.has_filter()) continue;
    C* const gradients = scratch.gradients + it.gradient;
    const int weights = it.weight_count();
    for (int i = team.rank(); i < weights + it.bias_count(); i += team.size()) {
      const bool is_bias = i >= weights;
      const int at = is_bias ? it.bias + i - weights : it.weights + i;
      C* const copy = copies + (is_bias                             ? it.bias_copy + i - weights
                                : it.kind == step_kind::convolution ? forward_place(it, i)
                                                                    : it.forward_copy + i);
      const C gradient = gradients[i] * static_cast<C>(is_bias ? it.bias_scale : it.weight_scale);
      gradients[i] = 0;
      const C changed = rule(*copy, gradient, data.first_moments, data.second_moments, at);
      *copy = changed;
      data.weights[at] = changed;
      if (!is_bias && it.backward_copy >= 0) copies[backward_place(it, i)] = changed;
    }
  }
}

}  // namespace prumo::nets
