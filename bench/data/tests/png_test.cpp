// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scratch_folder.hpp"
#include <prumo/data/png.hpp>
#include <prumo/data/sha256.hpp>

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace prumo::data {
namespace {

/// The number at a place, big-endian.
std::uint32_t number_at(const std::string& bytes, std::size_t place) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<std::uint8_t>(bytes.at(place + i));
  return value;
}

TEST(png, begins_with_its_size_and_ends_as_it_must) {
  const scratch_folder folder;
  write_png(folder / "p.png", 2, 3, 1, std::vector<std::uint8_t>{0, 50, 100, 150, 200, 250});
  const std::string bytes = content_of_file(folder / "p.png");
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x89PNG\r\n\x1a\n", 8));
  EXPECT_EQ(bytes.substr(12, 4), "IHDR");
  EXPECT_EQ(number_at(bytes, 16), 3U);
  EXPECT_EQ(number_at(bytes, 20), 2U);
  EXPECT_EQ(bytes.substr(24, 5), std::string("\x08\0\0\0\0", 5));
  // The last chunk is the same in each PNG file, so its checksum is known.
  EXPECT_EQ(bytes.substr(bytes.size() - 12), std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12));
}

TEST(png, a_sheet_has_lines_between_the_images) {
  const scratch_folder folder;
  image_set images;
  images.count = 3;
  images.height = 2;
  images.width = 4;
  images.pixels.assign(24, 255);
  write_sheet(folder / "s.png", images, std::array<std::int64_t, 3>{0, 2, 1}, 2);
  const std::string bytes = content_of_file(folder / "s.png");
  EXPECT_EQ(number_at(bytes, 16), 11U);
  EXPECT_EQ(number_at(bytes, 20), 7U);
  images.channels = 3;
  images.count = 1;
  write_sheet(folder / "c.png", images, std::array<std::int64_t, 1>{0}, 9);
  EXPECT_EQ(content_of_file(folder / "c.png").at(25), 2);
}

TEST(png, what_does_not_fit_is_refused) {
  const scratch_folder folder;
  EXPECT_THROW(write_png(folder / "p", 2, 2, 1, std::vector<std::uint8_t>(3)), std::invalid_argument);
  EXPECT_THROW(write_png(folder / "p", 2, 2, 2, std::vector<std::uint8_t>(8)), std::invalid_argument);
  EXPECT_THROW(write_sheet(folder / "p", {}, {}, 2), std::invalid_argument);
}

}  // namespace
}  // namespace prumo::data
