// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps against the reference, for every loss and optimizer, and what a trainer refuses.

#include "message_of.hpp"
#include "small_training.hpp"
#include "unusual_net.hpp"
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace prumo::nets {
namespace {

using testing::HasSubstr;
using tests::small_set;
using exec = Kokkos::DefaultExecutionSpace;

constexpr optimizer all_optimizers[] = {optimizer::sgd, optimizer::momentum, optimizer::adam};

/// The most roundings on the way from weights and pixels through forward and backward pass to a gradient: of each layer
/// the terms of its sums in both directions, and the images and places that a gradient sums.
double roundings_of(const description& net, const net_facts& facts, std::int64_t images) {
  double roundings = 100;  // of the functions, the loss and the change of the weights
  for (std::size_t which = 0; which < net.layers.size(); ++which) {
    const layer_facts& at = facts.layers[which];
    if (at.parameters.empty()) continue;
    const auto weights = static_cast<double>(at.parameters[0].size());
    const std::int64_t places = at.output.size() / at.parameters[0].extents.front();
    roundings += 2 * std::sqrt(weights) + static_cast<double>(images) * static_cast<double>(places);
  }
  return roundings;
}

struct comparison {
  std::vector<double> differences;         ///< of the weights
  std::vector<double> smallest_gradients;  ///< of each weight over the steps, as magnitudes
  double loss = 0;                         ///< relative difference of the sums
  bool counts_agree = true;
};

/// Takes some steps, and the same with the reference.
comparison compare(const small_set& set, const training_options& options, dtype type, std::int64_t steps) {
  context<exec> ctx;
  auto training = set.trainer(ctx, options, type);
  training.advance(steps);
  const training_progress now = training.progress();
  reference_training reference(set.net, options, set.weights);
  const std::int64_t of_an_epoch = (set.images - 1) / options.batch + 1;
  comparison result;
  result.smallest_gradients.assign(set.weights.size(), INFINITY);
  long double loss_sum = 0;
  std::int64_t correct = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step % of_an_epoch == 0) loss_sum = correct = 0;
    const auto batch = set.batch_of(options, step / of_an_epoch, step % of_an_epoch, type);
    const batch_gradient told = reference.step(batch.view());
    loss_sum += told.loss_sum;
    correct += told.correct;
    for (std::size_t i = 0; i < told.gradient.size(); ++i) {
      double& smallest = result.smallest_gradients[i];
      smallest = std::min(smallest, static_cast<double>(std::fabs(told.gradient[i])));
    }
  }
  const std::vector<double> found = training.weights();
  for (std::size_t i = 0; i < found.size(); ++i) {
    result.differences.push_back(static_cast<double>(std::fabs(reference.weights()[i] - found[i])));
  }
  result.loss = static_cast<double>(std::fabs(loss_sum - now.loss_sum) / loss_sum);
  result.counts_agree = now.correct == correct && now.steps_done == steps && now.epoch == (steps - 1) / of_an_epoch &&
                        now.step == (steps - 1) % of_an_epoch + 1;
  return result;
}

/// Weights after 1 and 10 steps. Weights, pixels and gradients are of order 1 or less, so a gradient has an error of a
/// unit roundoff for each rounding at most, and a weight that one times the learning rate; rounding the weight adds
/// one. Errors of one step pass through the next ones, whose weights they change by as much.
///
/// Adam divides the mean m of gradients by the root of their mean square v and 1e-8. After t steps the root is at least
/// the smallest gradient over the root of t, so an error e of a gradient g moves the quotient by 2 sqrt(t) e / (g +
/// 1e-8) at most, and never by more than 2.
void expect_reference_of(const small_set& set, const training_options& options) {
  const description& net = set.net;
  const std::int64_t images = set.images;
  const double roundings = roundings_of(net, set.facts, std::min(options.batch, images));
  for (const auto& [type, roundoff] : {std::pair{dtype::f64, 0x1p-53}, {dtype::f32, 0x1p-24}}) {
    for (const std::int64_t steps : {1, 10}) {
      const std::string place = options.implementation + ", " + net.name + ", " + std::string(name_of(options.loss)) +
                                ", " + std::string(name_of(options.optimizer)) + ", " + std::string(dtype_name(type)) +
                                ", " + std::to_string(steps) + " steps";
      const auto count = static_cast<double>(steps);
      const double of_a_gradient = roundoff * roundings;
      const comparison found = compare(set, options, type, steps);
      for (std::size_t i = 0; i < found.differences.size(); ++i) {
        double moved = of_a_gradient;
        if (options.optimizer == optimizer::adam) {
          moved = std::min(2.0, 2 * std::sqrt(count) * of_a_gradient / (found.smallest_gradients[i] + 1e-8));
        }
        ASSERT_LE(found.differences[i], count * (2 * roundoff + options.learning_rate * moved))
            << place << ", weight " << i;
      }
      EXPECT_LE(found.loss, count * of_a_gradient) << place;
      EXPECT_TRUE(found.counts_agree) << place;
    }
  }
}

