// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dual.hpp"
#include "plain_forward.hpp"
#include <prumo/nets/training_reference.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace prumo::nets {
namespace {

using numbers = std::vector<long double>;

/// The chain rule for an image, from the last layer to the first.
class plain_backward {
 public:
  plain_backward(const description& net, const net_facts& facts, const plain_forward<long double>& forward,
                 std::span<const long double> weights, numbers& gradient)
      : net_(net), facts_(facts), forward_(forward), weights_(weights), gradient_(gradient) {}

  /// \param results of all layers, as plain_forward gives them
  /// \param dy the gradient of the results of the last of them
  void operator()(const std::vector<numbers>& results, numbers dy) {
    for (std::size_t which = forward_.place().last + 1; which-- > 0;) {
      const numbers &x = results[which], &y = results[which + 1];
      for (std::size_t k = 0; k < y.size(); ++k) dy[k] *= slope(forward_.place().activations[which], y[k]);
      numbers dx(x.size(), 0);
      std::visit([&](const auto& it) { follow(it, which, x, y, dy, dx); }, net_.layers[which]);
      dy = std::move(dx);
    }
  }

 private:
  static long double slope(activation which, long double y) {
    switch (which) {
      case activation::none: break;
      case activation::relu: return y > 0 ? 1 : 0;
      case activation::sigmoid: return y * (1 - y);
      case activation::tanh: return 1 - y * y;
    }
    return 1;
  }

  std::size_t weight(std::size_t which, std::int64_t place) const {
    return forward_.places()[which].weights + static_cast<std::size_t>(place);
  }
  void add_to_bias(bool has_bias, std::size_t which, std::int64_t place, long double what) {
    if (has_bias) gradient_[forward_.places()[which].bias + static_cast<std::size_t>(place)] += what;
  }

  void follow(const convolution& it, std::size_t which, const numbers& x, const numbers&, const numbers& dy,
              numbers& dx) {
    const layer_facts& facts = facts_.layers[which];
    const tap_walk taps = taps_of(it, facts);
    const std::int64_t plane = facts.input.height * facts.input.width, channels = facts.input.channels;
    for_each_result(facts.output, [&](std::int64_t m, std::int64_t i, std::int64_t j, std::size_t place) {
      add_to_bias(it.bias, which, m, dy[place]);
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t filter = (m * channels + c) * it.filter.height;
        taps(i, j, [&](std::int64_t p, std::int64_t q, std::int64_t at) {
          const std::size_t w = weight(which, (filter + p) * it.filter.width + q);
          const auto from = static_cast<std::size_t>(c * plane + at);
          gradient_[w] += dy[place] * x[from];
          dx[from] += dy[place] * weights_[w];
        });
      }
    });
  }

  void follow(const shared_convolution& it, std::size_t which, const numbers& x, const numbers&, const numbers& dy,
              numbers& dx) {
    const layer_facts& facts = facts_.layers[which];
    const tap_walk taps = taps_of(it, facts);
    const std::int64_t plane = facts.input.height * facts.input.width;
    for_each_result(facts.output, [&](std::int64_t c, std::int64_t i, std::int64_t j, std::size_t place) {
      add_to_bias(it.bias, which, 0, dy[place]);
      taps(i, j, [&](std::int64_t p, std::int64_t q, std::int64_t at) {
        const std::size_t w = weight(which, p * it.filter.width + q);
        const auto from = static_cast<std::size_t>(c * plane + at);
        gradient_[w] += dy[place] * x[from];
        dx[from] += dy[place] * weights_[w];
      });
    });
  }

  void follow(const pooling& it, std::size_t which, const numbers& x, const numbers&, const numbers& dy, numbers& dx) {
    const layer_facts& facts = facts_.layers[which];
    const tap_walk taps = taps_of(it, facts);
    const std::int64_t plane = facts.input.height * facts.input.width;
    for_each_result(facts.output, [&](std::int64_t c, std::int64_t i, std::int64_t j, std::size_t place) {
      std::vector<std::size_t> inside;
      taps(i, j, [&](std::int64_t, std::int64_t, std::int64_t at) {
        inside.push_back(static_cast<std::size_t>(c * plane + at));
      });
      if (it.kind == pooling_kind::maximum) {
        // max_element returns the first of several.
        dx[*std::ranges::max_element(inside, {}, [&](std::size_t at) { return x[at]; })] += dy[place];
      } else {
        for (const std::size_t at : inside) dx[at] += dy[place] / static_cast<long double>(inside.size());
      }
    });
  }

