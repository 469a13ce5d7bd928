// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What host_layers.hpp leaves: shared filters, pooling, pixels and new weights, as loops over rows without divisions.

#include "host_layers.hpp"
#include "step_loop.hpp"

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// visit(image, channel) for all planes.
template <class C, class Visit>
[[gnu::always_inline]] inline void for_each_plane(const step_images<C>& images, int channels, const Visit& visit) {
  for (int image = 0; image < images.count; ++image) {
    for (int channel = 0; channel < channels; ++channel) visit(images.image(image), channel);
  }
}

template <class C>
void convolve_shared(const host_step_team&, const step_layer& it, const step_images<C>& images, const C* copies) {
  const C* const taps = copies + it.forward_copy;
  const C bias = it.bias_copy >= 0 ? copies[it.bias_copy] : C(0);
  for_each_plane(images, it.out_channels, [&](C* memory, int channel) {
    for (int row = 0; row < it.out_height; ++row) {
      const C* const x = memory + it.x.begin + channel * it.x.plane +
                         (row * it.row_stride - it.row_padding) * it.x.pitch - it.column_padding;
      C* const y = memory + it.y.begin + channel * it.y.plane + row * it.y.pitch;
      for (int column = 0; column < it.out_width; ++column) y[column] = bias;
      for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
        for (int tap_column = 0; tap_column < it.filter_width; ++tap_column) {
          const C tap = taps[tap_row * it.filter_width + tap_column];
          const C* const from = x + tap_row * it.x.pitch + tap_column;
          for (int column = 0; column < it.out_width; ++column) {
            y[column] = prumo::fma(tap, from[column * it.column_stride], y[column]);
          }
        }
      }
      for (int begin = 0; begin < it.out_width; begin += simd<C>::lanes) {
        const int count = it.out_width - begin;
        store_lanes(activated_lanes(it.activate, load_lanes(y + begin, count)), y + begin, count);
      }
    }
  });
}

/// Where no pixel lies in two windows, which is what a shared filter is made for, each window writes its pixels.
template <class C>
void convolve_shared_backward(const host_step_team&, const step_layer& it, const step_images<C>& images,
                              const C* copies) {
  if (it.filter_height > it.row_stride || it.filter_width > it.column_stride) {
    convolve_shared_backward(single_step_team{}, it, images, copies);
    return;
  }
  using vector = simd<C>;
  const C* const taps = copies + it.forward_copy;
  const int to_x = it.x.begin - it.dx.begin;
  for_each_plane(images, it.in_channels, [&](C* memory, int channel) {
    for (int row = 0; row < it.in_height; ++row) {
      C* const dx = memory + it.dx.begin + channel * it.dx.plane + row * it.dx.pitch;
      const int window = (row + it.row_padding) / it.row_stride;
      const int tap_row = row + it.row_padding - window * it.row_stride;
      const bool inside = window < it.out_height && tap_row < it.filter_height;
      for (int begin = 0; begin < it.in_width; begin += vector::lanes) {
        const int count = it.in_width - begin;
        store_lanes(inside ? slopes_of(it.below, load_lanes(dx + to_x + begin, count)) : vector(C(0)), dx + begin, count);
      }
      if (!inside) continue;
      const C* const dy = memory + it.dy.begin + channel * it.dy.plane + window * it.dy.pitch;
      const C* const tap = taps + tap_row * it.filter_width;
      for (int column = 0; column < it.out_width; ++column) {
        const int first = column * it.column_stride - it.column_padding;
        for (int i = 0; i < it.column_stride; ++i) {
          if (first + i < 0 || first + i >= it.in_width) continue;
          dx[first + i] *= i < it.filter_width ? dy[column] * tap[i] : C(0);
        }
      }
      // Pixels behind the last window.
      for (int i = std::max(0, it.out_width * it.column_stride - it.column_padding); i < it.in_width; ++i) dx[i] = 0;
    }
  });
}

