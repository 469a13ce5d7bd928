// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Dense layers on a thread of a host with vectors.

#include "host_layers.hpp"
#include "host_update.hpp"

#include <algorithm>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// The sums of products of x with neighbouring rows of weights. The last vector of a row begins
/// within the one before it, and its lanes that were already added are set to zero.
template <int Rows, class C>
[[gnu::always_inline]] inline void multiply_weight_rows(const C* weights, const C* x, int inputs, C* to) {
  using vector = simd<C>;
  vector sum[Rows];
  PRUMO_UNROLL
  for (int k = 0; k < Rows; ++k) sum[k] = vector(C(0));
  int i = 0;
  for (; i + vector::lanes <= inputs; i += vector::lanes) {
    const vector values = vector::load(x + i);
    PRUMO_UNROLL
    for (int k = 0; k < Rows; ++k) {
      sum[k] = prumo::fma(vector::load(weights + static_cast<std::int64_t>(k) * inputs + i), values, sum[k]);
    }
  }
  if (const int left = inputs - i; left > 0) {
    const bool goes_back = inputs >= vector::lanes;
    if (goes_back) i = inputs - vector::lanes;
    const vector values = goes_back ? last_lanes(vector::load(x + i), left) : load_lanes(x, left);
    PRUMO_UNROLL
    for (int k = 0; k < Rows; ++k) {
      const C* const row = weights + static_cast<std::int64_t>(k) * inputs + i;
      sum[k] = prumo::fma(goes_back ? vector::load(row) : load_lanes(row, left), values, sum[k]);
    }
  }
  C sums[Rows + vector::lanes];
  store_sums(sum, sums);
  PRUMO_UNROLL
  for (int k = 0; k < Rows; ++k) to[k] = sums[k];
}

template <class C>
void multiply_dense(const host_step_team&, const step_layer& it, const step_images<C>& images, const C* weights,
                    const C* bias) {
  const int inputs = it.in_size(), outputs = it.out_channels;
  for (int image = 0; image < images.count; ++image) {
    const C* const x = images.image(image) + it.x.begin;
    C* const y = images.image(image) + it.y.begin;
    int output = 0;
    const auto row = [&] { return weights + static_cast<std::int64_t>(output) * inputs; };
    // Two rows at a time would wait for each other's sums, and most nets have ten classes.
    for (; output + 8 <= outputs && output + 10 != outputs; output += 8) {
      multiply_weight_rows<8>(row(), x, inputs, y + output);
    }
    if (output + 10 == outputs) {
      multiply_weight_rows<10>(row(), x, inputs, y + output);
      output += 10;
    }
    for (; output + 2 <= outputs; output += 2) multiply_weight_rows<2>(row(), x, inputs, y + output);
    if (output < outputs) multiply_weight_rows<1>(row(), x, inputs, y + output);
    if (bias != nullptr) {
      for (int i = 0; i < outputs; ++i) y[i] += bias[i];
    }
    activate_row(it.activate, y, outputs);
  }
}

/// dx of a dense layer, without the slopes below, for neighbouring inputs.
template <int Vectors, class C>
[[gnu::always_inline]] inline void multiply_columns(const step_layer& it, const C* dy, const C* weights, int input,
                                                    int count, simd<C> (&sum)[Vectors]) {
  using vector = simd<C>;
  PRUMO_UNROLL
  for (int v = 0; v < Vectors; ++v) sum[v] = vector(C(0));
  const C* row = weights + input;
  for (int output = 0; output < it.out_channels; ++output, row += it.in_size()) {
    const vector slope(dy[output]);
    PRUMO_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      const vector values = Vectors > 1 ? vector::load(row + v * vector::lanes) : load_lanes(row, count);
      sum[v] = prumo::fma(values, slope, sum[v]);
    }
  }
}

/// dx of a dense layer for one image, which may take the place of x.
template <class C>
void multiply_transposed(const step_layer& it, C* image, const C* weights) {
  using vector = simd<C>;
  constexpr int vectors = 4, block = vectors * vector::lanes;
  const int inputs = it.in_size();
  const C *const x = image + it.x.begin, *const dy = image + it.dy.begin;
  C* const dx = image + it.dx.begin;
  // The last vector goes back to the ones before it, so it comes before x changes and is stored behind them.
  const int left = inputs % block, last = std::max(0, inputs - vector::lanes);
  vector of_last[1] = {vector(C(0))};
  if (left % vector::lanes != 0) {
    multiply_columns(it, dy, weights, last, inputs, of_last);
    of_last[0] *= slopes_of(it.below, load_lanes(x + last, inputs));
  }
  int input = 0;
  const auto put = [&](const auto& sum) {
    for (const vector& each : sum) {
      (each * slopes_of(it.below, vector::load(x + input))).store(dx + input);
      input += vector::lanes;
    }
  };
  while (input + block <= inputs) {
    vector sum[vectors];
    multiply_columns(it, dy, weights, input, block, sum);
    put(sum);
  }
  while (input + vector::lanes <= inputs) {
    vector sum[1];
    multiply_columns(it, dy, weights, input, vector::lanes, sum);
    put(sum);
  }
  if (left % vector::lanes != 0) store_lanes(of_last[0], dx + last, inputs);
}

template <class C>
void dense_backward(const host_step_team&, const step_layer& it, const step_images<C>& images, const C* weights,
                    C* factors, int factor_elements) {
  for (int image = 0; image < images.count; ++image) {
    C* const memory = images.image(image);
    C* const to = factors + static_cast<std::int64_t>(image) * factor_elements;
    std::copy_n(memory + it.dy.begin, it.out_channels, to + it.dy_factor);
    std::copy_n(memory + it.x.begin, it.in_size(), to + it.x_factor);
    if (!it.is_first) multiply_transposed(it, memory, weights);
  }
}

template <class C>
void change_dense(const host_step_team&, const step_layer& it, C* image, const C*, const step_data<C>& data,
                  const step_rule<C>& rule, C*) {
  const int inputs = it.in_size();
  const C* const dy = image + it.dy.begin;
  C* const weights = data.weights + it.weights;
  // The gradient of x takes the place of x, so the weights come after it, from a copy of x.
  C* const x = data.factors + it.x_factor;
  std::copy_n(image + it.x.begin, inputs, x);
  if (!it.is_first) multiply_transposed(it, image, weights);
  for (int output = 0; output < it.out_channels; ++output) {
    change_parameters(data, rule, it.weights + std::int64_t{output} * inputs, x,
                      dy[output] * static_cast<C>(it.weight_scale), inputs);
  }
  if (it.bias >= 0) change_parameters(data, rule, it.bias, dy, static_cast<C>(it.bias_scale), it.bias_count());
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
