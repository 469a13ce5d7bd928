// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of the reference against dual numbers and central differences, and its optimizers by hand.

#include "random_training.hpp"
#include "unusual_net.hpp"
#include <prumo/nets/training_reference.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace prumo::nets {
namespace {

/// A net with a batch and random weights.
struct problem {
  description net;
  net_facts facts;
  std::vector<double> weights, pixels;
  std::vector<std::uint8_t> labels;

  problem(const description& of, std::int64_t images) : net(of), facts(facts_of(of)) {
    tests::random_training random(7);
    weights = random.weights(facts);
    pixels = random.numbers(images * net.input.size());
    labels = random.bytes(images, facts.classes);
  }

  labelled_images batch() const { return {pixels, labels}; }
  std::vector<long double> exact_weights() const { return {weights.begin(), weights.end()}; }

  /// The gradient of the sum of the losses: without the mean, and without the divisors of `original`.
  std::vector<long double> gradient_of_sum(loss which) const {
    const loss undivided = which == loss::original ? loss::sigmoid : which;
    std::vector<long double> gradient = exact_gradient(net, undivided, exact_weights(), batch()).gradient;
    for (long double& each : gradient) each *= static_cast<long double>(labels.size());
    return gradient;
  }
};

double product(const std::vector<long double>& x, const std::vector<double>& y) {
  return static_cast<double>(std::inner_product(x.begin(), x.end(), y.begin(), 0.0L));
}
double magnitude(const std::vector<long double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::fabs(static_cast<double>(x[i]) * y[i]);
  return sum;
}

void expect_derivatives(const problem& of, int directions) {
  for (const loss which : tests::all_losses) {
    const std::vector<long double> gradient = of.gradient_of_sum(which);
    tests::random_training random(11);
    for (int i = 0; i < directions; ++i) {
      const std::vector<double> direction = random.numbers(of.facts.parameters);
      const double expected = directional_derivative(of.net, which, of.weights, direction, of.batch());
      EXPECT_NEAR(product(gradient, direction), expected, 1e-10 * magnitude(gradient, direction))
          << of.net.name << ", " << name_of(which) << ", direction " << i;
    }
  }
}

TEST(training_reference, gradients_are_those_of_dual_numbers) {
  expect_derivatives(problem(named_net("mnist-2f"), 2), 20);
  expect_derivatives(problem(named_net("lenet5"), 1), 20);
  expect_derivatives(problem(tests::unusual_net(), 2), 20);
  expect_derivatives(problem(named_net("ece408-2019"), 1), 4);
  expect_derivatives(problem(named_net("ece408-2020"), 1), 2);
}

/// A second witness that shares no rule of derivation with the others. In long double, the error of a step h is of
/// order h^2 plus 2^-64 / h.
TEST(training_reference, gradients_are_those_of_central_differences) {
  for (const description& net : {named_net("mnist-2f"), tests::unusual_net()}) {
    const problem of(net, 2);
    for (const loss which : tests::all_losses) {
      const std::vector<long double> gradient = of.gradient_of_sum(which);
      tests::random_training random(13);
      const std::vector<double> direction = random.numbers(of.facts.parameters);
      const auto loss_at = [&](long double distance) {
        std::vector<long double> moved = of.exact_weights();
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += distance * direction[i];
        return exact_loss(of.net, which, moved, of.batch());
      };
      constexpr long double h = 1e-7L;
      const auto difference = static_cast<double>((loss_at(h) - loss_at(-h)) / (2 * h));
      EXPECT_NEAR(product(gradient, direction), difference, 1e-9 * magnitude(gradient, direction))
          << net.name << ", " << name_of(which);
    }
  }
}

TEST(training_reference, original_divides_and_takes_sums) {
  const problem of(named_net("mnist-2f"), 3);
  const auto original = exact_gradient(of.net, loss::original, of.exact_weights(), of.batch());
  const auto mean = exact_gradient(of.net, loss::sigmoid, of.exact_weights(), of.batch());
  EXPECT_EQ(original.loss_sum, mean.loss_sum);
  EXPECT_EQ(original.correct, mean.correct);
  // conv1.weight 150, conv1.bias 6, shared1.weight 16, shared1.bias 1, dense1
  for (std::size_t i = 0; i < original.gradient.size(); ++i) {
    const long double divisor = i < 156 ? 576 : i == 172 ? 216 : 1;
    const long double expected = 3 * mean.gradient[i] / divisor;
    EXPECT_LE(std::fabs(original.gradient[i] - expected), 1e-17L * std::fabs(expected)) << i;
  }
}

TEST(training_reference, of_equal_maxima_the_first_one_learns) {
  // Both pixels of a window are equal, and the filter of the convolution before it passes them on.
  const description net{"ties",
                        {1, 1, 2},
                        {convolution{.channels = 1, .filter = {1, 1}, .bias = false},
                         pooling{.window = {1, 2}, .stride = {1, 2}}, dense{1, false}}};
  const std::vector<double> pixels{0.5, 0.5};
  const std::vector<std::uint8_t> labels{0};
  const std::vector<long double> weights{1, 2};
  // y = 2 * 0.5 w = 1, and the loss is (1 - 1)^2 / 2 at w = 1; at w = 2 its slope is (2 - 1) * 2 * 0.5.
  EXPECT_EQ(exact_gradient(net, loss::squared, weights, {pixels, labels}).gradient[0], 0);
  EXPECT_EQ(exact_gradient(net, loss::squared, std::vector<long double>{2, 2}, {pixels, labels}).gradient[0], 1);
}

TEST(training_reference, optimizers_do_what_their_formulas_say) {
  // One weight, no bias: y = w, loss (w - 1)^2 / 2 with the gradient w - 1.
  const description net{"one weight", {1, 1, 1}, {dense{1, false}}};
  const std::vector<double> pixels{1}, weights{3};
  const std::vector<std::uint8_t> labels{0};
  const auto after_two_steps = [&](optimizer which) {
    reference_training training(net, {.loss = loss::squared, .optimizer = which, .learning_rate = 0.25}, weights);
    training.step({pixels, labels});
    training.step({pixels, labels});
    return static_cast<double>(training.weights()[0]);
  };
  EXPECT_DOUBLE_EQ(after_two_steps(optimizer::sgd), 3 - 0.25 * 2 - 0.25 * 1.5);
  EXPECT_DOUBLE_EQ(after_two_steps(optimizer::momentum), 3 - 0.25 * 2 - 0.25 * (0.9 * 2 + 1.5));
  // The first step of Adam is the learning rate.
  EXPECT_NEAR(
      after_two_steps(optimizer::adam),
      3 - 0.25 - 0.25 * ((0.9 * 0.2 + 0.1 * 1.75) / 0.19) / std::sqrt((0.999 * 0.004 + 0.001 * 1.75 * 1.75) / 0.001999),
      1e-8);
}

TEST(training_reference, refuses_what_does_not_fit) {
  const problem of(named_net("mnist-2f"), 2);
  const std::vector<long double> few(7);
  EXPECT_THROW(exact_gradient(of.net, loss::softmax, few, of.batch()), std::invalid_argument);
  EXPECT_THROW(exact_loss(of.net, loss::softmax, of.exact_weights(), {of.weights, of.labels}), std::invalid_argument);
}

}  // namespace
}  // namespace prumo::nets
