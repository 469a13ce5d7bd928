// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What host_layers.hpp leaves: shared filters, pooling, pixels and new weights, as loops over rows without divisions.

#include "fused/step_loop.hpp"
#include "host_layers.hpp"

#include <algorithm>
#include <type_traits>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// visit(image, channel) for all planes.
template <class C, class Visit>
[[gnu::always_inline]] inline void for_each_plane(const step_images<C>& images, int channels, const Visit& visit) {
  for (int image = 0; image < images.count; ++image) {
    for (int channel = 0; channel < channels; ++channel) visit(images.image(image), channel);
  }
}

/// Rows of windows that lie side by side, as a shared filter has them in the known nets: no pixel lies in two windows,
/// and between windows there is none. A row of pixels then meets one row of taps, again and again.
struct adjacent_windows {
  static constexpr int most_columns = 256, most_tap_rows = 8;
  /// A number for each pixel of a row, for each row of taps.
  template <class C>
  using rows_of = C[most_tap_rows][most_columns];

  static bool are_those_of(const step_layer& it) {
    return it.filter_height == it.row_stride && it.filter_width == it.column_stride && it.row_padding == 0 &&
           it.column_padding == 0 && it.in_width + 64 <= most_columns && it.filter_height <= most_tap_rows;
  }
  /// Pixels of a row that lie in windows.
  static int columns(const step_layer& it) { return it.out_width * it.filter_width; }

  /// Each number `times` times. Behind them there are zeros for whole vectors.
  template <class C, class Times>
  static void repeat_each(const C* from, int count, Times times, C* to) {
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < times; ++k) *to++ = from[i];
    }
    std::fill_n(to, simd<C>::lanes, C(0));
  }
  /// visit(row, its numbers of dy, each repeated for the columns of its window) for all rows of windows of a plane.
  /// Several rows are repeated before the first is visited: a vector that is loaded right behind the stores of its
  /// single numbers waits for them.
  template <class C, class Visit>
  [[gnu::always_inline]] static void for_each_row_of_slopes(const step_layer& it, const C* dy, const Visit& visit) {
    rows_of<C> slopes;
    for (int first = 0; first < it.out_height; first += most_tap_rows) {
      const int rows = std::min(most_tap_rows, it.out_height - first);
      for (int row = 0; row < rows; ++row) {
        const C* const from = dy + (first + row) * it.dy.pitch;
        // With a number of times that compilers know, they store all of them at once.
        if (it.filter_width == 4) {
          repeat_each(from, it.out_width, std::integral_constant<int, 4>(), slopes[row]);
        } else {
          repeat_each(from, it.out_width, it.filter_width, slopes[row]);
        }
      }
      for (int row = 0; row < rows; ++row) visit(first + row, slopes[row]);
    }
  }
  /// The taps that each pixel of a row meets.
  template <class C>
  static void repeat_taps(const step_layer& it, const C* taps, rows_of<C>& weights) {
    for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
      C* to = weights[tap_row];
      for (int k = 0; k < it.out_width; ++k) to = std::copy_n(taps + tap_row * it.filter_width, it.filter_width, to);
      std::fill_n(to, simd<C>::lanes, C(0));
    }
  }
};

template <class C>
void convolve_shared(const host_step_team&, const step_layer& it, const step_images<C>& images, const C* copies) {
  using vector = simd<C>;
  if (!adjacent_windows::are_those_of(it)) {
    convolve_shared(single_step_team{}, it, images, copies);
    return;
  }
  const C* const taps = copies + it.forward_copy;
  const C bias = it.bias_copy >= 0 ? copies[it.bias_copy] : C(0);
  const int columns = adjacent_windows::columns(it);
  adjacent_windows::rows_of<C> weights;
  adjacent_windows::repeat_taps(it, taps, weights);
  for_each_plane(images, it.out_channels, [&](C* memory, int channel) {
    for (int row = 0; row < it.out_height; ++row) {
      const C* const x = memory + it.x.begin + channel * it.x.plane + row * it.filter_height * it.x.pitch;
      C products[adjacent_windows::most_columns];
      for (int i = 0; i < columns; i += vector::lanes) {
        vector sum(C(0));
        for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
          sum = prumo::fma(vector::load(weights[tap_row] + i), vector::load(x + tap_row * it.x.pitch + i), sum);
        }
        sum.store(products + i);
      }
      C* const y = memory + it.y.begin + channel * it.y.plane + row * it.y.pitch;
      for (int column = 0; column < it.out_width; ++column) {
        C sum = bias;
        for (int tap = 0; tap < it.filter_width; ++tap) sum += products[column * it.filter_width + tap];
        y[column] = sum;
      }
    }
  });
  activate_planes(it, images);
}

