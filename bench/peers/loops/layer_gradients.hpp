// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The same layers backward. Each thread has gradients of its own, and sums go over the pixels of an image and then
/// over the images, so the bits do not depend on the number of threads.

#include "layer_loops.hpp"

#include <type_traits>

namespace prumo::peers::layers {

/// What a layer gets from the one behind it, and what it makes of that.
template <class T>
struct gradient_arrays {
  layer_arrays<T> forward;
  const T* dy;  ///< of the sums, before the activation
  T* dx;        ///< null for the first layer
  T* weight;    ///< null where the layer has none; the same for the bias
  T* bias;

  const T* plane_of_dy(std::int64_t n, std::int64_t m) const {
    return dy + (n * forward.output.channels + m) * forward.output.height * forward.output.width;
  }
  T* plane_of_dx(std::int64_t n, std::int64_t c) const {
    return dx + (n * forward.input.channels + c) * forward.input.height * forward.input.width;
  }
};

/// dy becomes the gradient of the sums from that of the results y.
template <class T>
void pass_activation(nets::activation which, std::int64_t count, const T* y, T* dy) {
  if (which == nets::activation::none) return;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    switch (which) {
      case nets::activation::none: break;
      case nets::activation::relu: dy[i] = y[i] > T(0) ? dy[i] : T(0); break;
      case nets::activation::sigmoid: dy[i] *= y[i] * (T(1) - y[i]); break;
      case nets::activation::tanh: dy[i] *= T(1) - y[i] * y[i]; break;
    }
  }
}

/// The sum of dy * x for the places of one element of a filter.
template <class T, class Layer>
T product_of_tap(const layer_arrays<T>& it, const Layer& layer, std::int64_t p, std::int64_t q, const T* x,
                 const T* dy) {
  const inside rows = places_inside(p, layer.stride.height, layer.padding.height, it.input.height, it.output.height);
  const inside columns = places_inside(q, layer.stride.width, layer.padding.width, it.input.width, it.output.width);
  const std::int64_t step = layer.stride.width;
  T sum = 0;
  for (std::int64_t i = rows.first; i < rows.last; ++i) {
    const T* const from =
        x + (i * layer.stride.height + p - layer.padding.height) * it.input.width + q - layer.padding.width;
    const T* const by = dy + i * it.output.width;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = columns.first; j < columns.last; ++j) sum += by[j] * from[j * step];
  }
  return sum;
}

/// dx += weight * dy for the places of one element of a filter.
template <class T, class Layer>
void return_tap(const layer_arrays<T>& it, const Layer& layer, std::int64_t p, std::int64_t q, T weight, const T* dy,
                T* dx) {
  const inside rows = places_inside(p, layer.stride.height, layer.padding.height, it.input.height, it.output.height);
  const inside columns = places_inside(q, layer.stride.width, layer.padding.width, it.input.width, it.output.width);
  const std::int64_t step = layer.stride.width;
  for (std::int64_t i = rows.first; i < rows.last; ++i) {
    T* const to = dx + (i * layer.stride.height + p - layer.padding.height) * it.input.width + q - layer.padding.width;
    const T* const by = dy + i * it.output.width;
    for (std::int64_t j = columns.first; j < columns.last; ++j) to[j * step] += weight * by[j];
  }
}

template <class T>
T sum_of_plane(const layer_arrays<T>& it, const T* plane) {
  T sum = 0;
  for (std::int64_t i = 0; i < it.output.height * it.output.width; ++i) sum += plane[i];
  return sum;
}

template <class T>
void follow(const nets::convolution& layer, const gradient_arrays<T>& it) {
  const layer_arrays<T>& of = it.forward;
  const std::int64_t rows = layer.filter.height, columns = layer.filter.width, channels = of.input.channels;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t m = 0; m < of.output.channels; ++m) {
    for (std::int64_t c = 0; c < channels; ++c) {
      T* const weight = it.weight + (m * channels + c) * rows * columns;
      std::fill_n(weight, rows * columns, T(0));
      for (std::int64_t n = 0; n < of.images; ++n) {
        for (std::int64_t tap = 0; tap < rows * columns; ++tap) {
          weight[tap] +=
              product_of_tap(of, layer, tap / columns, tap % columns, of.plane_of_x(n, c), it.plane_of_dy(n, m));
        }
      }
    }
  }
  if (it.bias != nullptr) {
#pragma omp parallel for schedule(static)
    for (std::int64_t m = 0; m < of.output.channels; ++m) {
      it.bias[m] = 0;
      for (std::int64_t n = 0; n < of.images; ++n) it.bias[m] += sum_of_plane(of, it.plane_of_dy(n, m));
    }
  }
  if (it.dx == nullptr) return;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < of.images; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      T* const dx = it.plane_of_dx(n, c);
      std::fill_n(dx, of.input.height * of.input.width, T(0));
      for (std::int64_t m = 0; m < of.output.channels; ++m) {
        const T* const weight = of.weight + (m * channels + c) * rows * columns;
        for (std::int64_t tap = 0; tap < rows * columns; ++tap) {
          return_tap(of, layer, tap / columns, tap % columns, weight[tap], it.plane_of_dy(n, m), dx);
        }
      }
    }
  }
}

