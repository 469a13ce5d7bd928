// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images and labels in IDX files, the format of MNIST: a header of 32-bit numbers, then bytes. Numbers are big-endian.
/// Labels have the magic number 2049 and one extent; images 2051 and three (images, rows, columns), or 2052 and four
/// (images, channels, rows, columns). Files may be compressed by gzip. The 48 x 48 files of the course ECE408 have the
/// magic number 0 and numbers in the byte order of the machine that wrote them; they are read, too.

#include <prumo/data/byte_source.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::data {

/// How a file begins.
enum class idx_header {
  standard,  ///< the magic number tells the number of extents
  course     ///< the magic number is 0, the byte order that of a machine
};

/// What a file holds besides the bytes.
struct idx_format {
  idx_header header = idx_header::standard;
  bool gzip = false;

  bool operator==(const idx_format&) const = default;
};

/// Images of bytes: [images, channels, height, width], row by row, 0 is dark.
struct image_set {
  std::int64_t count = 0;
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;
  idx_format format;

  [[nodiscard]] std::int64_t bytes_per_image() const { return channels * height * width; }
  /// The bytes of one image.
  [[nodiscard]] std::span<const std::uint8_t> image(std::int64_t which) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(which * bytes_per_image()),
                                     static_cast<std::size_t>(bytes_per_image()));
  }
};

/// The class of each image, from 0 up.
struct label_set {
  std::vector<std::uint8_t> classes;
  idx_format format;
};

/// Whether a file that begins like IDX holds images or labels.
enum class idx_content { images, labels };

/// Reads images. Nothing is allocated or inflated beyond what the header promises and the file holds.
/// \throws bench::file_error that names the file, the byte and the remedy
[[nodiscard]] image_set read_images(const std::string& path);
[[nodiscard]] image_set read_images(byte_source source);

/// Reads labels. \throws bench::file_error as above
[[nodiscard]] label_set read_labels(const std::string& path);
[[nodiscard]] label_set read_labels(byte_source source);

/// What the file holds, by its first bytes.
/// \throws bench::file_error as above, if it is neither
[[nodiscard]] idx_content content_of(const std::string& path);

/// Writes images or labels as a whole: readers see the old file or the new one. The format decides over gzip and
/// header; images of several channels need the standard header.
/// \throws bench::file_error where the system refuses; std::invalid_argument where the extents do not fit the bytes
void write_images(const std::string& path, const image_set& images, const idx_format& format = {});
void write_labels(const std::string& path, std::span<const std::uint8_t> classes, const idx_format& format = {});

/// Refuses labels that are not below `classes`, and sets of images and labels that differ in number. The names are
/// those of the files, for the message.
/// \throws bench::file_error
void check_labels(const label_set& labels, std::string_view name, std::int64_t classes);
void check_pair(const image_set& images, std::string_view images_name, const label_set& labels,
                std::string_view labels_name);

}  // namespace prumo::data
