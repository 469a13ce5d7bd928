// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/idx.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace prumo::data {

/// Writes a picture of `channels` bytes a pixel, row by row: 1 is grey, 3 is red, green, blue.
/// \throws bench::file_error where the system refuses; std::invalid_argument for other numbers of channels or bytes
void write_png(const std::string& path, std::int64_t height, std::int64_t width, std::int64_t channels,
               std::span<const std::uint8_t> pixels);

/// Writes the images `which` beside each other, `columns` in a row, with grey lines between them. Images of three
/// channels are in colour; of others, the first channel is shown.
/// \throws bench::file_error where the system refuses; std::invalid_argument without images or columns
void write_sheet(const std::string& path, const image_set& images, std::span<const std::int64_t> which,
                 std::int64_t columns);

}  // namespace prumo::data
