// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps of trainings in plain loops against the reference.
#include "training_loops.hpp"

#include "random_training.hpp"
#include "unusual_net.hpp"
#include <prumo/nets/training_reference.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <omp.h>
#include <vector>

namespace prumo::peers {
namespace {

using namespace nets;

constexpr std::int64_t images = 7;
constexpr optimizer all_optimizers[] = {optimizer::sgd, optimizer::momentum, optimizer::adam};

inference::training_setup setup_of(const description& net, loss which, optimizer how, const char* type) {
  inference::training_setup setup;
  setup.files.net = {net, facts_of(net), "net"};
  tests::random_training random(9);
  data::image_set& set = setup.files.set.images;
  set.count = images;
  set.channels = net.input.channels;
  set.height = net.input.height;
  set.width = net.input.width;
  set.pixels = random.bytes(images * net.input.size(), 256);
  setup.files.set.labels.classes = random.bytes(images, setup.files.net.facts.classes);
  setup.initial_weights = random.weights(setup.files.net.facts);
  setup.options.loss = which;
  setup.options.optimizer = how;
  setup.options.learning_rate = 0.05;
  setup.options.batch = images;
  setup.type = type;
  return setup;
}

std::vector<std::int64_t> numbers_to(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void expect_right_step(const description& net, loss which, optimizer how, dtype type) {
  const inference::training_setup setup = setup_of(net, which, how, name_of(type));
  const auto program = make_training_loops(setup, type);
  const std::vector<std::int64_t> some = numbers_to(images - 2);
  inference::computed_step step;
  step.before = setup.initial_weights;
  for (const std::int64_t image : some) {
    for (const std::uint8_t byte : setup.files.set.images.image(image)) {
      const double pixel = byte / 255.0;
      step.pixels.push_back(type == dtype::f64 ? pixel : static_cast<double>(static_cast<float>(pixel)));
    }
    step.labels.push_back(setup.files.set.labels.classes[static_cast<std::size_t>(image)]);
  }
  const step_sums sums = program->take_step(some, 1);
  step.after = program->state();
  const protocol::check_answer answer = inference::compare_step(setup.files.net, setup.options, setup.type, step);
  EXPECT_TRUE(answer.verified) << net.name << ' ' << name_of(which) << ' ' << name_of(how) << ": " << answer.message;
  const std::vector<long double> weights(step.before.begin(), step.before.end());
  const batch_gradient exact = exact_gradient(net, which, weights, {step.pixels, step.labels});
  EXPECT_EQ(sums.correct, exact.correct);
  // Scores are sums along the longest way, and an image's loss changes by what its scores do, or less.
  const double way =
      operations_on_longest_way(setup.files.net.facts, images) * (type == dtype::f64 ? 0x1p-53 : 0x1p-24);
  EXPECT_NEAR(sums.loss, static_cast<double>(exact.loss_sum), 2 * way * (sums.loss + 10));
}

/// compare_step() has the bound.
TEST(training_loops, steps_of_every_loss_and_optimizer_are_right) {
  for (const loss which : tests::all_losses) {
    for (const optimizer how : all_optimizers) {
      for (const dtype type : {dtype::f32, dtype::f64}) {
        expect_right_step(tests::unusual_net(), which, how, type);
        expect_right_step(named_net("mnist-2f"), which, how, type);
      }
    }
  }
  for (const char* name : {"lenet5", "ece408-2019", "ece408-2020"}) {
    expect_right_step(named_net(name), loss::softmax, optimizer::momentum, dtype::f32);
    expect_right_step(named_net(name), loss::squared, optimizer::sgd, dtype::f64);
  }
}

/// A gradient is off by gamma(K) times its magnitudes (compare_step), here at most 10. Momentum hands a change on ten
/// times; Adam divides by gradients that may be zero but for errors, so that epsilon is left. Weights change little in
/// five steps, and so do errors: by less than a factor of 4.
TEST(training_loops, weights_after_some_steps_are_those_of_the_reference) {
  constexpr std::int64_t steps = 5;
  const description net = tests::unusual_net();
  for (const optimizer how : all_optimizers) {
    const inference::training_setup setup = setup_of(net, loss::sigmoid, how, "f64");
    const auto program = make_training_loops(setup, dtype::f64);
    reference_training reference(net, setup.options, setup.initial_weights);
    std::vector<double> pixels;
    for (const std::uint8_t byte : setup.files.set.images.pixels) pixels.push_back(byte / 255.0);
    const std::vector<std::int64_t> all = numbers_to(images);
    for (std::int64_t number = 1; number <= steps; ++number) {
      program->take_step(all, number);
      reference.step({pixels, setup.files.set.labels.classes});
    }
    const double of_gradient = 10 * operations_on_longest_way(setup.files.net.facts, images) * 0x1p-53;
    const double handed_on = how == optimizer::adam ? 1e8 : how == optimizer::momentum ? 10 : 1;
    const double bound = 4 * steps * setup.options.learning_rate * handed_on * of_gradient;
    const std::vector<double> found = program->state().weights;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], static_cast<double>(reference.weights()[i]), bound) << name_of(how) << ' ' << i;
    }
  }
}

TEST(training_loops, threads_and_restored_states_make_no_difference) {
  const inference::training_setup setup = setup_of(tests::unusual_net(), loss::softmax, optimizer::adam, "f32");
  const std::vector<std::int64_t> all = numbers_to(images);
  const int threads = omp_get_max_threads();
  training_state expected;
  for (const int count : {1, 2, 4}) {
    omp_set_num_threads(count);
    const auto program = make_training_loops(setup, dtype::f32);
    program->take_step(all, 1);
    const training_state between = program->state();
    program->take_step(all, 2);
    if (count == 1) expected = program->state();
    EXPECT_EQ(program->state(), expected) << count;
    program->restore(between);
    program->take_step(all, 2);
    EXPECT_EQ(program->state(), expected) << count;
  }
  omp_set_num_threads(threads);
}

}  // namespace
}  // namespace prumo::peers
