// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the comparison of a net with its exact results says, and where a net's arrays lie.
#include "net_numbers.hpp"
#include "net_placement.hpp"
#include <prumo/inference/net_comparison.hpp>
#include <prumo/nets/image_chunks.hpp>
#include <prumo/nets/split_plan.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace prumo::worker {
namespace {

using inference::arithmetic_of;
using inference::compare_with_reference;
using inference::computed_image;
using inference::prediction;
using testing::HasSubstr;

/// Two classes of two pixels: the results are the pixels themselves.
data::net two_pixels() {
  data::net net;
  net.description = {"pixels", {1, 1, 2}, {nets::dense{2, false, nets::activation::none}}};
  net.facts = nets::facts_of(net.description);
  return net;
}

protocol::check_answer compare(const std::vector<double>& pixels, const std::vector<double>& results) {
  const std::vector<double> weights{1, 0, 0, 1};
  const std::vector<computed_image> images{{17, pixels, results}};
  return compare_with_reference(two_pixels(), weights, images, arithmetic_of("f32"));
}

TEST(net_comparison, right_results_are_verified) {
  const protocol::check_answer answer = compare({0.25, 0.75}, {0.25, 0.75});
  EXPECT_TRUE(answer.verified);
  EXPECT_EQ(answer.error, 0);
  EXPECT_EQ(answer.checked, 1);
  EXPECT_EQ(answer.differing, 0);
  EXPECT_EQ(answer.undecided, 0);
}

TEST(net_comparison, a_result_beyond_its_bound_is_wrong_and_named) {
  const protocol::check_answer answer = compare({0.25, 0.75}, {0.25, 0.7501});
  EXPECT_FALSE(answer.verified);
  EXPECT_GT(answer.error.value_or(0), 1);
  EXPECT_THAT(answer.message, HasSubstr("image 17, class 1: 0.7501, expected 0.75 within"));
  EXPECT_EQ(answer.differing, 0) << "the class is the same";
}

/// A sum of many terms that cancel, and a layer that doubles it.
TEST(net_comparison, what_steps_left_is_held_against_their_own_inputs) {
  constexpr std::int64_t inputs = 2000;
  data::net net;
  net.description = {"long", {1, 1, inputs}, {nets::dense{1, false}, nets::dense{1, false}}};
  net.facts = nets::facts_of(net.description);
  std::vector<double> weights(inputs, 1.0), pixels(inputs, 1.0);
  std::fill(weights.begin() + inputs / 2, weights.end(), -1.0);
  pixels.front() = 1.25;
  weights.push_back(2);
  const std::vector<inference::net_step> steps{{"dense1", 0, 1}, {"dense2", 1, 2}};
  const auto compared = [&](double first, double second, bool is_known) {
    computed_image image{3, pixels, {second}};
    if (is_known) image.steps = {{first}, {second}};
    const std::vector<computed_image> images{image};
    return compare_with_reference(net, weights, images, arithmetic_of("f16"), steps);
  };
  EXPECT_TRUE(compared(0.25, 0.5, true).verified);
  // The second step is off by 4 units in the last place: the whole net may be, the step may not.
  EXPECT_TRUE(compared(0.25, 0.501953125, false).verified);
  const protocol::check_answer wrong = compared(0.25, 0.501953125, true);
  EXPECT_FALSE(wrong.verified);
  EXPECT_THAT(wrong.message, HasSubstr("image 3, step dense2, result 0: 0.501953125, expected 0.5 within"));
  // A step is right if it is so for what the step before has left.
  EXPECT_TRUE(compared(0.2509765625, 0.501953125, true).verified);
}

TEST(net_comparison, another_class_differs_only_beyond_the_bounds) {
  EXPECT_EQ(compare({0.25, 0.75}, {0.8, 0.75}).differing, 1);
  const double next = std::nextafter(0.75F, 1.0F);
  const protocol::check_answer close = compare({0.75, next}, {next, 0.75});
  EXPECT_EQ(close.undecided, 1);
  EXPECT_EQ(close.differing, 0);
}

TEST(net_comparison, nan_is_wrong_and_has_no_error) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& results : {std::vector<double>{nan, 0.75}, {0.25, nan}, {nan, nan}}) {
    const protocol::check_answer answer = compare({0.25, 0.75}, results);
    EXPECT_FALSE(answer.verified);
    EXPECT_FALSE(answer.error);
    EXPECT_THAT(answer.message, HasSubstr("nan"));
  }
}

