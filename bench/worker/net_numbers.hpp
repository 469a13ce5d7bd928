// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Numbers of a type that is known at run time, in the host's memory.

#include <prumo/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace prumo::worker {

/// Writes the numbers rounded to `type`, one after the other.
void write_numbers(dtype type, std::span<const float> numbers, std::byte* to);

/// `count` numbers of this type.
[[nodiscard]] std::vector<double> read_numbers(dtype type, const std::byte* from, std::size_t count);

/// The number of each pixel as convert_images() makes it: byte / 255 rounded to the type. In f64 it may be the
/// neighbour of that number.
[[nodiscard]] std::vector<double> pixel_numbers(dtype type);

}  // namespace prumo::worker