/// The same of every implementation.
void expect_reference(const description& net, std::int64_t images, training_options options) {
  const small_set set(net, images);
  context<exec> ctx;
  for (const std::string& implementation : set.implementations(ctx, options)) {
    options.implementation = implementation;
    expect_reference_of(set, options);
  }
}

TEST(training, steps_are_those_of_the_reference) {
  for (const loss which : tests::all_losses) {
    for (const optimizer how : all_optimizers) {
      const double rate = how == optimizer::adam ? 0.001 : 0.05;
      expect_reference(named_net("mnist-2f"), 13, {.loss = which, .optimizer = how, .learning_rate = rate, .batch = 4});
    }
    expect_reference(tests::unusual_net(), 7, {.loss = which, .learning_rate = 0.05, .batch = 3, .seed = 9});
  }
  expect_reference(named_net("lenet5"), 5, {.optimizer = optimizer::momentum, .learning_rate = 0.05, .batch = 3});
  expect_reference(named_net("ece408-2019"), 2, {.learning_rate = 0.05, .batch = 2});
}

TEST(training, of_single_images_and_in_order) {
  expect_reference(named_net("mnist-2f"), 4, {.loss = loss::original, .batch = 1, .shuffle = false});
  expect_reference(tests::unusual_net(), 3, {.learning_rate = 0.05, .batch = 100});
}

TEST(training, of_nets_that_begin_with_other_layers) {
  const training_options options{.learning_rate = 0.05, .batch = 3};
  expect_reference({"dense first", {2, 5, 4}, {dense{7, true, activation::relu}, dense{3}}}, 5, options);
  expect_reference({"shared first", {3, 8, 8}, {shared_convolution{.filter = {3, 3}}, dense{4}}}, 5, options);
  expect_reference({"pooling first", {1, 9, 9}, {pooling{.window = {2, 2}, .stride = {2, 2}}, dense{4}}}, 5, options);
  expect_reference({"one layer", {1, 3, 3}, {dense{2, false, activation::tanh}}}, 5, options);
}

