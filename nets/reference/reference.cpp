// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/reference.hpp>
#include <prumo/nets/shapes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <variant>

namespace prumo::nets {
namespace {

using values = std::vector<bounded_value>;

/// An image on its way through the net.
class forward {
 public:
  forward(std::span<const double> weights, std::span<const double> image, const arithmetic& how)
      : weights_(weights), how_(how) {
    for (const double x : image) now_.push_back({static_cast<long double>(x), 0});
  }

  void follow(const layer& which, const layer_facts& facts) {
    facts_ = &facts;
    std::visit([&](const auto& it) { compute(it); }, which);
  }

  values result() && { return std::move(now_); }

 private:
  /// gamma_n: what n roundings of the compute type add up to at most.
  long double growth(std::int64_t roundings) const {
    const long double product = static_cast<long double>(roundings) * how_.compute_roundoff;
    return product / (1 - product);
  }

  std::span<const double> take(std::int64_t count) {
    const auto taken = weights_.first(static_cast<std::size_t>(count));
    weights_ = weights_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  std::span<const double> take_bias(bool has_bias, std::int64_t count) { return take(has_bias ? count : 0); }

  const bounded_value& input(std::int64_t channel, std::int64_t row, std::int64_t column) const {
    const image_shape& shape = facts_->input;
    return now_[static_cast<std::size_t>((channel * shape.height + row) * shape.width + column)];
  }

  bounded_value stored(bounded_value it) const {
    it.bound += how_.storage_roundoff * (std::fabs(it.value) + it.bound) + how_.smallest_roundoff;
    return it;
  }

  /// The functions are within 3 units in the last place, of which each is two roundoffs at most.
  bounded_value activated(activation which, const bounded_value& x) const {
    const auto with_own_error = [&](long double value, long double bound) {
      return bounded_value{value, bound + 6 * how_.compute_roundoff * (std::fabs(value) + bound)};
    };
    switch (which) {
      case activation::none: break;
      case activation::relu: return {std::max(x.value, 0.0L), x.bound};
      case activation::sigmoid: return with_own_error(1 / (1 + std::exp(-x.value)), x.bound / 4);
      case activation::tanh: return with_own_error(std::tanh(x.value), x.bound);
    }
    return x;
  }

  /// Sums of products, with what they may be off by.
  struct sum_of_products {
    long double sum = 0;
    long double magnitudes = 0;  ///< of the products, errors of the inputs included
    long double carried = 0;     ///< what errors of the inputs make

    void add(double weight, const bounded_value& x) {
      const long double w = static_cast<long double>(weight);
      sum += w * x.value;
      magnitudes += std::fabs(w) * (std::fabs(x.value) + x.bound);
      carried += std::fabs(w) * x.bound;
    }
  };

  bounded_value finished(const sum_of_products& of, std::int64_t terms, const std::span<const double>& bias,
                         std::int64_t place, activation which) const {
    const long double added = bias.empty() ? 0 : static_cast<long double>(bias[static_cast<std::size_t>(place)]);
    const bounded_value sum{of.sum + added, of.carried + growth(terms + 1) * (of.magnitudes + std::fabs(added))};
    return stored(activated(which, sum));
  }

  /// Calls visit(p, q, row, column) for the taps of a filter, or the elements of a window, that lie inside the image.
  template <class Visit>
  void for_each_inside(const extent2& filter, const extent2& stride, const extent2& padding, std::int64_t i,
                       std::int64_t j, const Visit& visit) const {
    for (std::int64_t p = 0; p < filter.height; ++p) {
      const std::int64_t row = i * stride.height + p - padding.height;
      if (row < 0 || row >= facts_->input.height) continue;
      for (std::int64_t q = 0; q < filter.width; ++q) {
        const std::int64_t column = j * stride.width + q - padding.width;
        if (column >= 0 && column < facts_->input.width) visit(p, q, row, column);
      }
    }
  }

  template <class Make>
  void make_images(const Make& make) {
    values made;
    const image_shape& shape = facts_->output;
    for (std::int64_t m = 0; m < shape.channels; ++m) {
      for (std::int64_t i = 0; i < shape.height; ++i) {
        for (std::int64_t j = 0; j < shape.width; ++j) made.push_back(make(m, i, j));
      }
    }
    now_ = std::move(made);
  }

  void compute(const convolution& it) {
    const std::int64_t channels = facts_->input.channels, taps = it.filter.height * it.filter.width;
    const auto weights = take(it.channels * channels * taps);
    const auto bias = take_bias(it.bias, it.channels);
    make_images([&](std::int64_t m, std::int64_t i, std::int64_t j) {
      sum_of_products sum;
      for (std::int64_t c = 0; c < channels; ++c) {
        for_each_inside(it.filter, it.stride, it.padding, i, j, [&](auto p, auto q, auto row, auto column) {
          const std::int64_t tap = (m * channels + c) * taps + p * it.filter.width + q;
          sum.add(weights[static_cast<std::size_t>(tap)], input(c, row, column));
        });
      }
      return finished(sum, channels * taps, bias, m, it.activate);
    });
  }

  void compute(const shared_convolution& it) {
    const std::int64_t taps = it.filter.height * it.filter.width;
    const auto weights = take(taps);
    const auto bias = take_bias(it.bias, 1);
    make_images([&](std::int64_t c, std::int64_t i, std::int64_t j) {
      sum_of_products sum;
      for_each_inside(it.filter, it.stride, it.padding, i, j, [&](auto p, auto q, auto row, auto column) {
        sum.add(weights[static_cast<std::size_t>(p * it.filter.width + q)], input(c, row, column));
      });
      return finished(sum, taps, bias, 0, it.activate);
    });
  }

  void compute(const pooling& it) {
    make_images([&](std::int64_t c, std::int64_t i, std::int64_t j) {
      bounded_value largest{-std::numeric_limits<long double>::infinity(), 0}, sum;
      long double magnitudes = 0;
      std::int64_t elements = 0;
      for_each_inside(it.window, it.stride, it.padding, i, j, [&](auto, auto, auto row, auto column) {
        const bounded_value& x = input(c, row, column);
        largest = {std::max(largest.value, x.value), std::max(largest.bound, x.bound)};
        sum = {sum.value + x.value, sum.bound + x.bound};
        magnitudes += std::fabs(x.value) + x.bound;
        ++elements;
      });
      if (it.kind == pooling_kind::maximum) return stored(largest);
      const auto count = static_cast<long double>(elements);
      return stored({sum.value / count, (sum.bound + growth(elements) * magnitudes) / count});
    });
  }

  void compute(const dense& it) {
    const auto inputs = static_cast<std::int64_t>(now_.size());
    const auto weights = take(it.features * inputs);
    const auto bias = take_bias(it.bias, it.features);
    make_images([&](std::int64_t m, std::int64_t, std::int64_t) {
      sum_of_products sum;
      for (std::int64_t k = 0; k < inputs; ++k) {
        sum.add(weights[static_cast<std::size_t>(m * inputs + k)], now_[static_cast<std::size_t>(k)]);
      }
      return finished(sum, inputs, bias, m, it.activate);
    });
  }

  /// Errors e of the inputs change a quotient by the factor exp(2 e) at most. The distance to the maximum is rounded
  /// once, which exp makes a relative error of its size; exp and the quotient add some roundings, the sum n.
  void compute(const softmax&) {
    long double largest = -std::numeric_limits<long double>::infinity(), error = 0, sum = 0;
    for (const bounded_value& x : now_) {
      largest = std::max(largest, x.value);
      error = std::max(error, x.bound);
    }
    long double farthest = 0;
    for (const bounded_value& x : now_) {
      sum += std::exp(x.value - largest);
      farthest = std::max(farthest, largest - x.value + 2 * error);
    }
    const auto roundings = 2 * farthest + static_cast<long double>(now_.size()) + 20;
    const long double relative = std::expm1(2 * error) + roundings * how_.compute_roundoff * std::exp(2 * error);
    for (bounded_value& x : now_) {
      const long double value = std::exp(x.value - largest) / sum;
      x = stored({value, value * relative});
    }
  }

  std::span<const double> weights_;
  arithmetic how_;
  const layer_facts* facts_ = nullptr;
  values now_;
};

void check_count(const char* what, std::size_t count, std::int64_t expected) {
  if (count == static_cast<std::size_t>(expected)) return;
  throw std::invalid_argument(std::string("prumo::nets::exact_forward: the net has ") + std::to_string(expected) + " " +
                              what + ", and there are " + std::to_string(count));
}

}  // namespace

std::vector<bounded_value> exact_forward(const description& net, std::span<const double> weights,
                                         std::span<const double> image, const arithmetic& how) {
  return exact_layers(net, 0, net.layers.size(), weights, image, how);
}

std::vector<bounded_value> exact_layers(const description& net, std::size_t first, std::size_t last,
                                        std::span<const double> weights, std::span<const double> input,
                                        const arithmetic& how) {
  const net_facts facts = facts_of(net);
  if (first >= last || last > net.layers.size()) {
    throw std::invalid_argument("prumo::nets::exact_layers: there are no layers [" + std::to_string(first) + ", " +
                                std::to_string(last) + ") in a net of " + std::to_string(net.layers.size()));
  }
  check_count("weights", weights.size(), facts.parameters);
  check_count("pixels in an image", input.size(), facts.layers[first].input.size());
  std::int64_t before = 0;
  for (std::size_t place = 0; place < first; ++place) {
    for (const parameter& it : facts.layers[place].parameters) before += it.size();
  }
  forward on_its_way(weights.subspan(static_cast<std::size_t>(before)), input, how);
  for (std::size_t place = first; place < last; ++place) {
    on_its_way.follow(net.layers[place], facts.layers[place]);
  }
  return std::move(on_its_way).result();
}

}  // namespace prumo::nets
