// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deflate.hpp"
#include <prumo/data/idx.hpp>
#include <prumo/files/output_file.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace prumo::data {
namespace {

void append_number(std::vector<std::uint8_t>& head, std::int64_t value, idx_header kind) {
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("prumo::data: an IDX file has extents of 32 bits, not " + std::to_string(value));
  }
  const auto number = static_cast<std::uint32_t>(value);
  if (kind == idx_header::course) {
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &number, bytes.size());
    head.insert(head.end(), bytes.begin(), bytes.end());
  } else {
    for (int shift = 24; shift >= 0; shift -= 8) head.push_back(static_cast<std::uint8_t>(number >> shift));
  }
}

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // char may alias bytes
}

void write(const std::string& path, const std::vector<std::int64_t>& extents, std::span<const std::uint8_t> bytes,
           const idx_format& format) {
  std::uint64_t expected = 1;
  for (const std::int64_t extent : extents) expected *= static_cast<std::uint64_t>(extent);
  if (expected != bytes.size())
    throw std::invalid_argument("prumo::data: the extents do not fit the bytes of an IDX file");
  const bool course = format.header == idx_header::course;
  if (course && extents.size() == 4) {
    throw std::invalid_argument("prumo::data: the header of the course has no channels");
  }
  std::vector<std::uint8_t> head;
  append_number(head, course ? 0 : 0x0800 + static_cast<std::int64_t>(extents.size()), format.header);
  for (const std::int64_t extent : extents) append_number(head, extent, format.header);
  const bench::output_file file(path);
  if (format.gzip) {
    file.write(compress_gzip(std::array<std::span<const std::uint8_t>, 2>{head, bytes}));
  } else {
    file.write_parts(std::array{as_text(head), as_text(bytes)});
  }
}

}  // namespace

void write_images(const std::string& path, const image_set& images, const idx_format& format) {
  std::vector<std::int64_t> extents{images.count, images.height, images.width};
  if (images.channels != 1) extents.insert(extents.begin() + 1, images.channels);
  write(path, extents, images.pixels, format);
}

void write_labels(const std::string& path, std::span<const std::uint8_t> classes, const idx_format& format) {
  write(path, {static_cast<std::int64_t>(classes.size())}, classes, format);
}

}  // namespace prumo::data
