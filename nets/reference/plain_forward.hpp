// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The forward pass of a net and its losses by the plainest loops, for any type of numbers.

#include <prumo/nets/overloaded.hpp>
#include <prumo/nets/shapes.hpp>
#include <prumo/nets/training_types.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace prumo::nets {

/// The layer that a loss is taken of, and the activations of the layers for it.
struct loss_place {
  std::size_t last = 0;
  std::vector<activation> activations;

  loss_place(const description& net, loss which) : last(net.layers.size() - 1) {
    for (const layer& each : net.layers) {
      activations.push_back(std::visit(
          overloaded{[](const pooling&) { return activation::none; }, [](const softmax&) { return activation::none; },
                     [](const auto& it) { return it.activate; }},
          each));
    }
    if (which == loss::squared) return;
    if (std::holds_alternative<softmax>(net.layers.back())) --last;
    activations[last] = activation::none;
  }
};

/// The taps of windows that lie inside of an image.
struct tap_walk {
  image_shape input;
  extent2 window, stride, padding;

  /// Calls visit(p, q, place) with the place in the plane.
  template <class Visit>
  void operator()(std::int64_t i, std::int64_t j, const Visit& visit) const {
    for (std::int64_t p = 0; p < window.height; ++p) {
      const std::int64_t row = i * stride.height + p - padding.height;
      if (row < 0 || row >= input.height) continue;
      for (std::int64_t q = 0; q < window.width; ++q) {
        const std::int64_t column = j * stride.width + q - padding.width;
        if (column >= 0 && column < input.width) visit(p, q, row * input.width + column);
      }
    }
  }
};

template <class Layer>
extent2 window_of_layer(const Layer& it) {
  if constexpr (requires { it.window; }) {
    return it.window;
  } else {
    return it.filter;
  }
}
template <class Layer>
tap_walk taps_of(const Layer& it, const layer_facts& facts) {
  return {facts.input, window_of_layer(it), it.stride, it.padding};
}

/// Where the weights of a layer begin, and its biases.
struct parameter_places {
  std::size_t weights = 0, bias = 0;
};
inline std::vector<parameter_places> places_of(const net_facts& facts) {
  std::vector<parameter_places> places;
  std::size_t next = 0;
  for (const layer_facts& each_layer : facts.layers) {
    parameter_places of{next, next};
    for (std::size_t which = 0; which < each_layer.parameters.size(); ++which) {
      if (which == 1) of.bias = next;
      next += static_cast<std::size_t>(each_layer.parameters[which].size());
    }
    places.push_back(of);
  }
  return places;
}

/// Calls visit(channel, i, j, place) for the results of a layer.
template <class Visit>
void for_each_result(const image_shape& shape, const Visit& visit) {
  std::size_t place = 0;
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    for (std::int64_t i = 0; i < shape.height; ++i) {
      for (std::int64_t j = 0; j < shape.width; ++j) visit(c, i, j, place++);
    }
  }
}

template <class N>
class plain_forward {
 public:
  plain_forward(const description& net, const net_facts& facts, loss which, std::span<const N> weights)
      : net_(net), facts_(facts), place_(net, which), places_(places_of(facts)), weights_(weights) {}

  const loss_place& place() const { return place_; }
  const std::vector<parameter_places>& places() const { return places_; }

  /// The results of all layers of an image; first comes the image itself.
  std::vector<std::vector<N>> operator()(std::span<const double> image) const {
    std::vector<std::vector<N>> all{{}};
    for (const double pixel : image) all.front().push_back(N(pixel));
    for (std::size_t which = 0; which <= place_.last; ++which) {
      std::vector<N> results(static_cast<std::size_t>(facts_.layers[which].output.size()));
      const auto& x = all.back();
      std::visit([&](const auto& it) { compute(it, which, x, results); }, net_.layers[which]);
      for (N& each : results) each = activated(place_.activations[which], each);
      all.push_back(std::move(results));
    }
    return all;
  }

 private:
  static N activated(activation which, const N& x) {
    using std::exp, std::tanh;
    switch (which) {
      case activation::none: break;
      case activation::relu: return x > N(0) ? x : N(0);
      case activation::sigmoid: return N(1) / (N(1) + exp(N(0) - x));
      case activation::tanh: return tanh(x);
    }
    return x;
  }

  const N& weight(std::size_t which, std::int64_t place) const {
    return weights_[places_[which].weights + static_cast<std::size_t>(place)];
  }
  N bias(bool has_bias, std::size_t which, std::int64_t place) const {
    return has_bias ? weights_[places_[which].bias + static_cast<std::size_t>(place)] : N(0);
  }

