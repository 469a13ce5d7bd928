// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nets against their exact results, in every type, and what a plan refuses.

#include "all_scalars.hpp"
#include "filling.hpp"
#include "message_of.hpp"
#include "random_net.hpp"
#include "unusual_net.hpp"
#include <prumo/error.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/reference.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace prumo::nets {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using exec = Kokkos::DefaultExecutionSpace;

template <class T>
using numbers = Kokkos::View<T*, exec>;
template <class T>
using rows = Kokkos::View<T**, Kokkos::LayoutRight, exec>;

template <class T>
arithmetic arithmetic_of() {
  if constexpr (std::is_same_v<T, double>) return {0x1p-53L, 0, smallest_double_roundoff};
  if constexpr (std::is_same_v<T, float>) return {};
  if constexpr (std::is_same_v<T, f16>) return {0x1p-24L, 0x1p-11L, 0x1p-25L};
  return {0x1p-24L, 0x1p-8L, 0x1p-134L};
}

/// Weights as networks have them: the more terms a sum has, the smaller they are. Returns them without gaps.
template <class T>
std::vector<double> set_weights(const forward_plan& plan, const numbers<T>& weights) {
  std::vector<double> packed;
  const auto copy = tests::host_copy(weights);
  std::uint64_t stream = 10;
  for (const placed_parameter& at : plan.parameters()) {
    const std::int64_t outputs = at.what.extents.front();
    const double scale = 1.5 / std::sqrt(static_cast<double>(at.what.size()) / static_cast<double>(outputs));
    for (std::int64_t i = 0; i < at.what.size(); ++i) {
      const T value(static_cast<float>(scale * random::uniform<double>(7, stream, static_cast<std::uint64_t>(i))));
      copy(static_cast<std::size_t>(at.offset + i)) = value;
      packed.push_back(static_cast<double>(value));
    }
    ++stream;
  }
  tests::write_back(weights, copy);
  return packed;
}

/// Runs a net on some images and holds each result against its bound.
template <class T>
void expect_exact(const description& net, std::size_t images, bool channels_last = false) {
  const forward_plan plan(net, dtype_of<T>());
  context<exec> ctx;
  const auto count = static_cast<std::int64_t>(images);
  const auto extent = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  const image_shape& input = net.input;
  const auto x =
      channels_last ? tests::channels_last<T>(images, extent(input.channels), extent(input.height), extent(input.width))
                    : tests::strided_images<T>(tests::images<T>("x", images, extent(input.channels),
                                                                extent(input.height), extent(input.width)));
  const numbers<T> weights("weights", extent(plan.weights_elements())),
      arena("arena", extent(plan.arena_elements(count)));
  const rows<T> y("y", images, extent(plan.facts().classes));
  const std::vector<double> packed = set_weights(plan, weights);
  tests::filled_with_nan(arena);
  tests::set_uniform(x, 1);
  plan.run(ctx, x, weights, arena, y);
  ctx.fence();
  const auto pixels = tests::host_copy(x);
  const auto result = tests::host_copy(y);
  for (std::size_t n = 0; n < images; ++n) {
    std::vector<double> image;
    for (std::size_t c = 0; c < x.extent(1); ++c) {
      for (std::size_t i = 0; i < x.extent(2); ++i) {
        for (std::size_t j = 0; j < x.extent(3); ++j) image.push_back(static_cast<double>(pixels(n, c, i, j)));
      }
    }
    const auto expected = exact_forward(net, packed, image, arithmetic_of<T>());
    ASSERT_EQ(expected.size(), y.extent(1));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_LE(std::fabs(static_cast<long double>(result(n, k)) - expected[k].value), expected[k].bound)
          << net.name << ", image " << n << ", class " << k << ": " << static_cast<double>(result(n, k))
          << ", expected " << static_cast<double>(expected[k].value);
      // A bound that allows everything shows nothing.
      if (sizeof(T) >= 4) {
        EXPECT_LT(expected[k].bound, 0.2L * std::max(1.0L, std::fabs(expected[k].value)));
      }
    }
  }
}

template <class T>
class forward_types : public testing::Test {};
TYPED_TEST_SUITE(forward_types, tests::all_scalars);