TEST(net_comparison, the_first_of_equal_results_is_the_prediction) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(prediction(std::vector<double>{1, 3, 3}), 1U);
  EXPECT_EQ(prediction(std::vector<double>{nan, -1, nan}), 1U);
  EXPECT_EQ(prediction(std::vector<double>{nan, nan}), 0U);
}

TEST(net_numbers, are_those_of_the_type) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    std::vector<std::byte> bytes(3 * dtype_size(type));
    write_numbers(type, std::vector<float>{0.5F, -2, 1024}, bytes.data());
    EXPECT_EQ(read_numbers(type, bytes.data(), 3), (std::vector<double>{0.5, -2, 1024}));
    const std::vector<double> pixels = pixel_numbers(type);
    EXPECT_EQ(pixels.front(), 0);
    EXPECT_EQ(pixels.back(), 1);
    EXPECT_NEAR(pixels[51], 0.2, 1e-3);
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const double exact = static_cast<double>(byte) / 255;
    EXPECT_EQ(pixel_numbers(dtype::f32)[byte], static_cast<double>(static_cast<float>(byte) / 255.0F)) << byte;
    EXPECT_EQ(pixel_numbers(dtype::f16)[byte], static_cast<double>(f16(static_cast<float>(byte) / 255.0F))) << byte;
    EXPECT_NEAR(pixel_numbers(dtype::f64)[byte], exact, 0x1p-52 * exact) << byte;
  }
}

TEST(net_placement, no_number_overflows) {
  const nets::forward_plan plan(nets::named_net("lenet5"), dtype::f32);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t batch : {most, most / 2, std::int64_t{1} << 60}) {
    EXPECT_EQ(place_net(plan, batch, 10000, 1 << 20).device_bytes, most) << batch;
  }
}

TEST(net_placement, batches_pass_the_cache_as_far_as_there_are_images) {
  const nets::forward_plan plan(nets::named_net("lenet5"), dtype::f32);
  const std::int64_t slot = 100 * 28 * 28 * 4;
  EXPECT_EQ(place_net(plan, 100, 10000, static_cast<std::size_t>(10 * slot)).slots, 20);
  EXPECT_EQ(place_net(plan, 100, 1000, static_cast<std::size_t>(10 * slot)).slots, 10);
  EXPECT_EQ(place_net(plan, 100, 7, std::size_t{1} << 30).slots, 1);
}

TEST(net_placement, both_parts_of_a_split_net_share_an_arena) {
  const nets::forward_plan plan(nets::named_net("lenet5"), dtype::f32);
  const nets::split_plan parts(plan);
  ASSERT_TRUE(parts.from_dense.has_value());
  const std::int64_t batch = 100, pixels = plan.net().input.size();
  ASSERT_EQ(nets::image_chunks(batch, pixels).largest(), batch);
  const std::int64_t of_images = parts.before_dense.arena_elements(1), of_rows = parts.from_dense->arena_elements(1);
  ASSERT_GT(of_images, of_rows);
  ASSERT_GT(of_rows, 0);
  const std::int64_t numbers = pixels + of_images + parts.features() + plan.facts().classes;
  EXPECT_EQ(
      place_net(plan, batch, 10000, 1 << 20, true).device_bytes - place_net(plan, batch, 10000, 1 << 20).device_bytes,
      batch * (2 * pixels + 4 * numbers));
}

TEST(net_placement, steps_have_the_costs_of_their_layers) {
  const nets::forward_plan plan(nets::named_net("lenet5"), dtype::f32);
  const auto steps = describe_steps(plan, 10);
  ASSERT_EQ(steps.size(), plan.steps());
  double flops = 0;
  for (const auto& it : steps) flops += it.model.flops.value_or(0);
  EXPECT_EQ(flops, model_of(plan, 10).flops);
  EXPECT_EQ(steps.front().name, "conv1+pool1");
  EXPECT_EQ(steps.front().model.bytes, 4 * (10 * (28 * 28 + 6 * 14 * 14) + 150 + 6));
}

}  // namespace
}  // namespace prumo::worker