template <class C>
void add_shared_gradients(const host_step_team&, const step_layer& it, const step_images<C>& images, C* gradients) {
  for_each_plane(images, it.out_channels, [&](C* memory, int channel) {
    for (int row = 0; row < it.out_height; ++row) {
      const C* const x = memory + it.x.begin + channel * it.x.plane +
                         (row * it.row_stride - it.row_padding) * it.x.pitch - it.column_padding;
      const C* const dy = memory + it.dy.begin + channel * it.dy.plane + row * it.dy.pitch;
      for (int column = 0; column < it.out_width; ++column) {
        const C slope = dy[column];
        const C* const from = x + column * it.column_stride;
        for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
          C* const to = gradients + tap_row * it.filter_width;
          const C* const values = from + tap_row * it.x.pitch;
          for (int tap = 0; tap < it.filter_width; ++tap) to[tap] = prumo::fma(slope, values[tap], to[tap]);
        }
        if (it.bias >= 0) gradients[it.filter_size()] += slope;
      }
    }
  });
}

template <class C>
void pool(const host_step_team&, const step_layer& it, const step_images<C>& images) {
  for_each_plane(images, it.out_channels, [&](C* memory, int channel) {
    const C* const x = memory + it.x.begin + channel * it.x.plane;
    for (int row = 0; row < it.out_height; ++row) {
      const window_range rows(row, it.filter_height, it.row_stride, it.row_padding, it.in_height);
      C* const y = memory + it.y.begin + channel * it.y.plane + row * it.y.pitch;
      for (int column = 0; column < it.out_width; ++column) {
        const window_range columns(column, it.filter_width, it.column_stride, it.column_padding, it.in_width);
        C result = x[rows.begin * it.x.pitch + columns.begin];
        if (it.kind == step_kind::average) result = 0;
        for (int i = rows.begin; i < rows.end; ++i) {
          for (int k = columns.begin; k < columns.end; ++k) {
            const C value = x[i * it.x.pitch + k];
            result = it.kind == step_kind::average ? result + value : prumo::maximum(result, value);
          }
        }
        if (it.kind == step_kind::average) {
          result /= static_cast<C>((rows.end - rows.begin) * (columns.end - columns.begin));
        }
        y[column] = result;
      }
    }
  });
}

template <class C>
void pool_backward_by_windows(const host_step_team&, const step_layer& it, const step_images<C>& images) {
  const int areas_down = (it.in_height + it.row_padding - 1) / it.row_stride + 1;
  const int areas_across = (it.in_width + it.column_padding - 1) / it.column_stride + 1;
  for_each_plane(images, it.in_channels, [&](C* memory, int channel) {
    for (int row = 0; row < areas_down; ++row) {
      for (int column = 0; column < areas_across; ++column) pool_backward_window(it, memory, channel, row, column);
    }
  });
}

/// Pixels of one image become numbers.
template <class C>
void put_image(const host_step_team&, const step_layer& it, C* image, const std::uint8_t* pixels) {
  for (int channel = 0; channel < it.in_channels; ++channel) {
    for (int row = 0; row < it.in_height; ++row) {
      C* const to = image + it.x.begin + channel * it.x.plane + row * it.x.pitch;
      PRUMO_INDEPENDENT_ITERATIONS
      for (int column = 0; column < it.in_width; ++column) {
        to[column] = static_cast<C>(static_cast<double>(pixels[column]) * (1.0 / 255));
      }
      pixels += it.in_width;
    }
  }
}

/// Copies a convolution's weights from the array of parameters.
template <class C>
void copy_filters(const host_step_team&, const step_layer& it, const C* weights, C* copies) {
  const int height = it.filter_height, width = it.filter_width, taps = height * width;
  for (int map = 0; map < it.out_channels; ++map) {
    for (int channel = 0; channel < it.in_channels; ++channel) {
      C* const forward = copies + it.forward_copy + channel * taps * it.padded_out + map;
      C* const backward = copies + it.backward_copy + map * taps * it.padded_in + channel;
      for (int row = 0; row < height; ++row) {
        for (int column = 0; column < width; ++column) {
          const C value = *weights++;
          forward[(column * height + row) * it.padded_out] = value;
          if (it.backward_copy >= 0) {
            backward[((width - 1 - column) * height + height - 1 - row) * it.padded_in] = value;
          }
        }
      }
    }
  }
}

/// New weights by gradients factor * x[i].
template <class C>
[[gnu::always_inline]] inline void change_row(const step_rule<C>& rule, C* weights, const C* x, C factor, C* first,
                                              C* second, int count) {
  if (rule.which == optimizer::sgd) {
    PRUMO_INDEPENDENT_ITERATIONS
    for (int i = 0; i < count; ++i) weights[i] = prumo::fma(-rule.rate, factor * x[i], weights[i]);
    return;
  }
  PRUMO_INDEPENDENT_ITERATIONS
  for (int i = 0; i < count; ++i) weights[i] = rule(weights[i], factor * x[i], first, second, i);
}

