// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ways `fused` and `persistent` beside `layers`, and what they decline.

#include "message_of.hpp"
#include "small_training.hpp"
#include "unusual_net.hpp"
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace prumo::nets {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::largest_difference;
using tests::small_set;
using exec = Kokkos::DefaultExecutionSpace;

/// Whether the teams of a launch can wait for each other.
constexpr bool teams_meet = is_cuda_space<exec>
#if defined(KOKKOS_ENABLE_OPENMP)
                            || std::is_same_v<exec, Kokkos::OpenMP>
#endif
    ;

/// Convolutions of all filters that have tiles, windows that overlap and windows with gaps, rows of all lengths.
description narrow_net() {
  return {"narrow",
          {2, 13, 11},
          {convolution{.channels = 6, .filter = {3, 3}, .padding = {1, 1}, .activate = activation::tanh},
           pooling{.kind = pooling_kind::maximum, .window = {2, 2}, .stride = {3, 2}},
           convolution{.channels = 7, .filter = {5, 5}, .padding = {4, 4}, .bias = false, .activate = activation::relu},
           pooling{.kind = pooling_kind::average, .window = {2, 2}, .stride = {2, 2}, .round = rounding::up},
           convolution{.channels = 4, .filter = {3, 3}, .activate = activation::sigmoid},
           shared_convolution{.filter = {2, 2}, .stride = {2, 3}, .padding = {0, 1}, .activate = activation::tanh},
           dense{33, true, activation::tanh}, dense{5, false, activation::sigmoid}}};
}

/// Shared filters whose windows lie side by side, in planes with pixels behind the last window and in planes with
/// edges, as first layers and with every slope below; and first convolutions of few maps, whose planes end within a
/// vector.
std::vector<description> nets_of_adjacent_windows() {
  const auto first = [](std::int64_t maps, std::int64_t side, std::int64_t padding, activation activate) {
    return convolution{.channels = maps, .filter = {side, side}, .padding = {padding, padding}, .activate = activate};
  };
  const auto windows = [](std::int64_t height, std::int64_t width, activation activate) {
    return shared_convolution{.filter = {height, width}, .stride = {height, width}, .activate = activate};
  };
  return {
      {"gaps", {1, 23, 21}, {first(9, 5, 0, activation::sigmoid), windows(4, 4, activation::tanh), dense{11}}},
      {"many rows", {2, 40, 38}, {first(3, 3, 1, activation::relu), windows(2, 3, activation::none), dense{3}}},
      {"edges",
       {1, 12, 14},
       {first(7, 3, 1, activation::tanh), first(5, 3, 1, activation::sigmoid), windows(2, 2, activation::sigmoid),
        dense{2}}},
      {"first layer", {3, 8, 12}, {windows(4, 4, activation::relu), dense{5}}},
      {"one window", {1, 9, 9}, {first(1, 5, 0, activation::tanh), windows(5, 5, activation::tanh), dense{3}}},
      {"rows of a vector", {1, 20, 20}, {first(8, 5, 0, activation::none), windows(4, 4, activation::relu), dense{17}}},
  };
}

/// Weights after some steps.
std::vector<double> trained(const small_set& set, training_options options, const std::string& implementation,
                            std::int64_t steps, dtype type = dtype::f64) {
  context<exec> ctx;
  options.implementation = implementation;
  auto training = set.trainer(ctx, options, type);
  training.advance(steps);
  return training.weights();
}

/// After one step, gradients are sums of at most some ten thousand products of order 1, in another order. So they
/// differ by less than 1e4 units of roundoff. The bound is that of the document that asks for it.
TEST(table_ways, agree_with_layers_after_one_step) {
  for (const auto& net : {narrow_net(), named_net("mnist-2f"), named_net("lenet5")}) {
    const small_set set(net, 7);
    context<exec> ctx;
    for (const loss which : tests::all_losses) {
      for (const std::int64_t batch : {1, 5, 300}) {
        training_options options{.loss = which, .learning_rate = 0.1, .batch = batch};
        const std::vector<double> expected = trained(set, options, "layers", 1);
        for (const std::string& implementation : set.implementations(ctx, options)) {
          EXPECT_LT(largest_difference(trained(set, options, implementation, 1), expected), 1e-12)
              << implementation << ", " << net.name << ", " << name_of(which) << ", batch " << batch;
        }
      }
    }
  }
}

/// The bounds are those of the test before, in units of the type.
TEST(table_ways, agree_with_layers_where_windows_are_adjacent) {
  for (const description& net : nets_of_adjacent_windows()) {
    const small_set set(net, 7);
    context<exec> ctx;
    for (const dtype type : {dtype::f64, dtype::f32}) {
      const double bound = 1e4 * (type == dtype::f64 ? 0x1p-53 : 0x1p-24);
      for (const optimizer rule : {optimizer::sgd, optimizer::momentum}) {
        for (const std::int64_t batch : {1, 5}) {
          const training_options options{
              .loss = loss::sigmoid, .optimizer = rule, .learning_rate = 0.1, .batch = batch};
          const std::vector<double> expected = trained(set, options, "layers", 1, type);
          for (const std::string& implementation : set.implementations(ctx, options, type)) {
            EXPECT_LT(largest_difference(trained(set, options, implementation, 1, type), expected), bound)
                << implementation << ", " << net.name << ", " << dtype_name(type) << ", batch " << batch;
          }
        }
      }
    }
  }
}

/// More images than groups, in several rounds of a team, with an epoch that ends with fewer images than groups.
TEST(table_ways, take_batches_of_many_images) {
  const small_set set(named_net("mnist-2f"), 450);
  const training_options options{.learning_rate = 0.1, .batch = 400};
  context<exec> ctx;
  for (const std::string& implementation : set.implementations(ctx, options)) {
    EXPECT_LT(largest_difference(trained(set, options, implementation, 3), trained(set, options, "layers", 3)), 1e-11)
        << implementation;
  }
}

TEST(table_ways, take_the_nets_that_they_are_made_for) {
  context<exec> ctx;
  for (const char* const name : {"mnist-2f", "lenet5", "ece408-2019"}) {
    const small_set set(named_net(name), 3);
    EXPECT_THAT(set.implementations(ctx, {.batch = 1}, dtype::f32), testing::Contains("persistent")) << name;
    EXPECT_THAT(set.implementations(ctx, {.batch = 64}, dtype::f32), testing::Contains("fused")) << name;
    if constexpr (teams_meet) {
      EXPECT_THAT(set.implementations(ctx, {.batch = 64}, dtype::f32), testing::Contains("persistent")) << name;
    }
  }
}

TEST(table_ways, decline_with_a_reason) {
  context<exec> ctx;
  const auto reason = [&](const description& net, const training_options& options) {
    const small_set set(net, 2);
    return tests::message_of<unsupported_error>([&] { (void)set.trainer(ctx, options); });
  };
  const description wide{"wide", {1, 1200, 1200}, {pooling{.window = {9, 9}, .stride = {9, 9}}, dense{3}}};
  EXPECT_THAT(reason(wide, {.implementation = "fused"}),
              AllOf(HasSubstr("fused: needs "), HasSubstr("bytes of scratch memory for an image and its filters")));
  EXPECT_THAT(reason(tests::unusual_net(), {.loss = loss::squared, .batch = 1, .implementation = "persistent"}),
              HasSubstr("persistent: does not train a softmax layer with squared errors"));
  description deep{"deep", {1, 2, 2}, std::vector<layer>(17, dense{3})};
  EXPECT_THAT(reason(deep, {.implementation = "fused"}),
              HasSubstr("fused: takes nets of up to 16 layers, and this one has 17"));
  if constexpr (!teams_meet) {
    EXPECT_THAT(reason(named_net("mnist-2f"), {.batch = 2, .implementation = "persistent"}),
                HasSubstr("persistent: takes steps of one image, because teams cannot meet within a launch here"));
  }
}

TEST(table_ways, are_taken_where_they_are_faster) {
  context<exec> ctx;
  const auto taken_by = [&](const description& net, std::int64_t batch) {
    const small_set set(net, 4);
    return std::string(set.trainer(ctx, {.batch = batch}, dtype::f32).implementation());
  };
  const auto taken = [&](const char* net, std::int64_t batch) { return taken_by(named_net(net), batch); };
  const auto with_filter = [](extent2 filter, extent2 stride, std::int64_t side) {
    return description{
        "filter", {1, side, side}, {convolution{.channels = 7, .filter = filter, .stride = stride}, dense{10}}};
  };
  constexpr bool on_host = is_host_space<exec>;
  EXPECT_EQ(taken("mnist-2f", 1), "persistent");
  EXPECT_EQ(taken("lenet5", 1), on_host ? "layers" : "persistent");
  if constexpr (on_host) {
    EXPECT_EQ(taken("mnist-2f", 4), teams_meet ? "persistent" : "fused");
    EXPECT_EQ(taken("lenet5", 4), "layers");
    EXPECT_NE(taken_by(with_filter({5, 5}, {1, 1}, 28), 4), "layers");
    EXPECT_EQ(taken_by(with_filter({4, 5}, {1, 1}, 28), 4), "layers");
    EXPECT_EQ(taken_by(with_filter({5, 5}, {2, 2}, 28), 4), "layers");
    EXPECT_NE(taken_by(with_filter({4, 5}, {1, 1}, 6), 1), "layers") << "it has few products";
  } else {
    EXPECT_NE(taken("lenet5", 4), "layers");
  }
}

}  // namespace
}  // namespace prumo::nets
