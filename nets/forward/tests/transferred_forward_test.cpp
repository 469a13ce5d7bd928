// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of bytes, cut into chunks, against the same chunks one by one.

#include "all_scalars.hpp"
#include "filling.hpp"
#include "message_of.hpp"
#include <prumo/nets/split_plan.hpp>
#include <prumo/nets/transferred_forward.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace prumo::nets {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using exec = Kokkos::DefaultExecutionSpace;

std::vector<std::int64_t> sizes_of(const image_chunks& chunks, std::int64_t images) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t before = 0, left = images; left > 0; left -= before) {
    before = chunks.next(before, left);
    sizes.push_back(before);
  }
  return sizes;
}

TEST(image_chunks, grow_and_leave_no_small_rest) {
  const image_chunks chunks(23, 100, 2);
  EXPECT_THAT(sizes_of(chunks, 23), ElementsAre(2, 3, 4, 6, 8));
  EXPECT_THAT(sizes_of(chunks, 16), ElementsAre(2, 3, 4, 7));
  EXPECT_THAT(sizes_of(chunks, 5), ElementsAre(2, 3));
  EXPECT_THAT(sizes_of(chunks, 3), ElementsAre(3));
  EXPECT_THAT(sizes_of(chunks, 1), ElementsAre(1));
  EXPECT_TRUE(sizes_of(chunks, 0).empty());
}

TEST(image_chunks, small_batches_are_one_chunk) {
  EXPECT_THAT(sizes_of(image_chunks(1000, 784), 1000), ElementsAre(1000));
  EXPECT_THAT(sizes_of(image_chunks(10000, 784), 10000), ElementsAre(1338, 2408, 3799, 2455));
  EXPECT_THAT(sizes_of(image_chunks(1000, 7396), 1000), ElementsAre(256, 460, 284));
  EXPECT_THAT(sizes_of(image_chunks(10000, 2304), 10000), ElementsAre(456, 820, 1294, 1910, 2711, 2809));
}

TEST(image_chunks, none_is_larger_than_the_largest_and_no_image_is_lost) {
  for (const std::int64_t most : {1, 7, 100, 1000, 9999}) {
    for (const std::int64_t first : {1, 2, 3, 50}) {
      const image_chunks chunks(most, std::int64_t{1} << 20U, first);
      for (std::int64_t images = 1; images <= most; images += std::max<std::int64_t>(1, most / 97)) {
        std::int64_t sum = 0;
        for (const std::int64_t size : sizes_of(chunks, images)) {
          EXPECT_GT(size, 0);
          EXPECT_LE(size, chunks.largest());
          sum += size;
        }
        EXPECT_EQ(sum, images);
      }
      EXPECT_LE(chunks.largest(), most);
    }
  }
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_LE(image_chunks(huge, 784).largest(), (std::int64_t{1} << 26U) / 784 + 1338);
}

template <class T>
class transferred_types : public testing::Test {};
TYPED_TEST_SUITE(transferred_types, tests::all_scalars);

TYPED_TEST(transferred_types, chunks_give_what_single_batches_give) {
  using T = TypeParam;
  constexpr std::int64_t images = 13, most = 15;
  const description net{"small",
                        {2, 9, 7},
                        {convolution{.channels = 3, .filter = {3, 2}, .activate = activation::relu},
                         pooling{.window = {2, 2}, .stride = {2, 2}}, dense{5}}};
  const forward_plan plan(net, dtype_of<T>());
  context<exec> ctx;
  const Kokkos::View<T*, exec> weights("weights", static_cast<std::size_t>(plan.weights_elements())),
      arena("arena", static_cast<std::size_t>(plan.arena_elements(most)));
  tests::set_uniform(weights, 3);
  const auto size = static_cast<std::size_t>(net.input.size());
  std::vector<std::uint8_t> pixels(images * size);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>((i * 37 + i / 251) % 256);

  // 3, 6 and 4 images, then a batch that is a single chunk.
  transferred_forward<exec> chunked(ctx, plan, most, 3);
  const split_plan parts(plan);
  const image_chunks chunks(most, net.input.size(), 3);
  for (const std::int64_t count : {images, std::int64_t{2}, images}) {
    std::vector<T> found(static_cast<std::size_t>(count) * 5, T(-1.0F));
    chunked.forget();
    chunked.run(weights, pixels.data(), count, found.data());
    ctx.fence();

    const tests::images<T> features("features", static_cast<std::size_t>(count), 3, 3, 3);
    const Kokkos::View<T**, Kokkos::LayoutRight, exec> y("y", static_cast<std::size_t>(count), 5);
    const auto part_of = [](const auto& view, std::int64_t first, std::int64_t part) {
      const auto begin = static_cast<std::size_t>(first);
      const auto range = Kokkos::make_pair(begin, begin + static_cast<std::size_t>(part));
      if constexpr (std::decay_t<decltype(view)>::rank() == 2) {
        return Kokkos::subview(view, range, Kokkos::ALL);
      } else {
        return Kokkos::subview(view, range, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL);
      }
    };
    const auto run_dense = [&](std::int64_t first, std::int64_t part) {
      parts.from_dense->run(ctx, part_of(features, first, part), parts.weights_from_dense(weights), arena,
                            part_of(y, first, part));
    };
    std::int64_t first = 0;
    for (const std::int64_t part : sizes_of(chunks, count)) {
      const tests::images<T> x("x", static_cast<std::size_t>(part), 2, 9, 7);
      const auto numbers = Kokkos::create_mirror_view(x);
      for (std::size_t i = 0; i < static_cast<std::size_t>(part) * size; ++i) {
        const double number = pixels[static_cast<std::size_t>(first) * size + i] * (1.0 / 255);
        numbers.data()[i] = T(static_cast<typename scalar_traits<T>::compute_type>(number));
      }
      Kokkos::deep_copy(x, numbers);
      parts.before_dense.run(ctx, x, weights, arena, part_of(features, first, part));
      ctx.fence();
      // No two of these chunks are small enough to be taken together on a host.
      if (is_host_space<exec>) run_dense(first, part);
      first += part;
    }
    if (!is_host_space<exec>) run_dense(0, count);
    ctx.fence();
    const auto expected = tests::host_copy(y);
    ASSERT_EQ(expected.span(), found.size());
    EXPECT_EQ(std::memcmp(expected.data(), found.data(), found.size() * sizeof(T)), 0) << count << " images";
    EXPECT_FALSE(std::isnan(static_cast<double>(found.front())));
  }
}

