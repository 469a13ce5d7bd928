// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deflate.hpp"
#include <prumo/data/png.hpp>
#include <prumo/files/output_file.hpp>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace prumo::data {
namespace {

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFFU);
  return bytes;
}

std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};  // bytes may alias char
}

/// A chunk: its length, its name, its content, and the checksum of name and content.
std::string chunk(const std::string& name, const std::string& content) {
  const std::string named = name + content;
  return number(static_cast<std::uint32_t>(content.size())) + named + number(crc32_of(as_bytes(named)));
}

}  // namespace

void write_png(const std::string& path, std::int64_t height, std::int64_t width, std::int64_t channels,
               std::span<const std::uint8_t> pixels) {
  constexpr std::int64_t largest_side = 65535;
  const bool fits = height >= 1 && height <= largest_side && width >= 1 && width <= largest_side;
  if (!fits || (channels != 1 && channels != 3) ||
      pixels.size() != static_cast<std::size_t>(height * width * channels)) {
    throw std::invalid_argument("prumo::data::write_png: the extents do not fit the pixels");
  }
  const char colour = channels == 1 ? 0 : 2;
  std::string head = number(static_cast<std::uint32_t>(width)) + number(static_cast<std::uint32_t>(height));
  head += {8, colour, 0, 0, 0};  // bits a number, colours, and the only compression, filters and order that matter
  std::vector<std::uint8_t> rows;
  const auto row_bytes = static_cast<std::size_t>(width * channels);
  rows.reserve(static_cast<std::size_t>(height) * (row_bytes + 1));
  for (std::size_t row = 0; row < static_cast<std::size_t>(height); ++row) {
    rows.push_back(0);  // no filter
    const auto line = pixels.subspan(row * row_bytes, row_bytes);
    rows.insert(rows.end(), line.begin(), line.end());
  }
  bench::output_file(path).write(std::string("\x89PNG\r\n\x1a\n", 8) + chunk("IHDR", head) +
                                 chunk("IDAT", compress_zlib(rows)) + chunk("IEND", ""));
}

void write_sheet(const std::string& path, const image_set& images, std::span<const std::int64_t> which,
                 std::int64_t columns) {
  if (which.empty() || columns < 1) throw std::invalid_argument("prumo::data::write_sheet: there are no images");
  constexpr std::uint8_t line = 96;
  const auto count = static_cast<std::int64_t>(which.size());
  columns = std::min(columns, count);
  const std::int64_t rows = (count + columns - 1) / columns;
  const std::int64_t channels = images.channels == 3 ? 3 : 1;
  const std::int64_t height = rows * (images.height + 1) + 1;
  const std::int64_t width = columns * (images.width + 1) + 1;
  std::vector<std::uint8_t> sheet(static_cast<std::size_t>(height * width * channels), line);
  const std::int64_t plane = images.height * images.width;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto image = images.image(which[static_cast<std::size_t>(i)]);
    const std::int64_t top = i / columns * (images.height + 1) + 1;
    const std::int64_t left = i % columns * (images.width + 1) + 1;
    for (std::int64_t pixel = 0; pixel < plane; ++pixel) {
      const std::int64_t y = top + pixel / images.width;
      const std::int64_t x = left + pixel % images.width;
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        sheet[static_cast<std::size_t>((y * width + x) * channels + channel)] =
            image[static_cast<std::size_t>(channel * plane + pixel)];
      }
    }
  }
  write_png(path, height, width, channels, sheet);
}

}  // namespace prumo::data
