// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/digits.hpp>
#include <prumo/data/sha256.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace prumo::data {
namespace {

TEST(digits, the_usual_set_has_the_same_bytes_everywhere) {
  const labelled_images set = generate_digits(0, usual_train_images + usual_test_images);
  EXPECT_EQ(sha256_of(set.images.pixels), "80e84a1c33ab0b700eca038f5d9b8a1c5acfd512a066861caca55904cffc8473");
  EXPECT_EQ(sha256_of(set.labels.classes), "eb571b09e23d6af05e62b3776cf74e853993627db9a6f95b8f509fd03eeba896");
  std::array<std::int64_t, 10> counts{};
  for (const std::uint8_t digit : set.labels.classes) ++counts.at(digit);
  for (const std::int64_t count : counts) EXPECT_NEAR(static_cast<double>(count), 7000, 400);  // five deviations
}

TEST(digits, an_image_depends_on_its_number_alone) {
  const labelled_images all = generate_digits(0, 50);
  const labelled_images some = generate_digits(40, 7);
  for (std::int64_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(std::ranges::equal(some.images.image(i), all.images.image(40 + i)));
    EXPECT_EQ(some.labels.classes[static_cast<std::size_t>(i)], all.labels.classes[static_cast<std::size_t>(40 + i)]);
  }
  EXPECT_NE(generate_digits(0, 50, {.seed = 2}).images.pixels, all.images.pixels);
}

TEST(digits, images_have_any_size_and_a_digit_in_it) {
  for (const auto& [height, width] :
       {std::pair{8, 8}, std::pair{28, 40}, std::pair{86, 86}, std::pair{301, 196}, std::pair{8, 1024}}) {
    const labelled_images set = generate_digits(0, 20, {.height = height, .width = width, .classes = 3});
    EXPECT_EQ(set.images.height, height);
    EXPECT_EQ(set.images.width, width);
    for (std::int64_t i = 0; i < set.images.count; ++i) {
      EXPECT_GT(*std::ranges::max_element(set.images.image(i)), 100) << height << " x " << width << ", image " << i;
      EXPECT_LT(set.labels.classes[static_cast<std::size_t>(i)], 3);
    }
  }
}

TEST(digits, progress_counts_images) {
  std::vector<std::int64_t> told;
  (void)generate_digits(0, 2500, {.height = 8, .width = 8}, [&](std::int64_t done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector<std::int64_t>{0, 1000, 2000}));
}

TEST(digits, options_out_of_range_are_refused) {
  EXPECT_THROW((void)generate_digits(0, 1, {.height = 7}), std::invalid_argument);
  EXPECT_THROW((void)generate_digits(0, 1, {.width = 1025}), std::invalid_argument);
  EXPECT_THROW((void)generate_digits(0, 1, {.classes = 11}), std::invalid_argument);
  EXPECT_THROW((void)generate_digits(0, -1), std::invalid_argument);
  EXPECT_TRUE(generate_digits(0, 0).images.pixels.empty());
}

}  // namespace
}  // namespace prumo::data
