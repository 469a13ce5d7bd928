// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same weights bit by bit: again, in slices, with other numbers of threads, and after a state was restored.

#include "message_of.hpp"
#include "small_training.hpp"
#include "unusual_net.hpp"
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace prumo::nets {
namespace {

using testing::HasSubstr;
using tests::small_set;
using exec = Kokkos::DefaultExecutionSpace;

constexpr std::int64_t repeated_steps = 17;

/// Sets and options that differ in net, batch, loss and optimizer. Epochs end with smaller batches.
struct setting {
  small_set set;
  training_options options;
  dtype type;
};
/// Trainings in every way that a space has for them.
template <class Exec = exec>
std::vector<setting> settings() {
  const std::vector<setting> all = {
      {small_set(named_net("mnist-2f"), 11), {.loss = loss::original, .batch = 1}, dtype::f32},
      {small_set(named_net("mnist-2f"), 50),
       {.loss = loss::sigmoid, .optimizer = optimizer::adam, .batch = 8},
       dtype::f32},
      {small_set(named_net("lenet5"), 90), {.optimizer = optimizer::momentum, .batch = 32}, dtype::f32},
      {small_set(named_net("lenet5"), 11), {.optimizer = optimizer::adam, .batch = 1}, dtype::f32},
      {small_set(tests::unusual_net(), 9), {.loss = loss::squared, .batch = 4}, dtype::f64}};
  std::vector<setting> result;
  context<Exec> ctx;
  for (const setting& of : all) {
    for (const std::string& implementation : of.set.implementations(ctx, of.options, of.type)) {
      result.push_back(of);
      result.back().options.implementation = implementation;
    }
  }
  return result;
}

std::string name(const setting& of) {
  return of.options.implementation + ", " + of.set.net.name + ", " + std::string(name_of(of.options.loss));
}

/// The state after the steps in slices of a size.
template <class Exec>
training_state after_slices(context<Exec>& ctx, const setting& of, std::int64_t slice) {
  auto training = of.set.trainer(ctx, of.options, of.type);
  for (std::int64_t done = 0; done < repeated_steps; done += slice)
    training.advance(std::min(slice, repeated_steps - done));
  return training.state();
}

TEST(training_repeatability, slices_and_reruns) {
  for (const setting& of : settings<>()) {
    context<exec> ctx;
    const training_state expected = after_slices(ctx, of, repeated_steps);
    for (const std::int64_t slice : {std::int64_t{1}, std::int64_t{7}, repeated_steps}) {
      EXPECT_EQ(after_slices(ctx, of, slice), expected) << name(of) << ", slices of " << slice;
    }
    EXPECT_NE(expected.weights, of.set.weights);
  }
}

TEST(training_repeatability, a_batch_of_more_images_than_there_are_is_one_of_all) {
  constexpr std::int64_t images = 13;
  for (const description& net : {named_net("mnist-2f"), named_net("lenet5"), tests::unusual_net()}) {
    context<exec> ctx;
    setting of{small_set(net, images), {.batch = images}, dtype::f32};
    for (const std::string& implementation : of.set.implementations(ctx, of.options, of.type)) {
      of.options.implementation = implementation;
      of.options.batch = images;
      const training_state expected = after_slices(ctx, of, repeated_steps);
      for (const std::int64_t batch : {images + 1, std::numeric_limits<std::int64_t>::max()}) {
        of.options.batch = batch;
        EXPECT_EQ(after_slices(ctx, of, repeated_steps), expected) << name(of) << ", batches of " << batch;
      }
    }
  }
}

TEST(training_repeatability, other_work_on_the_context_between_steps) {
  for (const setting& of : settings<>()) {
    context<exec> ctx;
    auto training = of.set.trainer(ctx, of.options, of.type);
    for (std::int64_t step = 0; step < repeated_steps; ++step) {
      training.advance(1);
      Kokkos::deep_copy(ctx.instance(),
                        Kokkos::View<std::byte*, exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                            static_cast<std::byte*>(ctx.workspace(static_cast<std::size_t>(step + 1) << 12U)), 4096),
                        std::byte{0xFF});
    }
    EXPECT_EQ(training.state(), after_slices(ctx, of, repeated_steps)) << name(of);
  }
}

TEST(training_repeatability, a_restored_state_goes_on_as_if_nothing_had_been) {
  for (const setting& of : settings<>()) {
    context<exec> ctx;
    const training_state expected = after_slices(ctx, of, repeated_steps);
    for (const std::int64_t before : {std::int64_t{0}, std::int64_t{1}, std::int64_t{6}, repeated_steps - 1}) {
      training_state kept;
      {
        auto training = of.set.trainer(ctx, of.options, of.type);
        training.advance(before);
        kept = training.state();
        training.advance(3);
      }
      context<exec> another;
      trainer<exec> training(another, of.set.net, of.type, of.options, of.set.pixels, of.set.labels);
      training.restore(kept);
      EXPECT_EQ(training.state(), kept);
      training.advance(repeated_steps - before);
      EXPECT_EQ(training.state(), expected) << name(of) << ", interrupted after " << before << " steps";
    }
  }
}

#if defined(KOKKOS_ENABLE_OPENMP)
TEST(training_repeatability, any_number_of_threads) {
  for (const setting& of : settings<Kokkos::OpenMP>()) {
    std::vector<training_state> states;
    for (const int threads : {1, 2, 3, 4}) {
      context<Kokkos::OpenMP> ctx(Kokkos::OpenMP{threads});
      states.push_back(after_slices(ctx, of, repeated_steps));
      EXPECT_EQ(states.back(), states.front()) << name(of) << ", " << threads << " threads";
    }
  }
}
#endif

TEST(training_repeatability, refuses_states_that_do_not_fit) {
  const setting of{small_set(named_net("mnist-2f"), 7), {.optimizer = optimizer::momentum, .batch = 3}, dtype::f32};
  context<exec> ctx;
  auto training = of.set.trainer(ctx, of.options, of.type);
  training.advance(2);
  const training_state good = training.state();
  const auto message = [&](const std::function<void(training_state&)>& change) {
    training_state bad = good;
    change(bad);
    return tests::message_of<argument_error>([&] { training.restore(bad); });
  };
  EXPECT_THAT(message([](auto& it) { it.weights.pop_back(); }), HasSubstr("expected 2343 weights, got 2342"));
  EXPECT_THAT(message([](auto& it) { it.first_moments.clear(); }), HasSubstr("expected 2343 first moments, got 0"));
  EXPECT_THAT(message([](auto& it) { it.second_moments = it.weights; }),
              HasSubstr("expected 0 second moments, got 2343"));
  EXPECT_THAT(message([](auto& it) { it.learning_rate = NAN; }), HasSubstr("the learning rate is nan"));
  EXPECT_THAT(message([](auto& it) { it.progress.step = 4; }),
              HasSubstr("does not belong to a training of 7 images in batches of 3: its epoch has done 4 steps, and "
                        "epochs have 3"));
  EXPECT_THAT(message([](auto& it) { it.progress.epoch = -1; }), HasSubstr("its epoch is -1"));
  EXPECT_THAT(message([](auto& it) { it.progress.steps_done = 9; }),
              HasSubstr("it has done 9 steps, and step 2 of epoch 0 is number 2"));
  EXPECT_THAT(message([](auto& it) { it.progress.correct = 8; }), HasSubstr("of which 8 were correct"));
  EXPECT_EQ(training.state(), good);
}

}  // namespace
}  // namespace prumo::nets