/// The derivative of half the squared distance is the distance times what the net makes of it. So a linear net of one
/// layer has w - rate/n sum over images of (w x - t) x^T after a step.
TEST(training, of_numbers_instead_of_classes) {
  constexpr std::int64_t images = 5, pixels = 6, results = 3;
  const description net{"linear", {1, 2, 3}, {dense{results, false}}};
  context<exec> ctx;
  const Kokkos::View<double****, Kokkos::LayoutRight, exec> x("x", images, 1, 2, 3);
  const Kokkos::View<double**, Kokkos::LayoutRight, exec> targets("targets", images, results);
  tests::random_training random(3);
  const auto fill = [&](const auto& view) {
    std::vector<double> values = random.numbers(static_cast<std::int64_t>(view.size()));
    Kokkos::deep_copy(Kokkos::View<double*, exec, Kokkos::MemoryUnmanaged>(view.data(), view.size()),
                      Kokkos::View<const double*, Kokkos::HostSpace>(values.data(), values.size()));
    return values;
  };
  const std::vector<double> from = fill(x), to = fill(targets), weights = random.numbers(pixels * results);
  trainer<exec> training(ctx, net, {.loss = loss::squared, .learning_rate = 0.25, .batch = 8}, x, targets);
  training.set_weights(weights);
  training.advance(1);
  std::vector<double> expected = weights;
  double loss_sum = 0;
  for (std::size_t n = 0; n < images; ++n) {
    for (std::size_t k = 0; k < results; ++k) {
      double distance = -to[n * results + k];
      for (std::size_t i = 0; i < pixels; ++i) distance += weights[k * pixels + i] * from[n * pixels + i];
      for (std::size_t i = 0; i < pixels; ++i)
        expected[k * pixels + i] -= 0.25 / images * distance * from[n * pixels + i];
      loss_sum += distance * distance / 2;
    }
  }
  const std::vector<double> found = training.weights();
  // Sums of 6 and 5 products of numbers below 1
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 40 * 0x1p-53);
  EXPECT_NEAR(training.progress().loss_sum, loss_sum, 40 * 0x1p-53 * loss_sum);
  EXPECT_EQ(training.progress().correct, 0);

  // A state of before the step and slices give the same bits; new elements are seen.
  const training_state one = training.state();
  training.advance(6);
  const training_state seven = training.state();
  training.restore(one);
  for (int step = 0; step < 6; ++step) training.advance(1);
  EXPECT_EQ(training.state(), seven);
  Kokkos::deep_copy(targets, 0.0);
  training.restore(one);
  training.advance(6);
  EXPECT_NE(training.state(), seven);
}

TEST(training, refuses_numbers_that_do_not_fit) {
  const description net{"filter", {1, 8, 8}, {convolution{.channels = 1, .filter = {3, 3}}}};
  context<exec> ctx;
  const Kokkos::View<float****, Kokkos::LayoutRight, exec> x("x", 4, 1, 8, 8), targets("targets", 4, 1, 6, 6),
      few("few", 3, 1, 6, 6);
  const auto message = [&](const training_options& options, const auto& of_x, const auto& of_targets) {
    return tests::message_of<error>([&] { trainer<exec>(ctx, net, options, of_x, of_targets); });
  };
  const training_options squared{.loss = loss::squared};
  EXPECT_THAT(message({}, x, targets), HasSubstr("the loss of numbers is `squared`, and the options have `softmax`"));
  EXPECT_THAT(message(squared, targets, x),
              HasSubstr("images [n x 1 x 8 x 8] in rows without gaps, as the net 'filter' takes them"));
  EXPECT_THAT(message(squared, x, few), HasSubstr("with 36 numbers for each image, as many as the net makes"));
  EXPECT_THAT(message(squared, x, Kokkos::View<double****, Kokkos::LayoutRight, exec>("wide", 4, 1, 6, 6)),
              HasSubstr("targets of the type of x"));
  EXPECT_THAT(message(squared, Kokkos::View<float****, Kokkos::LayoutLeft, exec>("left", 4, 1, 8, 8), targets),
              HasSubstr("in rows without gaps"));
}

TEST(training, initial_weights_follow_from_the_seed) {
  const small_set set(named_net("mnist-2f"), 4);
  context<exec> ctx;
  const auto initial = [&](const training_options& options) {
    auto training = set.trainer(ctx, options);
    training.initialize();
    return training.weights();
  };
  const std::vector<double> first = initial({.seed = 3});
  EXPECT_EQ(first, initial({.seed = 3}));
  EXPECT_NE(first, initial({.seed = 4}));
  EXPECT_EQ(first[0], 0.2 * random::uniform<double>(3, 0, 0));     // conv1.weight: 25 products
  EXPECT_EQ(first[151], 0.2 * random::uniform<double>(3, 1, 1));   // conv1.bias
  EXPECT_EQ(first[156], 0.25 * random::uniform<double>(3, 2, 0));  // shared1.weight: 16 products
  const std::vector<double> original = initial({.loss = loss::original, .seed = 3});
  for (const double each : original) EXPECT_LT(std::fabs(each), 0.5);
  EXPECT_EQ(original[156], random::uniform<double>(3, 2, 0) / 2);
}

