// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps of teams that share a net, with threads of the host for the teams of a cluster.

#include "plain_training.hpp"

namespace prumo::nets {
namespace {

/// Teams that share a net take the steps of one thread, whichever of them is late.
void expect_same_shared_steps(const description& net, const training_options& options, std::int64_t images = 3) {
  const plain_training training(net, images, options, INT_MAX);
  const std::vector<double> alone = after_steps(training, 1);
  constexpr int teams = 4;
  const std::vector<double> together = after_shared_steps(training, teams, 2 * emulated_lanes, -1);
  expect_same_sums(together, alone, net.name);
  for (const int late : {0, teams - 1}) {
    EXPECT_EQ(after_shared_steps(training, teams, 2 * emulated_lanes, late), together) << net.name << ", late " << late;
  }
}

/// With fewer channels than teams, and dense layers that have shares of inputs and of outputs.
TEST(step_team, shares_a_net) {
  description net{"shared",
                  {1, 12, 10},
                  {convolution{.channels = 3, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
                   pooling{.window = {2, 2}, .stride = {2, 2}},
                   convolution{.channels = 6, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::tanh},
                   pooling{.window = {2, 2}, .stride = {1, 1}}, dense{20, true, activation::sigmoid},
                   dense{113, true, activation::tanh}, dense{7}}};
  expect_same_shared_steps(net, {.batch = 1});
  expect_same_shared_steps(net, {.loss = loss::sigmoid, .optimizer = optimizer::momentum, .batch = 1});
  expect_same_shared_steps(net, {.loss = loss::original, .optimizer = optimizer::adam, .batch = 1});
}

TEST(step_team, shares_a_net_of_any_layers) {
  // Convolutions without tiles and biases, one behind the other.
  description net{"any",
                  {3, 9, 11},
                  {convolution{.channels = 2, .filter = {2, 2}, .stride = {1, 2}, .activate = activation::sigmoid},
                   convolution{.channels = 5, .filter = {3, 3}, .padding = {1, 1}, .bias = false},
                   pooling{.kind = pooling_kind::average, .window = {2, 2}, .stride = {3, 2}},
                   dense{6, false, activation::relu}, dense{3, true, activation::sigmoid}}};
  expect_same_shared_steps(net, {.loss = loss::squared, .optimizer = optimizer::adam, .batch = 1});
  // Pooling of images has nothing to train. Without channels, the first dense layer has a share of the outputs.
  net.layers = {pooling{.window = {2, 2}, .stride = {1, 1}}, dense{33, true, activation::relu}, dense{70}, dense{3}};
  expect_same_shared_steps(net, {.optimizer = optimizer::momentum, .batch = 1});
  net.layers = {dense{33}, dense{3}};
  expect_same_shared_steps(net, {.batch = 1});
  net.layers = {pooling{.window = {2, 2}, .stride = {1, 1}}, convolution{.channels = 4, .filter = {3, 3}}, dense{3}};
  expect_same_shared_steps(net, {.batch = 1});
}

TEST(step_team, shares_no_net_without_a_reason) {
  const auto reason = [](const description& net) {
    const plain_training training(net, 2, {.batch = 1}, INT_MAX);
    step_table table;
    net_share share;
    share.teams = 4;
    return make_shared_table(training.request(), table, share);
  };
  EXPECT_EQ(reason(named_net("mnist-2f")), "does not share nets with a filter for all maps among teams");
  EXPECT_EQ(reason({"single", {1, 5, 5}, {dense{3}}}), "shares nothing of a single dense layer among teams");
}

}  // namespace
}  // namespace prumo::nets
