// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "malformed.hpp"
#include "scratch_folder.hpp"
#include <prumo/data/idx.hpp>

namespace prumo::data {
namespace {

std::vector<malformed> images() {
  const std::string pixels(4 * 4, '\x7f');
  const std::string again = "; fetch or copy the file again";
  return {
      {"empty", "", {"byte 0: the file ends after 0 bytes", again}},
      {"three_bytes", std::string(3, '\0'), {"byte 0: the file ends after 3 bytes", again}},
      {"text",
       "label,pixel0\n",
       {"byte 0: the magic number is 1818321509, and IDX files have 2049", "; name an IDX file"}},
      {"png", "\x89PNG\r\n\x1a\n", {"byte 0: the magic number is ", "; name an IDX file"}},
      {"swapped", little_endian({2051, 1, 4, 4}) + pixels, {"byte 0: ", "swapped bytes; write its numbers big-endian"}},
      {"floats", big_endian({0x0D03, 1, 4, 4}) + pixels, {"byte 2: the file holds 32-bit floats", "; convert it"}},
      {"signed_bytes", big_endian({0x0903, 1, 4, 4}) + pixels, {"byte 2: the file holds signed bytes", "; convert it"}},
      {"unknown_type",
       big_endian({0x0703, 1, 4, 4}) + pixels,
       {"byte 0: the magic number is 1795", "; name an IDX file"}},
      {"two_extents", big_endian({0x0802, 4, 4}) + pixels, {"byte 3: the file has 2 extents", "; name another file"}},
      {"255_extents", big_endian({0x08FF, 4, 4}) + pixels, {"byte 3: the file has 255 extents", "; name another file"}},
      {"labels", big_endian({2049, 3}) + "abc", {"byte 3: these are labels", "; name a file such as t10k-images-idx3"}},
      {"no_extents", big_endian({2051}), {"byte 4: the file ends within its header", again}},
      {"half_a_number", big_endian({2051, 1, 4}) + "ab", {"byte 14: the file ends within its header", again}},
      {"no_pixels",
       big_endian({2051, 1, 4, 4}),
       {"byte 16: the header promises 1 images of 4 x 4, 16 bytes, and the file holds 0 after the header", again}},
      {"short",
       big_endian({2051, 2, 4, 4}) + pixels,
       {"byte 32: the header promises 2 images of 4 x 4, 32 bytes, and the file holds 16 after the header", again}},
      {"long",
       big_endian({2051, 1, 4, 4}) + pixels + "x",
       {"byte 32: the header promises 1 images", "16 bytes, and the file holds 17 after the header", again}},
      {"no_rows", big_endian({2051, 1, 0, 4}), {"byte 8: an image has 0 rows, and prumo reads 1 to 65535", again}},
      {"wide", big_endian({2051, 1, 4, 0x10000}) + pixels, {"byte 12: an image has 65536 columns", again}},
      {"billions",
       big_endian({2051, 0xFFFFFFFF, 4, 4}) + pixels,
       {"the header promises 4294967295 images of 4 x 4, 68719476720 bytes, and the file holds 16", again}},
      {"beyond_memory",
       big_endian({2051, 0xFFFFFFFF, 0xFFFF, 0xFFFF}) + pixels,
       {"byte 8: the header promises more than 1 TiB", again}},
      {"overflow",
       big_endian({2052, 0xFFFFFFFF, 0xFFFF, 0xFFFF, 0xFFFF}),
       {"byte 8: the header promises more than 1 TiB", again}},
      {"no_channels", big_endian({2052, 1, 0, 4, 4}), {"byte 8: an image has 0 channels", again}},
      {"course_labels",
       little_endian({0, 40}) + std::string(40, '\x07'),
       {"byte 8: the magic number is 0", "; is this the"}},
      {"course_short",
       little_endian({0, 3, 4, 4}) + pixels,
       {"the header promises 3 images of 4 x 4, 48 bytes", again}},
  };
}

std::vector<malformed> malformed_label_files() {
  const std::string again = "; fetch or copy the file again";
  return {
      {"images", big_endian({2051, 1, 1, 1}) + "a", {"byte 3: these are images", "; name a file such as t10k-labels"}},
      {"short",
       big_endian({2049, 3}) + "ab",
       {"byte 10: the header promises 3 labels, 3 bytes, and the file holds 2", again}},
      {"long",
       big_endian({2049, 1}) + "ab",
       {"byte 9: the header promises 1 labels, 1 bytes, and the file holds 2", again}},
      {"billions", big_endian({2049, 0xFFFFFFFF}) + "ab", {"the header promises 4294967295 labels", again}},
      {"no_count", big_endian({2049}), {"byte 4: the file ends within its header", again}},
      {"course_short", little_endian({0, 5}) + "ab", {"byte 10: the header promises 5 labels", again}},
  };
}

class malformed_images : public ::testing::TestWithParam<malformed> {};

TEST_P(malformed_images, are_refused_with_place_and_remedy) {
  expect_refusal(GetParam(), [](std::string_view bytes, const char* name) {
    (void)read_images(byte_source::of_bytes(bytes, name));
  });
}

TEST_P(malformed_images, are_refused_in_a_file) {
  const scratch_folder folder;
  const std::string path = folder.put("file", GetParam().bytes);
  byte_source source = byte_source::of_file(path);
  EXPECT_THROW((void)read_images(std::move(source)), bench::file_error);
}

INSTANTIATE_TEST_SUITE_P(idx, malformed_images, ::testing::ValuesIn(images()),
                         [](const auto& instance) { return instance.param.name; });

class malformed_labels : public ::testing::TestWithParam<malformed> {};

TEST_P(malformed_labels, are_refused_with_place_and_remedy) {
  expect_refusal(GetParam(), [](std::string_view bytes, const char* name) {
    (void)read_labels(byte_source::of_bytes(bytes, name));
  });
}

INSTANTIATE_TEST_SUITE_P(idx, malformed_labels, ::testing::ValuesIn(malformed_label_files()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace prumo::data