TEST(training, a_new_learning_rate_holds_from_the_next_step_on) {
  const small_set set(named_net("mnist-2f"), 6);
  context<exec> ctx;
  auto training = set.trainer(ctx, {.batch = 2});
  training.advance(1);
  const std::vector<double> before = training.weights();
  training.set_learning_rate(0);
  training.advance(2);
  EXPECT_EQ(training.weights(), before);
  EXPECT_EQ(training.state().learning_rate, 0);
}

TEST(training, tells_how_far_it_is) {
  const small_set set(named_net("mnist-2f"), 7);
  context<exec> ctx;
  auto training = set.trainer(ctx, {.batch = 3});
  EXPECT_EQ(training.steps_per_epoch(), 3);
  EXPECT_EQ(training.progress(), training_progress{});
  training.advance(3);
  const training_progress end = training.progress();
  EXPECT_EQ(std::vector({end.epoch, end.step, end.steps_done, end.images_done}),
            (std::vector<std::int64_t>{0, 3, 3, 7}));
  training.advance(2);
  const training_progress next = training.progress();
  EXPECT_EQ(std::vector({next.epoch, next.step, next.steps_done, next.images_done}),
            (std::vector<std::int64_t>{1, 2, 5, 6}));
  EXPECT_GT(next.loss_sum, 0);
  EXPECT_LT(next.loss_sum, end.loss_sum);
}

TEST(training, refuses_what_cannot_be_trained) {
  const small_set set(named_net("mnist-2f"), 4);
  context<exec> ctx;
  const auto message = [&](const description& net, dtype type, const training_options& options,
                           const std::vector<std::uint8_t>& pixels, const std::vector<std::uint8_t>& labels) {
    return tests::message_of<error>([&] { trainer<exec>(ctx, net, type, options, pixels, labels); });
  };
  EXPECT_THAT(message(set.net, dtype::f16, {}, set.pixels, set.labels),
              HasSubstr("expected the type f32 or f64; got f16"));
  EXPECT_THAT(message(set.net, dtype::f32, {.batch = 0}, set.pixels, set.labels), HasSubstr("the batch is 0"));
  EXPECT_THAT(message(set.net, dtype::f32, {.learning_rate = NAN}, set.pixels, set.labels),
              HasSubstr("the learning rate is nan; take a finite number"));
  EXPECT_THAT(message(set.net, dtype::f32, {.momentum = INFINITY}, set.pixels, set.labels),
              HasSubstr("the momentum is inf; take a finite number"));
  EXPECT_THAT(message(set.net, dtype::f32, {.implementation = "magic"}, set.pixels, set.labels),
              HasSubstr("there is no implementation 'magic'; there are "));
  EXPECT_THAT(message(set.net, dtype::f32, {}, {}, {}), HasSubstr("the training set has no image"));
  EXPECT_THAT(message(set.net, dtype::f32, {}, {1, 2, 3}, set.labels),
              HasSubstr("expected 784 pixels for each of 4 labels, as the net 'mnist-2f' takes them; got 3 pixels"));
  EXPECT_THAT(message(set.net, dtype::f32, {}, set.pixels, {1, 9, 10, 0}),
              HasSubstr("the label of image 2 is 10, and the net 'mnist-2f' has 10 classes"));
  const description without{"no classes", {1, 28, 28}, {convolution{.channels = 2, .filter = {3, 3}}}};
  EXPECT_THAT(message(without, dtype::f32, {}, set.pixels, set.labels),
              HasSubstr("the net 'no classes' does not end with a dense layer"));
  auto training = set.trainer(ctx, {.batch = 3});
  EXPECT_THAT(tests::message_of<argument_error>([&] { training.set_weights(std::vector<double>(7)); }),
              HasSubstr("expected 2343 weights, got 7"));
  EXPECT_THAT(tests::message_of<argument_error>([&] { training.advance(-1); }),
              HasSubstr("expected steps from 0, got -1"));
}

}  // namespace
}  // namespace prumo::nets