  void follow(const dense& it, std::size_t which, const numbers& x, const numbers&, const numbers& dy, numbers& dx) {
    for (std::size_t m = 0; m < dy.size(); ++m) {
      add_to_bias(it.bias, which, static_cast<std::int64_t>(m), dy[m]);
      for (std::size_t k = 0; k < x.size(); ++k) {
        const std::size_t w = weight(which, static_cast<std::int64_t>(m * x.size() + k));
        gradient_[w] += dy[m] * x[k];
        dx[k] += dy[m] * weights_[w];
      }
    }
  }

  void follow(const softmax&, std::size_t, const numbers&, const numbers& y, const numbers& dy, numbers& dx) {
    for (std::size_t k = 0; k < y.size(); ++k) {
      for (std::size_t other = 0; other < y.size(); ++other) {
        dx[k] += dy[other] * y[other] * ((k == other ? 1 : 0) - y[k]);
      }
    }
  }

  const description& net_;
  const net_facts& facts_;
  const plain_forward<long double>& forward_;
  std::span<const long double> weights_;
  numbers& gradient_;
};

/// The gradient of an image's loss with respect to scores or results.
numbers loss_gradient(loss which, const numbers& results, std::size_t label) {
  numbers gradient;
  long double largest = *std::ranges::max_element(results), sum = 0;
  for (const long double z : results) sum += std::exp(z - largest);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const long double target = k == label ? 1 : 0, z = results[k];
    switch (which) {
      case loss::softmax: gradient.push_back(std::exp(z - largest) / sum - target); break;
      case loss::sigmoid:
      case loss::original: gradient.push_back(1 / (1 + std::exp(-z)) - target); break;
      case loss::squared: gradient.push_back(z - target); break;
    }
  }
  return gradient;
}

void divide(std::span<long double> gradient, const net_facts& facts, const description& net) {
  const auto places = places_of(facts);
  const auto divide_all = [&](std::size_t first, const parameter& what, std::int64_t divisor) {
    for (long double& each : gradient.subspan(first, static_cast<std::size_t>(what.size()))) {
      each /= static_cast<long double>(divisor);
    }
  };
  for (std::size_t which = 0; which < facts.layers.size(); ++which) {
    const layer_facts& of_layer = facts.layers[which];
    if (which == 0 && std::holds_alternative<convolution>(net.layers[which])) {
      const std::int64_t divisor = of_layer.output.height * of_layer.output.width;
      divide_all(places[which].weights, of_layer.parameters[0], divisor);
      if (of_layer.parameters.size() > 1) divide_all(places[which].bias, of_layer.parameters[1], divisor);
    } else if (std::holds_alternative<shared_convolution>(net.layers[which]) && of_layer.parameters.size() > 1) {
      divide_all(places[which].bias, of_layer.parameters[1], of_layer.output.size());
    }
  }
}

void check_counts(const net_facts& facts, const description& net, std::size_t weights, const labelled_images& batch) {
  const auto check = [](const char* what, std::size_t count, std::size_t expected) {
    if (count == expected) return;
    throw std::invalid_argument(std::string("prumo::nets: expected ") + std::to_string(expected) + " " + what +
                                ", got " + std::to_string(count));
  };
  check("weights", weights, static_cast<std::size_t>(facts.parameters));
  check("pixels", batch.pixels.size(), batch.labels.size() * static_cast<std::size_t>(net.input.size()));
}

/// Calls visit(image, label) for each image of a batch.
template <class Visit>
void for_each_image(const description& net, const labelled_images& batch, const Visit& visit) {
  const auto size = static_cast<std::size_t>(net.input.size());
  for (std::size_t image = 0; image < batch.labels.size(); ++image) {
    visit(batch.pixels.subspan(image * size, size), static_cast<std::size_t>(batch.labels[image]));
  }
}

}  // namespace

