// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of bytes, cut into chunks, against the same chunks one by one.

#include "all_scalars.hpp"
#include "filling.hpp"
#include "message_of.hpp"
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
  EXPECT_THAT(sizes_of(chunks, 23), ElementsAre(2, 4, 8, 9));
  EXPECT_THAT(sizes_of(chunks, 16), ElementsAre(2, 4, 8, 2));
  EXPECT_THAT(sizes_of(chunks, 5), ElementsAre(2, 3));
  EXPECT_THAT(sizes_of(chunks, 3), ElementsAre(3));
  EXPECT_THAT(sizes_of(chunks, 1), ElementsAre(1));
  EXPECT_TRUE(sizes_of(chunks, 0).empty());
}

TEST(image_chunks, small_batches_are_one_chunk) {
  EXPECT_THAT(sizes_of(image_chunks(1000, 784), 1000), ElementsAre(1000));
  EXPECT_THAT(sizes_of(image_chunks(10000, 784), 10000), ElementsAre(1338, 2676, 5986));
  EXPECT_THAT(sizes_of(image_chunks(1000, 86 * 86), 1000), ElementsAre(256, 744));
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
  for (const std::int64_t count : {images, std::int64_t{2}, images}) {
    std::vector<T> found(static_cast<std::size_t>(count) * 5, T(-1.0F));
    chunked.forget();
    chunked.run(weights, pixels.data(), count, found.data());
    ctx.fence();

    std::vector<T> expected;
    const image_chunks chunks(most, net.input.size(), 3);
    std::int64_t first = 0;
    for (const std::int64_t part : sizes_of(chunks, count)) {
      const tests::images<T> x("x", static_cast<std::size_t>(part), 2, 9, 7);
      const Kokkos::View<T**, Kokkos::LayoutRight, exec> y("y", static_cast<std::size_t>(part), 5);
      const auto numbers = Kokkos::create_mirror_view(x);
      for (std::size_t i = 0; i < static_cast<std::size_t>(part) * size; ++i) {
        const double number = pixels[static_cast<std::size_t>(first) * size + i] * (1.0 / 255);
        numbers.data()[i] = T(static_cast<typename scalar_traits<T>::compute_type>(number));
      }
      Kokkos::deep_copy(x, numbers);
      plan.run(ctx, x, weights, arena, y);
      ctx.fence();
      const auto result = tests::host_copy(y);
      expected.insert(expected.end(), result.data(), result.data() + result.size());
      first += part;
    }
    ASSERT_EQ(expected.size(), found.size());
    EXPECT_EQ(std::memcmp(expected.data(), found.data(), found.size() * sizeof(T)), 0) << count << " images";
    EXPECT_FALSE(std::isnan(static_cast<double>(found.front())));
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