template <class C>
void convolve_shared_backward(const host_step_team&, const step_layer& it, const step_images<C>& images,
                              const C* copies) {
  using vector = simd<C>;
  if (!adjacent_windows::are_those_of(it)) {
    convolve_shared_backward(single_step_team{}, it, images, copies);
    return;
  }
  const int columns = adjacent_windows::columns(it), to_x = it.x.begin - it.dx.begin;
  const activation function = it.below;
  adjacent_windows::rows_of<C> weights;
  adjacent_windows::repeat_taps(it, copies + it.forward_copy, weights);
  for_each_plane(images, it.in_channels, [&](C* memory, int channel) {
    C* dx = memory + it.dx.begin + channel * it.dx.plane;
    const C* const dy = memory + it.dy.begin + channel * it.dy.plane;
    adjacent_windows::for_each_row_of_slopes(it, dy, [&](int, const C* slopes) {
      for (int tap_row = 0; tap_row < it.filter_height; ++tap_row, dx += it.dx.pitch) {
        for (int i = 0; i < columns; i += vector::lanes) {
          const vector below = slopes_of(function, vector::load(dx + to_x + i));
          store_lanes(vector::load(weights[tap_row] + i) * vector::load(slopes + i) * below, dx + i, columns - i);
        }
        std::fill(dx + columns, dx + it.in_width, C(0));
      }
    });
    for (int row = it.out_height * it.filter_height; row < it.in_height; ++row, dx += it.dx.pitch) {
      std::fill_n(dx, it.in_width, C(0));
    }
  });
}

template <class C>
void convolve_shared_backward_by_windows(const host_step_team& team, const step_layer& it, const step_images<C>& images,
                                         const C* copies) {
  convolve_shared_backward(team, it, images, copies);
}

template <class C>
void add_shared_gradients(const host_step_team&, const step_layer& it, const step_images<C>& images, C* gradients) {
  using vector = simd<C>;
  if (!adjacent_windows::are_those_of(it)) {
    add_shared_gradients(single_step_team{}, it, images, gradients);
    return;
  }
  const int columns = adjacent_windows::columns(it);
  adjacent_windows::rows_of<C> products;
  for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
    std::fill_n(products[tap_row], columns + vector::lanes, C(0));
  }
  C of_bias = 0;
  for_each_plane(images, it.out_channels, [&](C* memory, int channel) {
    const C* const dy = memory + it.dy.begin + channel * it.dy.plane;
    adjacent_windows::for_each_row_of_slopes(it, dy, [&](int row, const C* slopes) {
      const C* const x = memory + it.x.begin + channel * it.x.plane + row * it.filter_height * it.x.pitch;
      for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
        C* const to = products[tap_row];
        for (int i = 0; i < columns; i += vector::lanes) {
          const vector values = vector::load(x + tap_row * it.x.pitch + i);
          prumo::fma(vector::load(slopes + i), values, vector::load(to + i)).store(to + i);
        }
      }
      for (int column = 0; column < it.out_width; ++column) of_bias += dy[row * it.dy.pitch + column];
    });
  });
  for (int tap_row = 0; tap_row < it.filter_height; ++tap_row) {
    for (int i = 0; i < columns; ++i) {
      gradients[tap_row * it.filter_width + i % it.filter_width] += products[tap_row][i];
    }
  }
  if (it.bias >= 0) gradients[it.filter_size()] += of_bias;
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
    data.weights[at] =
        rule(data.weights[at], dy[output] * static_cast<C>(it.bias_scale), data.first_moments, data.second_moments, at);
  }
}

/// The sums of a tile of a dense layer over all images of a step.
template <class C>
void sum_dense_factors(const host_step_team&, const step_layer& it, const C* factors, int elements, std::int64_t images,
                       const update_tile& tile, int, int, C* sums) {
  using vector = simd<C>;
  const int inputs = it.in_size();
  const int count = std::min(tile_columns, inputs - tile.first_column);
  const int outputs = std::min(tile_outputs, it.out_channels - tile.first_output);
  for (int begin = 0; begin < count; begin += 2 * vector::lanes) {
    vector sum[tile_outputs][2];
    for (auto& row : sum) row[0] = row[1] = vector(C(0));
    const int left = count - begin;
    for (std::int64_t image = 0; image < images; ++image) {
      const C* const x = factors + image * elements + it.x_factor + tile.first_column + begin;
      const C* const dy = factors + image * elements + it.dy_factor + tile.first_output;
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
  if (tile.first_column + tile_columns <= inputs || it.bias < 0) return;
  for (int k = 0; k < outputs; ++k) {
    C sum = 0;
    for (std::int64_t image = 0; image < images; ++image) {
      sum += factors[image * elements + it.dy_factor + tile.first_output + k];
    }
    sums[k * tile_columns + inputs - tile.first_column] = sum;
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
