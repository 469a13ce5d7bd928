// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/inference/training_setup.hpp>
#include <prumo/nets/training_reference.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace prumo::inference {
namespace {

data::net small_net() {
  nets::description net{"small", {2, 6, 5}, {}};
  net.layers = {nets::convolution{3, {3, 3}, {1, 1}, {1, 1}, true, nets::activation::relu},
                nets::pooling{nets::pooling_kind::maximum, {2, 2}, {2, 2}, {0, 0}, nets::rounding::down},
                nets::dense{4, true, nets::activation::sigmoid}};
  return {net, nets::facts_of(net), "net"};
}

struct computed {
  data::net net = small_net();
  nets::training_options options;
  computed_step step;
};

/// A step as the reference makes it, rounded to double.
computed reference_step(nets::loss loss, nets::optimizer optimizer) {
  computed made;
  made.options.loss = loss;
  made.options.optimizer = optimizer;
  made.options.learning_rate = 0.05;
  std::mt19937_64 generator(3);
  const auto uniform = [&] { return std::ldexp(static_cast<double>(generator() >> 11U), -52) - 1; };
  for (std::int64_t i = 0; i < made.net.facts.parameters; ++i) made.step.before.push_back(0.3 * uniform());
  const std::size_t images = 5;
  for (std::size_t i = 0; i < images * 60; ++i) made.step.pixels.push_back(std::fabs(uniform()));
  for (std::size_t i = 0; i < images; ++i) made.step.labels.push_back(static_cast<std::uint8_t>(i % 4));
  nets::reference_training training(made.net.description, made.options, made.step.before);
  const nets::batch_gradient told = training.step({made.step.pixels, made.step.labels});
  made.step.after.weights.assign(training.weights().begin(), training.weights().end());
  for (const long double g : told.gradient) {
    const auto gradient = static_cast<double>(g);
    if (optimizer == nets::optimizer::momentum) made.step.after.first_moments.push_back(gradient);
    if (optimizer == nets::optimizer::adam) {
      made.step.after.first_moments.push_back((1 - 0.9) * gradient);
      made.step.after.second_moments.push_back((1 - 0.999) * gradient * gradient);
    }
  }
  return made;
}

TEST(compare_step, the_reference_itself_is_right) {
  for (const nets::loss loss : {nets::loss::softmax, nets::loss::sigmoid, nets::loss::squared, nets::loss::original}) {
    for (const auto optimizer : {nets::optimizer::sgd, nets::optimizer::momentum, nets::optimizer::adam}) {
      const computed it = reference_step(loss, optimizer);
      const protocol::check_answer answer = compare_step(it.net, it.options, "f64", it.step);
      EXPECT_TRUE(answer.verified) << name_of(loss) << ' ' << name_of(optimizer) << ": " << answer.message;
      EXPECT_LT(answer.error, 1);  // most of it is the rounding of weights to double, by which sgd tells its gradient
      EXPECT_EQ(answer.checked, 5);
    }
  }
}

TEST(compare_step, names_a_gradient_that_is_wrong) {
  computed it = reference_step(nets::loss::softmax, nets::optimizer::momentum);
  it.step.after.first_moments[7] *= 1 + 1e-9;
  const protocol::check_answer answer = compare_step(it.net, it.options, "f64", it.step);
  EXPECT_FALSE(answer.verified);
  EXPECT_NE(answer.message.find("conv1.weight, "), std::string::npos) << answer.message;
  it = reference_step(nets::loss::softmax, nets::optimizer::sgd);
  it.step.after.weights.back() += 1e-10;
  EXPECT_NE(compare_step(it.net, it.options, "f64", it.step).message.find("dense1.bias, gradient 3"),
            std::string::npos);
}

TEST(compare_step, names_a_weight_that_the_optimizer_did_not_make) {
  computed it = reference_step(nets::loss::sigmoid, nets::optimizer::adam);
  it.step.after.weights[0] += 1e-6;
  const protocol::check_answer answer = compare_step(it.net, it.options, "f32", it.step);
  EXPECT_FALSE(answer.verified);
  EXPECT_NE(answer.message.find("conv1.weight, weight 0: "), std::string::npos) << answer.message;
}

TEST(compare_step, a_number_that_is_none_is_wrong) {
  computed it = reference_step(nets::loss::softmax, nets::optimizer::momentum);
  it.step.after.first_moments[3] = std::nan("");
  const protocol::check_answer answer = compare_step(it.net, it.options, "f32", it.step);
  EXPECT_FALSE(answer.verified);
  EXPECT_FALSE(answer.error);
}

TEST(training_arrays, become_the_state_again) {
  const data::net net = small_net();
  nets::training_state state;
  for (std::int64_t i = 0; i < net.facts.parameters; ++i) {
    const auto number = static_cast<double>(i);
    state.weights.push_back(number / 8);
    state.first_moments.push_back(-number);
    state.second_moments.push_back(number * number);
  }
  state.progress = {2, 17, 57, 1000, 123.456, 900};
  state.learning_rate = 0.1;
  for (const std::string type : {"f32", "f64"}) {
    const data::checkpoint saved{{}, {}, "", arrays_of(state, net.facts, type)};
    EXPECT_EQ(saved.find("conv1.weight")->type, type == "f32" ? "F32" : "F64");
    EXPECT_EQ(saved.find("optimizer.second.dense1.weight")->shape, (std::vector<std::int64_t>{4, 18}));
    EXPECT_EQ(state_of(saved, net.facts), state);
  }
}

TEST(scoring_net, ends_with_scores_where_the_loss_takes_them) {
  nets::description net = small_net().description;
  net.layers.emplace_back(nets::softmax{});
  const nets::description scores = scoring_net(net, nets::loss::softmax);
  ASSERT_EQ(scores.layers.size(), 3U);
  EXPECT_EQ(std::get<nets::dense>(scores.layers.back()).activate, nets::activation::none);
  EXPECT_EQ(scoring_net(net, nets::loss::squared), net);
}

TEST(loss_of_image, is_that_of_the_formulas) {
  const std::vector<double> scores{0.5, -1, 2};
  const double sum = std::exp(0.5) + std::exp(-1) + std::exp(2);
  EXPECT_NEAR(loss_of_image(nets::loss::softmax, scores, 2), std::log(sum) - 2, 1e-15);
  const double sigmoid = std::log1p(std::exp(0.5)) - 0.5 + std::log1p(std::exp(-1)) + std::log1p(std::exp(2));
  EXPECT_NEAR(loss_of_image(nets::loss::sigmoid, scores, 0), sigmoid, 1e-15);
  EXPECT_NEAR(loss_of_image(nets::loss::original, scores, 0), sigmoid, 1e-15);
  EXPECT_NEAR(loss_of_image(nets::loss::squared, scores, 1), 0.5 * (0.25 + 4 + 4), 1e-15);
  EXPECT_NEAR(loss_of_image(nets::loss::softmax, std::vector<double>{1000, 0}, 1), 1000, 1e-12);
}

}  // namespace
}  // namespace prumo::inference
