// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training_loops.hpp"

#include "layer_gradients.hpp"

#include <array>
#include <utility>
#include <variant>

namespace prumo::peers {
namespace {

// Those of PyTorch's Adam.
constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

/// Images that scores() takes at a time, at least: steps of one image should not make tests slow.
constexpr std::int64_t tested_at_once = 64;

template <class T>
class training_loops final : public training_program {
 public:
  explicit training_loops(const inference::training_setup& setup)
      : setup_(setup),
        net_(inference::scoring_net(setup.files.net.description, setup.options.loss)),
        facts_(nets::facts_of(net_)),
        weights_(setup.initial_weights.begin(), setup.initial_weights.end()),
        gradient_(weights_.size()),
        first_moments_(setup.options.optimizer == nets::optimizer::sgd ? 0 : weights_.size()),
        second_moments_(setup.options.optimizer == nets::optimizer::adam ? weights_.size() : 0) {
    for (std::size_t byte = 0; byte < numbers_.size(); ++byte) {
      numbers_[byte] = static_cast<T>(static_cast<double>(byte) / 255);
    }
    const std::int64_t most = std::max(setup.options.batch, tested_at_once);
    results_.emplace_back(static_cast<std::size_t>(most * net_.input.size()));
    std::size_t place = 0;
    for (const nets::layer_facts& it : facts_.layers) {
      results_.emplace_back(static_cast<std::size_t>(most * it.output.size()));
      slopes_.emplace_back(static_cast<std::size_t>(most * it.output.size()));
      std::vector<std::size_t>& of_layer = places_.emplace_back();
      for (const nets::parameter& parameter : it.parameters) {
        of_layer.push_back(place);
        place += static_cast<std::size_t>(parameter.size());
      }
    }
  }

  step_sums take_step(std::span<const std::int64_t> images, std::int64_t number) override {
    const auto count = static_cast<std::int64_t>(images.size());
    for (std::int64_t n = 0; n < count; ++n)
      place_image(n, setup_.files.set.images.image(images[static_cast<std::size_t>(n)]));
    forward(count);
    const step_sums sums = lose(images);
    backward(count);
    if (setup_.options.loss == nets::loss::original) divide_gradients();
    change_weights(number);
    return sums;
  }

  nets::training_state state() const override {
    nets::training_state now;
    now.weights.assign(weights_.begin(), weights_.end());
    now.first_moments.assign(first_moments_.begin(), first_moments_.end());
    now.second_moments.assign(second_moments_.begin(), second_moments_.end());
    return now;
  }

  void restore(const nets::training_state& from) override {
    const auto take = [](const std::vector<double>& source, std::vector<T>& target) {
      std::fill(target.begin(), target.end(), T(0));
      std::transform(source.begin(), source.end(), target.begin(), [](double it) { return static_cast<T>(it); });
    };
    take(from.weights, weights_);
    take(from.first_moments, first_moments_);
    take(from.second_moments, second_moments_);
  }

  std::vector<double> scores(std::span<const std::uint8_t> pixels, std::int64_t images) override {
    const auto size = static_cast<std::size_t>(net_.input.size());
    const std::int64_t most = std::max(setup_.options.batch, tested_at_once);
    std::vector<double> all;
    for (std::int64_t first = 0; first < images; first += most) {
      const std::int64_t count = std::min(most, images - first);
      for (std::int64_t n = 0; n < count; ++n) {
        place_image(n, pixels.subspan(static_cast<std::size_t>(first + n) * size, size));
      }
      forward(count);
      const auto end = results_.back().begin() + count * facts_.classes;
      all.insert(all.end(), results_.back().begin(), end);
    }
    return all;
  }

 private:
  void place_image(std::int64_t n, std::span<const std::uint8_t> bytes) {
    T* const to = results_.front().data() + n * net_.input.size();
    for (std::size_t i = 0; i < bytes.size(); ++i) to[i] = numbers_[bytes[i]];
  }

  /// An array of a layer's parameter number `which` among packed ones; null where the layer has none.
  T* parameter(std::vector<T>& packed, std::size_t layer, std::size_t which) {
    return which < places_[layer].size() ? packed.data() + places_[layer][which] : nullptr;
  }

  layers::layer_arrays<T> arrays_of(std::size_t layer, std::int64_t images) {
    const nets::layer_facts& facts = facts_.layers[layer];
    return {results_[layer].data(),        results_[layer + 1].data(),   images, facts.input, facts.output,
            parameter(weights_, layer, 0), parameter(weights_, layer, 1)};
  }

  void forward(std::int64_t images) {
    for (std::size_t layer = 0; layer < net_.layers.size(); ++layer) {
      std::visit([&](const auto& it) { run(it, arrays_of(layer, images)); }, net_.layers[layer]);
    }
  }

