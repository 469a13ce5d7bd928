// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of images in an epoch, on host and device. bench/worker/tests holds it against the vectors of docs/.

#include "host_copy.hpp"
#include <prumo/nets/image_order.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace prumo::nets {
namespace {

using exec = Kokkos::DefaultExecutionSpace;

std::vector<std::int64_t> order_of(std::uint64_t seed, std::uint64_t epoch, std::int64_t count) {
  const image_order order(seed, epoch, count);
  std::vector<std::int64_t> images;
  for (std::int64_t i = 0; i < count; ++i) images.push_back(order(i));
  return images;
}

TEST(image_order, has_every_image_once) {
  for (const std::int64_t count : {1, 2, 3, 10, 255, 256, 257, 511, 60000}) {
    for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      std::vector<std::int64_t> sorted = order_of(3, epoch, count), expected(static_cast<std::size_t>(count));
      std::ranges::sort(sorted);
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(sorted, expected) << count << " images, epoch " << epoch;
    }
  }
}

TEST(image_order, differs_from_epoch_to_epoch_and_seed_to_seed) {
  EXPECT_NE(order_of(1, 0, 1000), order_of(1, 1, 1000));
  EXPECT_NE(order_of(1, 0, 1000), order_of(2, 0, 1000));
  EXPECT_EQ(order_of(1, 5, 1000), order_of(1, 5, 1000));
}

TEST(image_order, stays_inside_of_sets_that_no_memory_holds) {
  const std::int64_t count = (std::int64_t{1} << 61U) + 12345;
  const image_order order(9, 2, count);
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t image = order(count - 1 - i);
    EXPECT_GE(image, 0);
    EXPECT_LT(image, count);
  }
}

struct order_kernel {
  Kokkos::View<std::int64_t*, exec> images;
  std::int64_t count;
  KOKKOS_FUNCTION void operator()(int i) const { images(i) = image_of(7, 4, i, count); }
};

TEST(image_order, is_the_same_on_devices) {
  constexpr int count = 1000;
  const Kokkos::View<std::int64_t*, exec> images("images", count);
  Kokkos::parallel_for("image order", Kokkos::RangePolicy<exec>(0, count), order_kernel{images, count});
  const auto found = tests::host_copy(images);
  const std::vector<std::int64_t> expected = order_of(7, 4, count);
  for (int i = 0; i < count; ++i) EXPECT_EQ(found(static_cast<std::size_t>(i)), expected[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace prumo::nets