TYPED_TEST(forward_types, the_known_nets_are_exact_within_their_bounds) {
  for (const std::string_view name : known_nets()) expect_exact<TypeParam>(named_net(name), 3);
}

TYPED_TEST(forward_types, an_unusual_net_with_channels_in_any_place) {
  expect_exact<TypeParam>(tests::unusual_net(), 4);
  expect_exact<TypeParam>(tests::unusual_net(), 2, true);
}

TYPED_TEST(forward_types, nets_that_nobody_chose) {
  tests::random_nets random(47);
  for (int number = 0; number < 12; ++number) {
    description net = random.next();
    net.name += " " + std::to_string(number);
    expect_exact<TypeParam>(net, static_cast<std::size_t>(random.between(1, 5)));
  }
}

TYPED_TEST(forward_types, nets_that_begin_with_other_layers) {
  expect_exact<TypeParam>({"dense first", {2, 5, 4}, {dense{7, true, activation::relu}, dense{3}}}, 5);
  expect_exact<TypeParam>(
      {"shared first", {3, 8, 8}, {shared_convolution{.filter = {3, 3}}, dense{4, true, activation::none}}}, 5);
  expect_exact<TypeParam>({"pooling first", {1, 9, 9}, {pooling{.window = {2, 2}, .stride = {2, 2}}, dense{4}}}, 5);
}

TEST(forward_plan, fuses_pooling_and_tells_its_steps) {
  const forward_plan plan(named_net("lenet5"), dtype::f32);
  std::vector<std::string> names;
  for (std::size_t step = 0; step < plan.steps(); ++step) names.push_back(plan.step_name(step));
  EXPECT_THAT(names, ElementsAre("conv1+pool1", "conv2+pool2", "dense1", "dense2", "dense3"));
  EXPECT_EQ(plan.step_layers(1), std::pair(std::size_t{2}, std::size_t{4}));
  for (const placed_parameter& at : plan.parameters()) EXPECT_EQ(at.offset % 32, 0) << at.what.name;
  EXPECT_GE(plan.weights_elements(), plan.facts().parameters);
}

TEST(forward_plan, runs_no_image) {
  const forward_plan plan(named_net("mnist-2f"), dtype::f32);
  context<exec> ctx;
  const tests::images<float> x("x", 0, 1, 28, 28);
  const numbers<float> weights("weights", static_cast<std::size_t>(plan.weights_elements())), arena("arena", 0);
  plan.run(ctx, x, weights, arena, rows<float>("y", 0, 10));
}

TEST(forward_plan, refuses_arrays_that_do_not_fit) {
  const forward_plan plan(named_net("lenet5"), dtype::f32);
  context<exec> ctx;
  const tests::images<float> x("my x", 2, 1, 28, 28);
  const numbers<float> weights("my weights", static_cast<std::size_t>(plan.weights_elements())),
      arena("my arena", static_cast<std::size_t>(plan.arena_elements(2)));
  const rows<float> y("my y", 2, 10);
  const auto message = [&](const array_ref& a, const array_ref& b, const array_ref& c, const array_ref& d) {
    return tests::message_of<error>([&] { plan.run(ctx, a, b, c, d); });
  };
  const tests::images<float> other_size("other", 2, 1, 32, 32);
  EXPECT_THAT(message(other_size, weights, arena, y),
              HasSubstr("images [n x 1 x 28 x 28], as the net 'lenet5' takes them"));
  const numbers<float> few("few", 1000);
  EXPECT_THAT(message(x, few, arena, y),
              HasSubstr(std::to_string(plan.weights_elements()) + " elements or more, without gaps"));
  EXPECT_THAT(message(x, weights, few, y), HasSubstr("'few'"));
  const rows<float> classes("classes", 2, 9);
  EXPECT_THAT(message(x, weights, arena, classes), HasSubstr("y [images x 10]"));
  const rows<double> wide("wide", 2, 10);
  EXPECT_THAT(message(x, weights, arena, wide), HasSubstr("arrays of f32, the type of the plan"));
  EXPECT_THAT(tests::message_of<argument_error>([&] { forward_plan(named_net("lenet5"), dtype::i64); }),
              HasSubstr("expected the type f32, f64, f16 or bf16; got i64"));
}

}  // namespace
}  // namespace prumo::nets