  /// The gradient of the last results, and the sums.
  step_sums lose(std::span<const std::int64_t> images) {
    const std::int64_t classes = facts_.classes;
    const T scale = setup_.options.loss == nets::loss::original ? T(1) : T(1) / static_cast<T>(images.size());
    step_sums sums;
    std::vector<double> numbers(static_cast<std::size_t>(classes));
    for (std::size_t n = 0; n < images.size(); ++n) {
      const T* const y = results_.back().data() + static_cast<std::int64_t>(n) * classes;
      T* const dy = slopes_.back().data() + static_cast<std::int64_t>(n) * classes;
      const std::size_t label = setup_.files.set.labels.classes[static_cast<std::size_t>(images[n])];
      const T* const largest = std::max_element(y, y + classes);
      std::copy(y, y + classes, numbers.begin());
      sums.loss += inference::loss_of_image(setup_.options.loss, numbers, label);
      if (std::cmp_equal(largest - y, label)) ++sums.correct;
      T total = 0;
      if (setup_.options.loss == nets::loss::softmax) {
        for (std::int64_t k = 0; k < classes; ++k) total += dy[k] = std::exp(y[k] - *largest);
      }
      for (std::int64_t k = 0; k < classes; ++k) {
        const T target = std::cmp_equal(k, label) ? T(1) : T(0);
        switch (setup_.options.loss) {
          case nets::loss::softmax: dy[k] /= total; break;
          case nets::loss::squared: dy[k] = y[k]; break;
          case nets::loss::sigmoid:
          case nets::loss::original: dy[k] = layers::activated(nets::activation::sigmoid, y[k]); break;
        }
        dy[k] = scale * (dy[k] - target);
      }
    }
    return sums;
  }

  void backward(std::int64_t images) {
    for (std::size_t layer = net_.layers.size(); layer-- > 0;) {
      const layers::layer_arrays<T> of = arrays_of(layer, images);
      T* const dy = slopes_[layer].data();
      std::visit(
          [&](const auto& it) {
            layers::pass_activation(layers::activation_of(it), images * of.output.size(), of.y, dy);
            follow(it, layers::gradient_arrays<T>{of, dy, layer > 0 ? slopes_[layer - 1].data() : nullptr,
                                                  parameter(gradient_, layer, 0), parameter(gradient_, layer, 1)});
          },
          net_.layers[layer]);
    }
  }

  /// Divides gradients as the authors of mnist-2f do. The gradients of a convolution that is the first layer are
  /// divided by the number of pixels of an output plane, and that of a shared filter's bias by the number of the
  /// layer's results.
  void divide_gradients() {
    for (std::size_t layer = 0; layer < net_.layers.size(); ++layer) {
      const nets::layer_facts& facts = facts_.layers[layer];
      const bool is_first = layer == 0 && std::holds_alternative<nets::convolution>(net_.layers[layer]);
      const bool is_shared = std::holds_alternative<nets::shared_convolution>(net_.layers[layer]);
      for (std::size_t which = 0; which < facts.parameters.size(); ++which) {
        std::int64_t divisor = is_first ? facts.output.height * facts.output.width : 1;
        if (is_shared && which == 1) divisor = facts.output.size();
        T* const gradient = parameter(gradient_, layer, which);
        for (std::int64_t i = 0; i < facts.parameters[which].size(); ++i) gradient[i] /= static_cast<T>(divisor);
      }
    }
  }

  void change_weights(std::int64_t number) {
    const auto count = static_cast<std::int64_t>(weights_.size());
    const auto rate = static_cast<T>(setup_.options.learning_rate);
    const auto decay = static_cast<T>(setup_.options.momentum);
    const auto power = static_cast<double>(number);
    const auto step_size = static_cast<T>(setup_.options.learning_rate / (1 - std::pow(beta1, power)));
    const auto root_factor = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, power)));
    T *const w = weights_.data(), *const m = first_moments_.data(), *const v = second_moments_.data();
    const T* const g = gradient_.data();
    // clang-tidy takes all OpenMP loops for the same.
    switch (setup_.options.optimizer) {  // NOLINT(bugprone-branch-clone)
      case nets::optimizer::sgd:
#pragma omp parallel for simd schedule(static)
        for (std::int64_t i = 0; i < count; ++i) w[i] -= rate * g[i];
        break;
      case nets::optimizer::momentum:
#pragma omp parallel for simd schedule(static)
        for (std::int64_t i = 0; i < count; ++i) {
          m[i] = decay * m[i] + g[i];
          w[i] -= rate * m[i];
        }
        break;
      case nets::optimizer::adam:
#pragma omp parallel for simd schedule(static)
        for (std::int64_t i = 0; i < count; ++i) {
          m[i] = T(beta1) * m[i] + T(1 - beta1) * g[i];
          v[i] = T(beta2) * v[i] + T(1 - beta2) * g[i] * g[i];
          w[i] -= step_size * m[i] / (std::sqrt(v[i]) * root_factor + T(epsilon));
        }
        break;
    }
  }

  const inference::training_setup& setup_;
  nets::description net_;  ///< that ends with what the loss is taken of
  nets::net_facts facts_;
  std::vector<T> weights_, gradient_, first_moments_, second_moments_;  ///< packed
  std::vector<std::vector<std::size_t>> places_;                        ///< of each layer's parameters there
  std::vector<std::vector<T>> results_;                                 ///< the images, and what each layer makes
  std::vector<std::vector<T>> slopes_;                                  ///< the gradients of what each layer makes
  std::array<T, 256> numbers_{};                                        ///< of a byte
};

}  // namespace

std::unique_ptr<training_program> make_training_loops(const inference::training_setup& setup, dtype type) {
  if (type == dtype::f64) return std::make_unique<training_loops<double>>(setup);
  return std::make_unique<training_loops<float>>(setup);
}

}  // namespace prumo::peers