TEST(split_plan, has_the_layers_before_the_first_dense_one_and_the_others) {
  const forward_plan whole(named_net("lenet5"), dtype::f32);
  const split_plan parts(whole);
  ASSERT_TRUE(parts.from_dense.has_value());
  EXPECT_EQ(parts.before_dense.net().layers.size(), 4);
  EXPECT_EQ(parts.before_dense.net().input, whole.net().input);
  EXPECT_EQ(parts.from_dense->net().layers.size(), whole.net().layers.size() - 4);
  EXPECT_EQ(parts.from_dense->net().input, (image_shape{16, 5, 5}));
  EXPECT_EQ(parts.features(), 400);
  EXPECT_EQ(parts.before_dense.weights_elements() + parts.from_dense->weights_elements(), whole.weights_elements());

  context<exec> ctx;
  const Kokkos::View<float*, exec> weights("weights", static_cast<std::size_t>(whole.weights_elements()));
  const array_ref rest = parts.weights_from_dense(weights);
  EXPECT_EQ(rest.data, weights.data() + whole.parameters()[4].offset);
  EXPECT_EQ(rest.extents[0], parts.from_dense->weights_elements());
}

TEST(split_plan, leaves_nets_whole_that_begin_with_a_dense_layer) {
  const description net{"rows", {1, 4, 4}, {dense{3}, softmax{}}};
  const split_plan parts(forward_plan(net, dtype::f64));
  EXPECT_FALSE(parts.from_dense.has_value());
  EXPECT_EQ(parts.before_dense.net(), net);
  EXPECT_EQ(parts.features(), 0);
}

TEST(split_plan, takes_as_many_images_together_as_have_room) {
  const split_plan parts(forward_plan(named_net("lenet5"), dtype::f32));
  EXPECT_EQ(parts.images_together(image_chunks(10000, 784), 10000), 10000);
  constexpr std::int64_t many = 1'000'000'000;
  const image_chunks chunks(many, 784);
  EXPECT_EQ(parts.images_together(chunks, many), (std::int64_t{1} << 26U) / 400);
  const split_plan doubles(forward_plan(named_net("lenet5"), dtype::f64));
  EXPECT_EQ(doubles.images_together(chunks, many), std::max(chunks.largest(), (std::int64_t{1} << 25U) / 400));
}

TEST(transferred_forward, takes_nets_that_begin_with_a_dense_layer) {
  const description net{"rows", {1, 3, 2}, {dense{4, true, activation::relu}, dense{2}}};
  const forward_plan plan(net, dtype::f64);
  context<exec> ctx;
  const Kokkos::View<double*, exec> weights("weights", static_cast<std::size_t>(plan.weights_elements()));
  const Kokkos::View<double*, exec> arena("arena", static_cast<std::size_t>(plan.arena_elements(1)));
  tests::set_uniform(weights, 5);
  constexpr std::size_t images = 7;
  std::vector<std::uint8_t> pixels(images * 6);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 6);
  std::vector<double> found(images * 2, -1.0);
  transferred_forward<exec> chunked(ctx, plan, images, 2);
  chunked.run(weights, pixels.data(), images, found.data());
  ctx.fence();
  for (std::size_t i = 0; i < images; ++i) {
    const tests::images<double> x("x", 1, 1, 3, 2);
    const Kokkos::View<double**, Kokkos::LayoutRight, exec> y("y", 1, 2);
    tests::set_elements(x, [&](auto, auto, auto row, auto column) { return pixels[i * 6 + row * 2 + column] / 255.0; });
    plan.run(ctx, x, weights, arena, y);
    ctx.fence();
    const auto expected = tests::host_copy(y);
    // Weights and pixels are at most 1. So a sum of the first layer is at most 7 and has an error of 14 units of
    // rounding of that, and one of the second layer is at most 29 and adds 5 units to the four errors.
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(found[i * 2 + k], expected(0, k), 2 * (4 * 14 * 7 + 5 * 29) * 0x1p-53) << i;
    }
  }
}

TEST(transferred_forward, takes_no_more_images_than_it_was_made_for) {
  const forward_plan plan(named_net("mnist-2f"), dtype::f32);
  context<exec> ctx;
  transferred_forward<exec> net(ctx, plan, 4);
  const Kokkos::View<float*, exec> weights("weights", static_cast<std::size_t>(plan.weights_elements()));
  EXPECT_THAT(tests::message_of<argument_error>([&] { net.run(weights, nullptr, 5, nullptr); }),
              HasSubstr("expected 0 to 4 images, as many as the constructor was told; got 5"));
  net.run(weights, nullptr, 0, nullptr);
}

}  // namespace
}  // namespace prumo::nets