batch_gradient exact_gradient(const description& net, loss which, std::span<const long double> weights,
                              const labelled_images& batch) {
  const net_facts facts = facts_of(net);
  check_counts(facts, net, weights.size(), batch);
  const plain_forward<long double> forward(net, facts, which, weights);
  batch_gradient result;
  result.gradient.assign(weights.size(), 0);
  plain_backward backward(net, facts, forward, weights, result.gradient);
  for_each_image(net, batch, [&](std::span<const double> image, std::size_t label) {
    const std::vector<numbers> results = forward(image);
    const numbers& last = results.back();
    result.loss_sum += loss_of(which, last, label);
    result.correct += std::ranges::max_element(last) - last.begin() == static_cast<std::ptrdiff_t>(label);
    backward(results, loss_gradient(which, last, label));
  });
  if (which == loss::original) {
    divide(result.gradient, facts, net);
  } else {
    for (long double& each : result.gradient) each /= static_cast<long double>(batch.labels.size());
  }
  return result;
}

long double exact_loss(const description& net, loss which, std::span<const long double> weights,
                       const labelled_images& batch) {
  const net_facts facts = facts_of(net);
  check_counts(facts, net, weights.size(), batch);
  const plain_forward<long double> forward(net, facts, which, weights);
  long double sum = 0;
  for_each_image(net, batch, [&](std::span<const double> image, std::size_t label) {
    sum += loss_of(which, forward(image).back(), label);
  });
  return sum;
}

double directional_derivative(const description& net, loss which, std::span<const double> weights,
                              std::span<const double> direction, const labelled_images& batch) {
  const net_facts facts = facts_of(net);
  check_counts(facts, net, weights.size(), batch);
  check_counts(facts, net, direction.size(), batch);
  std::vector<dual<double>> moving;
  for (std::size_t i = 0; i < weights.size(); ++i) moving.emplace_back(weights[i], direction[i]);
  const plain_forward<dual<double>> forward(net, facts, which, moving);
  double sum = 0;
  for_each_image(net, batch, [&](std::span<const double> image, std::size_t label) {
    sum += loss_of(which, forward(image).back(), label).slope;
  });
  return sum;
}

double operations_on_longest_way(const net_facts& facts, std::int64_t images) {
  double way = 0, most_places = 1;
  for (const layer_facts& at : facts.layers) {
    if (at.parameters.empty()) {
      way += 8;  // a pooling or a softmax, forward and backward
      continue;
    }
    const parameter& factors = at.parameters.front();
    const double terms = static_cast<double>(factors.size());
    const double inputs = terms / static_cast<double>(std::max<std::int64_t>(1, factors.extents.front()));
    const double outputs = terms / std::max(1.0, inputs);
    way += inputs + outputs * (factors.extents.size() > 2 ? inputs : 1) + 8;  // forward, backward, an activation
    most_places = std::max(most_places, static_cast<double>(at.output.height * at.output.width));
  }
  return way + most_places + static_cast<double>(images);
}

reference_training::reference_training(const description& net, const training_options& options,
                                       std::span<const double> weights)
    : net_(net),
      options_(options),
      weights_(weights.begin(), weights.end()),
      first_moments_(weights.size(), 0),
      second_moments_(weights.size(), 0) {}

batch_gradient reference_training::step(const labelled_images& batch) {
  // The constants of Kingma and Ba, "Adam: A method for stochastic optimization", ICLR 2015.
  constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  batch_gradient told = exact_gradient(net_, options_.loss, weights_, batch);
  ++steps_;
  const auto rate = static_cast<long double>(options_.learning_rate);
  const auto power = static_cast<long double>(steps_);
  const long double first_correction = 1 - std::pow(static_cast<long double>(beta1), power),
                    second_correction = 1 - std::pow(static_cast<long double>(beta2), power);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const long double g = told.gradient[i];
    long double &m = first_moments_[i], &v = second_moments_[i];
    switch (options_.optimizer) {
      case optimizer::sgd: weights_[i] -= rate * g; break;
      case optimizer::momentum:
        m = static_cast<long double>(options_.momentum) * m + g;
        weights_[i] -= rate * m;
        break;
      case optimizer::adam:
        m = static_cast<long double>(beta1) * m + (1 - static_cast<long double>(beta1)) * g;
        v = static_cast<long double>(beta2) * v + (1 - static_cast<long double>(beta2)) * g * g;
        weights_[i] -= rate * (m / first_correction) / (std::sqrt(v / second_correction) + epsilon);
        break;
    }
  }
  return told;
}

}  // namespace prumo::nets
