// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "malformed.hpp"
#include "scratch_folder.hpp"
#include <prumo/data/data_folder.hpp>
#include <prumo/data/idx.hpp>

#include <numeric>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>

namespace prumo::data {
namespace {

using ::testing::HasSubstr;

image_set some_images(std::int64_t count, std::int64_t channels, std::int64_t height, std::int64_t width) {
  image_set set;
  set.count = count;
  set.channels = channels;
  set.height = height;
  set.width = width;
  set.pixels.resize(static_cast<std::size_t>(count * channels * height * width));
  std::iota(set.pixels.begin(), set.pixels.end(), std::uint8_t{1});
  return set;
}

void expect_same(const image_set& read, const image_set& written, const idx_format& format) {
  EXPECT_EQ(read.count, written.count);
  EXPECT_EQ(read.channels, written.channels);
  EXPECT_EQ(read.height, written.height);
  EXPECT_EQ(read.width, written.width);
  EXPECT_EQ(read.pixels, written.pixels);
  EXPECT_EQ(read.format, format);
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const bench::file_error& error) {
    return error.what();
  }
  return "no file_error";
}

TEST(idx, every_format_reads_what_it_writes) {
  const scratch_folder folder;
  for (const idx_header header : {idx_header::standard, idx_header::course}) {
    for (const bool gzip : {false, true}) {
      const idx_format format{header, gzip};
      const image_set images = some_images(5, 1, 48, 47);
      write_images(folder / "images", images, format);
      expect_same(read_images(folder / "images"), images, format);
      EXPECT_EQ(content_of(folder / "images"), idx_content::images);

      const std::vector<std::uint8_t> classes{3, 1, 4, 1, 5, 9, 2, 6};
      write_labels(folder / "labels", classes, format);
      const label_set labels = read_labels(folder / "labels");
      EXPECT_EQ(labels.classes, classes);
      EXPECT_EQ(labels.format, format);
      EXPECT_EQ(content_of(folder / "labels"), idx_content::labels);
    }
  }
}

TEST(idx, the_bytes_are_those_of_the_format) {
  const scratch_folder folder;
  image_set images = some_images(1, 1, 1, 2);
  write_images(folder / "images", images);
  EXPECT_EQ(content_of_file(folder / "images"), big_endian({2051, 1, 1, 2}) + "\x01\x02");
  write_labels(folder / "labels", std::vector<std::uint8_t>{7});
  EXPECT_EQ(content_of_file(folder / "labels"), big_endian({2049, 1}) + "\x07");
}

TEST(idx, channels_are_the_second_of_four_extents) {
  const scratch_folder folder;
  const image_set images = some_images(3, 3, 5, 4);
  write_images(folder / "images", images, {idx_header::standard, true});
  expect_same(read_images(folder / "images"), images, {idx_header::standard, true});
  EXPECT_THROW(write_images(folder / "images", images, {idx_header::course, false}), std::invalid_argument);
}

TEST(idx, no_images_are_a_set_too) {
  const scratch_folder folder;
  for (const bool gzip : {false, true}) {
    write_images(folder / "none", some_images(0, 1, 28, 28), {idx_header::standard, gzip});
    EXPECT_EQ(read_images(folder / "none").count, 0);
  }
}

TEST(idx, files_of_the_course_have_either_byte_order_and_may_lack_their_height) {
  const image_set images = some_images(2, 1, 48, 48);
  const std::string pixels(images.pixels.begin(), images.pixels.end());
  const auto read = [](const std::string& bytes) { return read_images(byte_source::of_bytes(bytes, "images")); };
  for (const std::string& head :
       {little_endian({0, 2, 48, 48}), big_endian({0, 2, 48, 48}), little_endian({0, 2, 1, 48})}) {
    const std::string bytes = head + pixels;
    expect_same(read(bytes), images, {idx_header::course, false});
  }
  // One row a picture is a shape, too, if the bytes say so.
  const std::string rows = little_endian({0, 2, 1, 48}) + pixels.substr(0, 96);
  EXPECT_EQ(read(rows).height, 1);
}

TEST(idx, a_pipe_is_read_like_a_file) {
  const scratch_folder folder;
  const image_set images = some_images(100, 1, 28, 28);
  write_images(folder / "images", images, {idx_header::standard, true});
  const std::string bytes = content_of_file(folder / "images");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(folder / "pipe", std::ios::binary) << bytes; });
  expect_same(read_images(folder / "pipe"), images, {idx_header::standard, true});
  writer.join();
}

