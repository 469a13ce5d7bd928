// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Layers of nets in loops as one writes them: images and channels are shared out among threads, and the compiler
/// vectorises along the columns, or along the features of a dense layer's input. A file that includes this is compiled
/// with the flags of loops.

#include <prumo/nets/shapes.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo::peers::layers {

template <class T>
T activated(nets::activation which, T x) {
  switch (which) {
    case nets::activation::none: return x;
    case nets::activation::relu: return x > T(0) ? x : T(0);
    case nets::activation::sigmoid: return T(1) / (T(1) + std::exp(-x));
    case nets::activation::tanh: return std::tanh(x);
  }
  return x;
}

/// What a layer reads and writes.
template <class T>
struct layer_arrays {
  const T* x;
  T* y;
  std::int64_t images;
  nets::image_shape input, output;
  const T* weight;  ///< null where the layer has none; the same for the bias
  const T* bias;

  const T* plane_of_x(std::int64_t n, std::int64_t c) const {
    return x + (n * input.channels + c) * input.height * input.width;
  }
  T* plane_of_y(std::int64_t n, std::int64_t m) const {
    return y + (n * output.channels + m) * output.height * output.width;
  }
  T bias_of(std::int64_t m) const { return bias == nullptr ? T(0) : bias[m]; }
};

/// Places [first, last) of a window's element that lie inside of the image, along one side.
struct inside {
  std::int64_t first, last;
};
inline inside places_inside(std::int64_t element, std::int64_t stride, std::int64_t padding, std::int64_t extent,
                            std::int64_t places) {
  const std::int64_t before = padding - element;  // place * stride >= before, and < extent + before
  const std::int64_t first = before <= 0 ? 0 : (before + stride - 1) / stride;
  const std::int64_t last = extent + before <= 0 ? 0 : (extent + before - 1) / stride + 1;
  return {std::min(first, places), std::min(last, places)};
}

/// y += w * x for the places of one element of a filter.
template <class T>
void add_tap(const layer_arrays<T>& it, const nets::extent2& stride, const nets::extent2& padding, std::int64_t p,
             std::int64_t q, T weight, const T* x, T* y) {
  const inside rows = places_inside(p, stride.height, padding.height, it.input.height, it.output.height);
  const inside columns = places_inside(q, stride.width, padding.width, it.input.width, it.output.width);
  for (std::int64_t i = rows.first; i < rows.last; ++i) {
    const T* const from = x + (i * stride.height + p - padding.height) * it.input.width + q - padding.width;
    T* const to = y + i * it.output.width;
    if (stride.width == 1) {
      for (std::int64_t j = columns.first; j < columns.last; ++j) to[j] += weight * from[j];
    } else {
      for (std::int64_t j = columns.first; j < columns.last; ++j) to[j] += weight * from[j * stride.width];
    }
  }
}

/// One output plane of a convolution: of all input channels, or of its own one for a shared filter.
template <class T, class Layer>
void convolve_plane(const layer_arrays<T>& it, const Layer& layer, std::int64_t n, std::int64_t m, bool shared) {
  T* const y = it.plane_of_y(n, m);
  const std::int64_t size = it.output.height * it.output.width;
  const std::int64_t channels = shared ? 1 : it.input.channels;
  const T* weight = it.weight + (shared ? 0 : m * channels * layer.filter.height * layer.filter.width);
  std::fill_n(y, size, it.bias_of(shared ? 0 : m));
  for (std::int64_t c = 0; c < channels; ++c) {
    const T* const x = it.plane_of_x(n, shared ? m : c);
    for (std::int64_t p = 0; p < layer.filter.height; ++p) {
      for (std::int64_t q = 0; q < layer.filter.width; ++q) {
        add_tap(it, layer.stride, layer.padding, p, q, *weight++, x, y);
      }
    }
  }
  for (std::int64_t i = 0; i < size; ++i) y[i] = activated(layer.activate, y[i]);
}

template <class T>
void run(const nets::convolution& layer, const layer_arrays<T>& it) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < it.images; ++n) {
    for (std::int64_t m = 0; m < it.output.channels; ++m) convolve_plane(it, layer, n, m, false);
  }
}

template <class T>
void run(const nets::shared_convolution& layer, const layer_arrays<T>& it) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < it.images; ++n) {
    for (std::int64_t m = 0; m < it.output.channels; ++m) convolve_plane(it, layer, n, m, true);
  }
}

template <class T>
T pooled(const nets::pooling& layer, const layer_arrays<T>& it, const T* x, std::int64_t i, std::int64_t j) {
  const std::int64_t top = i * layer.stride.height - layer.padding.height;
  const std::int64_t left = j * layer.stride.width - layer.padding.width;
  T largest = -std::numeric_limits<T>::infinity(), sum = 0;
  std::int64_t elements = 0;
  for (std::int64_t r = std::max<std::int64_t>(0, top); r < std::min(it.input.height, top + layer.window.height); ++r) {
    for (std::int64_t c = std::max<std::int64_t>(0, left); c < std::min(it.input.width, left + layer.window.width);
         ++c) {
      const T value = x[r * it.input.width + c];
      largest = value > largest ? value : largest;
      sum += value;
      ++elements;
    }
  }
  return layer.kind == nets::pooling_kind::maximum ? largest : sum / static_cast<T>(elements);
}

template <class T>
void run(const nets::pooling& layer, const layer_arrays<T>& it) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < it.images; ++n) {
    for (std::int64_t m = 0; m < it.output.channels; ++m) {
      for (std::int64_t i = 0; i < it.output.height; ++i) {
        for (std::int64_t j = 0; j < it.output.width; ++j) {
          it.plane_of_y(n, m)[i * it.output.width + j] = pooled(layer, it, it.plane_of_x(n, m), i, j);
        }
      }
    }
  }
}

template <class T>
void run(const nets::dense& layer, const layer_arrays<T>& it) {
  const std::int64_t inputs = it.input.size();
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < it.images; ++n) {
    for (std::int64_t m = 0; m < layer.features; ++m) {
      const T* const x = it.x + n * inputs;
      const T* const weight = it.weight + m * inputs;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t k = 0; k < inputs; ++k) sum += weight[k] * x[k];
      it.y[n * layer.features + m] = activated(layer.activate, sum + it.bias_of(m));
    }
  }
}

template <class T>
void run(const nets::softmax&, const layer_arrays<T>& it) {
  const std::int64_t classes = it.input.size();
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < it.images; ++n) {
    const T* const x = it.x + n * classes;
    T* const y = it.y + n * classes;
    const T largest = *std::max_element(x, x + classes);
    T sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum += y[k] = std::exp(x[k] - largest);
    for (std::int64_t k = 0; k < classes; ++k) y[k] /= sum;
  }
}

}  // namespace prumo::peers::layers