  void compute(const convolution& it, std::size_t which, const std::vector<N>& x, std::vector<N>& y) const {
    const layer_facts& facts = facts_.layers[which];
    const tap_walk taps = taps_of(it, facts);
    const std::int64_t plane = facts.input.height * facts.input.width, channels = facts.input.channels;
    for_each_result(facts.output, [&](std::int64_t m, std::int64_t i, std::int64_t j, std::size_t place) {
      N sum = bias(it.bias, which, m);
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t filter = (m * channels + c) * it.filter.height;
        taps(i, j, [&](std::int64_t p, std::int64_t q, std::int64_t at) {
          sum = sum + weight(which, (filter + p) * it.filter.width + q) * x[static_cast<std::size_t>(c * plane + at)];
        });
      }
      y[place] = sum;
    });
  }

  void compute(const shared_convolution& it, std::size_t which, const std::vector<N>& x, std::vector<N>& y) const {
    const layer_facts& facts = facts_.layers[which];
    const tap_walk taps = taps_of(it, facts);
    const std::int64_t plane = facts.input.height * facts.input.width;
    for_each_result(facts.output, [&](std::int64_t c, std::int64_t i, std::int64_t j, std::size_t place) {
      N sum = bias(it.bias, which, 0);
      taps(i, j, [&](std::int64_t p, std::int64_t q, std::int64_t at) {
        sum = sum + weight(which, p * it.filter.width + q) * x[static_cast<std::size_t>(c * plane + at)];
      });
      y[place] = sum;
    });
  }

  void compute(const pooling& it, std::size_t which, const std::vector<N>& x, std::vector<N>& y) const {
    const layer_facts& facts = facts_.layers[which];
    const tap_walk taps = taps_of(it, facts);
    const std::int64_t plane = facts.input.height * facts.input.width;
    for_each_result(facts.output, [&](std::int64_t c, std::int64_t i, std::int64_t j, std::size_t place) {
      N sum(0), largest(0);
      std::int64_t elements = 0;
      taps(i, j, [&](std::int64_t, std::int64_t, std::int64_t at) {
        const N& value = x[static_cast<std::size_t>(c * plane + at)];
        if (elements++ == 0 || value > largest) largest = value;
        sum = sum + value;
      });
      y[place] = it.kind == pooling_kind::maximum ? largest : sum / N(static_cast<double>(elements));
    });
  }

  void compute(const dense& it, std::size_t which, const std::vector<N>& x, std::vector<N>& y) const {
    for (std::size_t m = 0; m < y.size(); ++m) {
      N sum = bias(it.bias, which, static_cast<std::int64_t>(m));
      for (std::size_t k = 0; k < x.size(); ++k) {
        sum = sum + weight(which, static_cast<std::int64_t>(m * x.size() + k)) * x[k];
      }
      y[m] = sum;
    }
  }

  void compute(const softmax&, std::size_t, const std::vector<N>& x, std::vector<N>& y) const {
    using std::exp;
    N largest = x.front(), sum(0);
    for (const N& each : x) largest = each > largest ? each : largest;
    for (std::size_t k = 0; k < x.size(); ++k) {
      y[k] = exp(x[k] - largest);
      sum = sum + y[k];
    }
    for (N& each : y) each = each / sum;
  }

  const description& net_;
  const net_facts& facts_;
  loss_place place_;
  std::vector<parameter_places> places_;
  std::span<const N> weights_;
};

/// The loss of an image, of its scores or results.
template <class N>
N loss_of(loss which, const std::vector<N>& results, std::size_t label) {
  using std::exp, std::log;
  N sum(0);
  if (which == loss::softmax) {
    N largest = results.front();
    for (const N& each : results) largest = each > largest ? each : largest;
    for (const N& each : results) sum = sum + exp(each - largest);
    return log(sum) + largest - results[label];
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    const N target(k == label ? 1 : 0), &z = results[k];
    if (which == loss::squared) {
      sum = sum + N(0.5) * (z - target) * (z - target);
    } else {
      // log(1 + e^z), such that e is not raised to a large number
      const bool is_positive = z > N(0);
      const N rest = log(N(1) + exp(is_positive ? N(0) - z : z));
      sum = sum + (is_positive ? z + rest : rest) - target * z;
    }
  }
  return sum;
}

}  // namespace prumo::nets