TEST(idx, labels_must_be_classes_of_the_net_and_as_many_as_images) {
  const label_set labels{{0, 9, 10}, {}};
  check_labels(labels, "l", 11);
  EXPECT_THAT(message_of([&] { check_labels(labels, "l", 10); }),
              HasSubstr("l: byte 10: label 2 is class 10, and there are 10 classes from 0 up; take labels of these"));
  EXPECT_THAT(message_of([&] { check_pair(some_images(2, 1, 2, 2), "i", labels, "l"); }),
              HasSubstr("l: byte 4: the file holds 3 labels, and i holds 2 images; take the two files of one set"));
}

TEST(data_folder, the_usual_names_are_found) {
  for (const auto& [images, labels] : {std::pair{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
                                       std::pair{"t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"},
                                       std::pair{"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"},
                                       std::pair{"t10k-images-idx4-ubyte", "t10k-labels-idx1-ubyte.gz"},
                                       std::pair{"t10k-images.idx4-ubyte.gz", "t10k-labels.idx1-ubyte"},
                                       std::pair{"t10k-301-images-idx3-ubyte", "t10k-301-labels-idx1-ubyte"},
                                       std::pair{"t10k-48-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"}}) {
    const scratch_folder folder;
    (void)folder.put(images, "");
    (void)folder.put(labels, "");
    const data_folder found = find_data(folder.path());
    ASSERT_TRUE(found.test) << images;
    EXPECT_FALSE(found.train);
    EXPECT_EQ(found.test->images, folder / images);
    EXPECT_EQ(found.test->labels, folder / labels);
  }
}

TEST(data_folder, of_several_files_one_is_taken) {
  const scratch_folder folder;
  (void)folder.put("t10k-labels-idx1-ubyte", "");
  // Each is preferred to those before it.
  for (const char* images : {"t10k-100-images-idx3-ubyte", "t10k-48-images-idx4-ubyte.gz", "t10k-48-images.idx3-ubyte",
                             "t10k-48-images-idx4-ubyte", "t10k-48-images-idx3-ubyte", "t10k-images.idx3-ubyte.gz",
                             "t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte"}) {
    (void)folder.put(images, "");
    EXPECT_EQ(find_data(folder.path()).test.value().images, folder / images);
  }
}

TEST(data_folder, other_names_are_not_taken) {
  const scratch_folder folder;
  for (const char* name : {"t10k-images-idx1-ubyte", "t10k-labels-idx3-ubyte", "t10k-images-idx3-ubyte.zip",
                           "t10k-images-idx3", "t10kimages-idx3-ubyte", "t10k-48x-images-idx3-ubyte",
                           "t10k--1-images-idx3-ubyte", "t10k-99999999999999999999-images-idx3-ubyte",
                           "my-t10k-images-idx3-ubyte", "t10k-images_idx3-ubyte", "test-labels-idx1-ubyte"}) {
    (void)folder.put(name, "");
  }
  std::filesystem::create_directory(folder / "t10k-images-idx3-ubyte");
  EXPECT_THAT(message_of([&] { (void)find_data(folder.path()); }), HasSubstr("holds no images under the usual names"));
}

TEST(data_folder, tells_what_it_looked_for) {
  const scratch_folder folder;
  EXPECT_THAT(message_of([&] { (void)find_data(folder / "absent"); }), HasSubstr("there is no such folder; name one"));
  EXPECT_THAT(message_of([&] { (void)find_data(folder.put("file", "x")); }),
              HasSubstr("is no folder; name the folder"));
  EXPECT_THAT(message_of([&] { (void)find_data(folder.path()); }),
              HasSubstr("holds no images under the usual names: train-images-idx3-ubyte, "));
  (void)folder.put("train-images-idx3-ubyte", "");
  EXPECT_THAT(message_of([&] { (void)find_data(folder.path()); }),
              HasSubstr("holds train-images-idx3-ubyte without train-labels-idx1-ubyte"));
}

TEST(data_folder, a_set_is_two_files_of_one_length) {
  const scratch_folder folder;
  const data_files files = usual_names(folder.path(), "t10k", true);
  write_images(files.images, some_images(3, 1, 4, 4), {idx_header::standard, true});
  write_labels(files.labels, std::vector<std::uint8_t>{1, 2, 3}, {idx_header::standard, true});
  EXPECT_EQ(read_set(find_data(folder.path()).test.value()).labels.classes.size(), 3U);
  write_labels(files.labels, std::vector<std::uint8_t>{1, 2});
  EXPECT_THAT(message_of([&] { (void)read_set(files); }), HasSubstr("the file holds 2 labels, and "));
}

}  // namespace
}  // namespace prumo::data
