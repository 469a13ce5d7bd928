// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a team that takes a step alone, with one image, changes the weights at once. Their copies stay in its scratch
/// memory.

#include "dense_layers.hpp"
#include "fused/plan/step_scratch.hpp"

namespace prumo::nets {

/// Weights that a thread loads before it changes the first of them.
inline constexpr int weights_at_once = 10;

/// dx of a dense layer for one image, times the slope below, and new weights: a thread for each input, and for each
/// bias.
template <class Team, class C, class Rule>
PRUMO_STEP_FUNCTION void change_dense(const Team& team, const step_layer& from_table, C* image, const C* from,
                                      const step_data<C>& data, const Rule& rule, C* copies) {
  const step_layer it = from_table;
  const int inputs = it.in_size(), outputs = it.out_channels;
  const C* const dy = image + it.dy.begin;
  const C weight_scale = static_cast<C>(it.weight_scale);
  C* const to = data.weights + it.weights;
  C* const copy = it.forward_copy >= 0 ? copies + it.forward_copy : nullptr;
  for (int input = team.rank(); input < inputs; input += team.size()) {
    C* const x = image + it.x.begin + input;
    const C value = *x;
    const C scaled = value * weight_scale;
    C sum = 0;
    PRUMO_KEEP_LOOP
    for (int first = 0; first < outputs; first += weights_at_once) {
      C weights[weights_at_once], slopes[weights_at_once];
      PRUMO_UNROLL
      for (int k = 0; k < weights_at_once; ++k) {
        const int output = first + k < outputs ? first + k : first;
        weights[k] = from[output * inputs + input];
        slopes[k] = dy[output];
      }
      PRUMO_UNROLL
      for (int k = 0; k < weights_at_once; ++k) {
        if (first + k < outputs) {
          const int which = (first + k) * inputs + input;
          sum = prumo::fma(weights[k], slopes[k], sum);
          weights[k] = rule(weights[k], slopes[k] * scaled, it.weights + which);
          to[which] = weights[k];
        }
      }
      if (copy == nullptr) continue;
      PRUMO_UNROLL
      for (int k = 0; k < weights_at_once; ++k) {
        if (first + k < outputs) copy[(first + k) * inputs + input] = weights[k];
      }
    }
    if (!it.is_first) image[it.dx.begin + input] = sum * slope_of(it.below, value);
  }
  // The last threads have no input, if there are any.
  for (int output = team.size() - 1 - team.rank(); output < it.bias_count(); output += team.size()) {
    const int at = it.bias + output;
    const C changed = rule(data.weights[at], dy[output] * static_cast<C>(it.bias_scale), at);
    data.weights[at] = changed;
    if (it.bias_copy >= 0) copies[it.bias_copy + output] = changed;
  }
}

template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void change_dense(const Team& team, const step_layer& it, C* image, const C* from,
                                      const step_data<C>& data, const step_rule<C>& rule, C* copies) {
  if (rule.which == optimizer::sgd) {
    const auto descend = [rate = rule.rate](C weight, C gradient, int) { return prumo::fma(-rate, gradient, weight); };
    change_dense<Team, C>(team, it, image, from, data, descend, copies);
  } else {
    const auto change = [&](C weight, C gradient, int place) {
      return rule(weight, gradient, data.first_moments, data.second_moments, place);
    };
    change_dense<Team, C>(team, it, image, from, data, change, copies);
  }
}

/// Changes the parameters of all filters, and sets their gradients back to 0.
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void change_filters(const Team& team, const step_data<C>& data, const step_scratch<C>& scratch,
                                        const step_rule<C>& rule) {
  const int count = scratch.table().gradients;
  C *const gradients = scratch.gradients(), *const copies = scratch.copies();
  for (int i = team.rank(); i < count; i += team.size()) {
    const filter_parameter to = data.filter_parameters[i];
    const step_layer& it = scratch.table().layer[to.layer];
    const C gradient = gradients[i] * static_cast<C>(to.is_bias ? it.bias_scale : it.weight_scale);
    const C changed = rule(copies[to.copy], gradient, data.first_moments, data.second_moments, to.parameter);
    gradients[i] = 0;
    copies[to.copy] = changed;
    if (to.turned >= 0) copies[to.turned] = changed;
    data.weights[to.parameter] = changed;
  }
}

}  // namespace prumo::nets
