// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Steps of one image each, one behind the other, by one team. Copies of the weights stay in its scratch memory, and the
/// bytes of the next image are under way while the team computes.

#include "step_body.hpp"
#include "../training_step.hpp"
#include "step_update.hpp"

namespace prumo::nets {

/// Weights that a thread loads before it changes the first of them.
inline constexpr int weights_at_once = 8;

/// dx of a dense layer for one image, times the slope below, and new weights: a thread for each input, and for each bias.
template <class Team, class C>
KOKKOS_FORCEINLINE_FUNCTION void change_dense(const Team& team, const step_layer& it, C* image, const C* from,
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
    const C changed = rule(data.weights[at], dy[output] * static_cast<C>(it.bias_scale), data.first_moments,
                           data.second_moments, at);
    data.weights[at] = changed;
    if (it.bias_copy >= 0) copies[it.bias_copy + output] = changed;
  }
}

/// Changes the parameters of all filters, and sets their gradients back to 0.
template <class Team, class C>
KOKKOS_FORCEINLINE_FUNCTION void change_filters(const step_body<Team, C>& body, const step_rule<C>& rule) {
  const step_data<C>& data = body.data();
  C* const copies = body.scratch().copies;
  for (int which = 0; which < body.table().layers; ++which) {
    const step_layer& it = body.table().layer[which];
    if (!it.has_filter()) continue;
    C* const gradients = body.scratch().gradients + it.gradient;
    const int weights = it.weight_count();
    for (int i = body.team().rank(); i < weights + it.bias_count(); i += body.team().size()) {
      const bool is_bias = i >= weights;
      const int at = is_bias ? it.bias + i - weights : it.weights + i;
      C* const copy = copies + (is_bias                               ? it.bias_copy + i - weights
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

/// Bytes of the next image that a thread holds in registers; larger images are loaded when they are needed.
inline constexpr int held_pixels = 8;

template <class Team, class C>
KOKKOS_FORCEINLINE_FUNCTION void run_single_image_steps(const step_body<Team, C>& body) {
  const Team& team = body.team();
  const step_data<C>& data = body.data();
  body.begin();
  const step_table& table = body.table();
  const step_scratch<C>& scratch = body.scratch();
  body.copy_parameters();
  for (int i = team.rank(); i < table.gradients; i += team.size()) scratch.gradients[i] = 0;
  double optimizer_step = data.counters->optimizer_step;
  const double rate = data.counters->rate;
  body.gather(0, 1);
  if (team.rank() == 0) {
    const bool begins = data.counters->step == data.steps_per_epoch;
    scratch.sums[0] = begins ? 0 : data.counters->sums[0];
    scratch.sums[1] = begins ? 0 : data.counters->sums[1];
  }
  step_rule<C> rule(table.which_optimizer, rate, data.momentum, optimizer_step + 1);
  const bool holds = table.pixels <= held_pixels * team.size();
  std::int32_t next = data.steps > 1 ? data.order[1] : 0;
  team.barrier();
  PRUMO_STEP_MARK(-1);
  PRUMO_KEEP_LOOP
  for (std::int64_t step = 0; step < data.steps; ++step) {
    const bool has_next = step + 1 < data.steps;
    std::uint8_t held[held_pixels] = {};
    std::uint8_t label = 0;
    std::int32_t after_next = 0;
    const std::int64_t from = std::int64_t{next} * table.pixels;
    if (has_next) {
      label = data.labels[next];
      if (step + 2 < data.steps) after_next = data.order[step + 2];
      if (holds) {
        PRUMO_UNROLL
        for (int i = 0; i < held_pixels; ++i) {
          const int pixel = i * team.size() + team.rank();
          if (pixel < table.pixels) held[i] = data.pixels[from + pixel];
        }
      }
    }
    if (table.which_optimizer == optimizer::adam && step > 0) {
      rule = step_rule<C>(table.which_optimizer, rate, data.momentum, optimizer_step + 1);
    }
    optimizer_step += 1;
    PRUMO_STEP_MARK(40);
    body.run_forward(1);
    body.run_loss(1, 1);
    PRUMO_KEEP_LOOP
    for (int which = table.layers - 1; which >= 0; --which) {
      const step_layer& it = table.layer[which];
      if (it.kind != step_kind::dense) {
        body.run_filter_backward(it, {scratch.memory, table.image_elements, 1});
      } else if (it.forward_copy >= 0) {
        change_dense(team, it, scratch.memory, scratch.copies + it.forward_copy, data, rule, scratch.copies);
      } else {
        change_dense(team, it, scratch.memory, data.weights + it.weights, data, rule, scratch.copies);
      }
      team.barrier();
      PRUMO_STEP_MARK(16 + which);
    }
    change_filters(body, rule);
    if (has_next) {
      if (holds) {
        PRUMO_UNROLL
        for (int i = 0; i < held_pixels; ++i) {
          const int pixel = i * team.size() + team.rank();
          if (pixel < table.pixels) put_pixel(table.layer[0], scratch.memory, pixel, held[i]);
        }
      } else {
        put_image(team, table.layer[0], scratch.memory, data.pixels + from);
      }
      if (team.rank() == 0) scratch.labels[0] = label;
    }
    next = after_next;
    team.barrier();
    PRUMO_STEP_MARK(43);
  }
  PRUMO_STEP_MARK(-2);
  if (team.rank() == 0) {
    training_counters& counters = *data.counters;
    begin_step(counters, data.steps_per_epoch);
    counters.optimizer_step += static_cast<double>(data.steps - 1);
    counters.step += data.steps;
    counters.sums[0] = scratch.sums[0];
    counters.sums[1] = scratch.sums[1];
  }
}

}  // namespace prumo::nets