template <class C>
void change_dense(const host_step_team&, const step_layer& it, C* image, const C*, const step_data<C>& data,
                  const step_rule<C>& rule, C*) {
  const int inputs = it.in_size();
  const C* const dy = image + it.dy.begin;
  const bool has_moments = rule.which != optimizer::sgd;
  C* const weights = data.weights + it.weights;
  // The gradient of x takes the place of x, so the weights come after it, from a copy of x.
  C* const x = data.factors + it.x_factor;
  std::copy_n(image + it.x.begin, inputs, x);
  if (!it.is_first) multiply_transposed(it, image, weights);
  for (int output = 0; output < it.out_channels; ++output) {
    const std::int64_t at = it.weights + static_cast<std::int64_t>(output) * inputs;
    change_row(rule, data.weights + at, x, dy[output] * static_cast<C>(it.weight_scale),
               has_moments ? data.first_moments + at : nullptr,
               rule.which == optimizer::adam ? data.second_moments + at : nullptr, inputs);
  }
  for (int output = 0; output < it.bias_count(); ++output) {
    const int at = it.bias + output;
    data.weights[at] = rule(data.weights[at], dy[output] * static_cast<C>(it.bias_scale), data.first_moments,
                            data.second_moments, at);
  }
}

template <class C>
void change_filters(const host_step_team& team, const step_data<C>& data, const step_scratch<C>& scratch,
                    const step_rule<C>& rule) {
  for (int which = 0; which < scratch.table->layers; ++which) {
    const step_layer& it = scratch.table->layer[which];
    if (!it.has_filter()) continue;
    C* const gradients = scratch.gradients + it.gradient;
    const int weights = it.weight_count();
    for (int i = 0; i < weights + it.bias_count(); ++i) {
      const bool is_bias = i >= weights;
      const int at = is_bias ? it.bias + i - weights : it.weights + i;
      const C gradient = gradients[i] * static_cast<C>(is_bias ? it.bias_scale : it.weight_scale);
      gradients[i] = 0;
      data.weights[at] = rule(data.weights[at], gradient, data.first_moments, data.second_moments, at);
    }
  }
  step_body<host_step_team, C>(team, data, scratch).copy_parameters();
}

/// The partial sums of a tile of a dense layer, over all images of a step.
template <class C>
void sum_dense_factors(const host_step_team&, const step_layer& it, const C* factors, int elements,
                       std::int64_t images, int first_output, int first_input, C* sums) {
  using vector = simd<C>;
  const int inputs = it.in_size();
  const int count = std::min(tile_columns, inputs - first_input);
  const int outputs = std::min(tile_outputs, it.out_channels - first_output);
  for (int begin = 0; begin < count; begin += 2 * vector::lanes) {
    vector sum[tile_outputs][2];
    for (auto& row : sum) row[0] = row[1] = vector(C(0));
    const int left = count - begin;
    for (std::int64_t image = 0; image < images; ++image) {
      const C* const x = factors + image * elements + it.x_factor + first_input + begin;
      const C* const dy = factors + image * elements + it.dy_factor + first_output;
      const vector low = load_lanes(x, left), high = load_lanes(x + vector::lanes, left - vector::lanes);
      PRUMO_UNROLL
      for (int k = 0; k < tile_outputs; ++k) {
        const vector slope(dy[k < outputs ? k : 0]);
        sum[k][0] = prumo::fma(low, slope, sum[k][0]);
        sum[k][1] = prumo::fma(high, slope, sum[k][1]);
      }
    }
    for (int k = 0; k < tile_outputs; ++k) {
      store_lanes(sum[k][0], sums + k * tile_columns + begin, left);
      store_lanes(sum[k][1], sums + k * tile_columns + begin + vector::lanes, left - vector::lanes);
    }
  }
  if (first_input + tile_columns <= inputs || it.bias < 0) return;
  for (int k = 0; k < outputs; ++k) {
    C sum = 0;
    for (std::int64_t image = 0; image < images; ++image) {
      sum += factors[image * elements + it.dy_factor + first_output + k];
    }
    sums[k * tile_columns + inputs - first_input] = sum;
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