template <class T>
void follow(const nets::shared_convolution& layer, const gradient_arrays<T>& it) {
  const layer_arrays<T>& of = it.forward;
  const std::int64_t columns = layer.filter.width, taps = layer.filter.height * columns;
#pragma omp parallel for schedule(static)
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    it.weight[tap] = 0;
    for (std::int64_t n = 0; n < of.images; ++n) {
      T of_image = 0;
      for (std::int64_t c = 0; c < of.input.channels; ++c) {
        of_image += product_of_tap(of, layer, tap / columns, tap % columns, of.plane_of_x(n, c), it.plane_of_dy(n, c));
      }
      it.weight[tap] += of_image;
    }
  }
  if (it.bias != nullptr) {
    it.bias[0] = 0;
    for (std::int64_t n = 0; n < of.images; ++n) {
      T of_image = 0;
      for (std::int64_t c = 0; c < of.output.channels; ++c) of_image += sum_of_plane(of, it.plane_of_dy(n, c));
      it.bias[0] += of_image;
    }
  }
  if (it.dx == nullptr) return;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < of.images; ++n) {
    for (std::int64_t c = 0; c < of.input.channels; ++c) {
      T* const dx = it.plane_of_dx(n, c);
      std::fill_n(dx, of.input.height * of.input.width, T(0));
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        return_tap(of, layer, tap / columns, tap % columns, of.weight[tap], it.plane_of_dy(n, c), dx);
      }
    }
  }
}

/// dx of pooling, for one plane. The largest pixel of a window gets the gradient; of equal ones, the first.
template <class T>
void return_pooled(const nets::pooling& layer, const layer_arrays<T>& it, const T* x, const T* dy, T* dx) {
  std::fill_n(dx, it.input.height * it.input.width, T(0));
  for (std::int64_t i = 0; i < it.output.height; ++i) {
    for (std::int64_t j = 0; j < it.output.width; ++j) {
      const std::int64_t row = i * layer.stride.height - layer.padding.height;
      const std::int64_t column = j * layer.stride.width - layer.padding.width;
      const std::int64_t top = std::max<std::int64_t>(0, row), left = std::max<std::int64_t>(0, column);
      const std::int64_t bottom = std::min(it.input.height, row + layer.window.height);
      const std::int64_t right = std::min(it.input.width, column + layer.window.width);
      const T gradient = *dy++;
      if (layer.kind == nets::pooling_kind::maximum) {
        std::int64_t largest = top * it.input.width + left;
        for (std::int64_t r = top; r < bottom; ++r) {
          for (std::int64_t c = left; c < right; ++c) {
            largest = x[r * it.input.width + c] > x[largest] ? r * it.input.width + c : largest;
          }
        }
        dx[largest] += gradient;
      } else {
        const T share = gradient / static_cast<T>((bottom - top) * (right - left));
        for (std::int64_t r = top; r < bottom; ++r) {
          for (std::int64_t c = left; c < right; ++c) dx[r * it.input.width + c] += share;
        }
      }
    }
  }
}

template <class T>
void follow(const nets::pooling& layer, const gradient_arrays<T>& it) {
  if (it.dx == nullptr) return;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < it.forward.images; ++n) {
    for (std::int64_t c = 0; c < it.forward.input.channels; ++c) {
      return_pooled(layer, it.forward, it.forward.plane_of_x(n, c), it.plane_of_dy(n, c), it.plane_of_dx(n, c));
    }
  }
}

template <class T>
void follow(const nets::dense& layer, const gradient_arrays<T>& it) {
  const layer_arrays<T>& of = it.forward;
  const std::int64_t inputs = of.input.size(), features = layer.features;
#pragma omp parallel for schedule(static)
  for (std::int64_t m = 0; m < features; ++m) {
    T* const weight = it.weight + m * inputs;
    std::fill_n(weight, inputs, T(0));
    T of_bias = 0;
    for (std::int64_t n = 0; n < of.images; ++n) {
      const T* const x = of.x + n * inputs;
      const T dy = it.dy[n * features + m];
      for (std::int64_t k = 0; k < inputs; ++k) weight[k] += dy * x[k];
      of_bias += dy;
    }
    if (it.bias != nullptr) it.bias[m] = of_bias;
  }
  if (it.dx == nullptr) return;
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < of.images; ++n) {
    T* const dx = it.dx + n * inputs;
    std::fill_n(dx, inputs, T(0));
    for (std::int64_t m = 0; m < features; ++m) {
      const T* const weight = of.weight + m * inputs;
      const T dy = it.dy[n * features + m];
      for (std::int64_t k = 0; k < inputs; ++k) dx[k] += dy * weight[k];
    }
  }
}

template <class T>
void follow(const nets::softmax&, const gradient_arrays<T>& it) {
  if (it.dx == nullptr) return;
  const std::int64_t classes = it.forward.input.size();
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < it.forward.images; ++n) {
    const T *const y = it.forward.y + n * classes, *const dy = it.dy + n * classes;
    T mean = 0;
    for (std::int64_t k = 0; k < classes; ++k) mean += y[k] * dy[k];
    for (std::int64_t k = 0; k < classes; ++k) it.dx[n * classes + k] = y[k] * (dy[k] - mean);
  }
}

/// A layer's activation; none for layers that have no such field.
template <class Layer>
nets::activation activation_of(const Layer& layer) {
  if constexpr (requires { layer.activate; }) {
    return layer.activate;
  } else {
    return nets::activation::none;
  }
}

}  // namespace prumo::peers::layers
