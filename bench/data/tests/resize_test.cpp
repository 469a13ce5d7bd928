// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/digits.hpp>
#include <prumo/data/resize.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace prumo::data {
namespace {

image_set row_of(std::vector<std::uint8_t> pixels) {
  image_set set;
  set.count = 1;
  set.height = 1;
  set.width = static_cast<std::int64_t>(pixels.size());
  set.pixels = std::move(pixels);
  return set;
}

using pixels = std::vector<std::uint8_t>;

TEST(resize, the_same_size_changes_nothing) {
  const image_set images = generate_digits(0, 5).images;
  for (const resizing how : {resizing::area, resizing::bilinear}) {
    EXPECT_EQ(resized(images, 28, 28, how).pixels, images.pixels);
  }
}

TEST(resize, an_area_is_the_mean_of_what_it_covers) {
  EXPECT_EQ(resized(row_of({0, 10, 20, 40}), 1, 2, resizing::area).pixels, (pixels{5, 30}));
  EXPECT_EQ(resized(row_of({0, 30, 90}), 1, 2, resizing::area).pixels, (pixels{10, 70}));
  EXPECT_EQ(resized(row_of({7, 9}), 1, 6, resizing::area).pixels, (pixels{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(resized(row_of({0, 1}), 1, 1, resizing::area).pixels, pixels{1}) << "halves are rounded up";
}

TEST(resize, bilinear_pixels_lie_between_centres) {
  EXPECT_EQ(resized(row_of({0, 100}), 1, 4, resizing::bilinear).pixels, (pixels{0, 25, 75, 100}));
  EXPECT_EQ(resized(row_of({0, 100, 200}), 1, 1, resizing::bilinear).pixels, pixels{100});
  EXPECT_EQ(resized(row_of({9}), 3, 3, resizing::bilinear).pixels, pixels(9, 9));
}

TEST(resize, channels_and_images_stay_apart) {
  image_set set;
  set.count = 2;
  set.channels = 2;
  set.height = set.width = 2;
  for (const std::uint8_t value : std::array<std::uint8_t, 4>{10, 20, 30, 40})
    set.pixels.insert(set.pixels.end(), 4, value);
  for (const resizing how : {resizing::area, resizing::bilinear}) {
    const image_set large = resized(set, 3, 5, how);
    ASSERT_EQ(large.pixels.size(), 60U);
    for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(large.pixels[i], 10 * (i / 15 + 1));
  }
}

TEST(resize, no_size_is_refused) {
  EXPECT_THROW((void)resized(row_of({1}), 0, 1, resizing::area), std::invalid_argument);
  EXPECT_THROW((void)resized(row_of({1}), 1, 65536, resizing::area), std::invalid_argument);
}

}  // namespace
}  // namespace prumo::data
