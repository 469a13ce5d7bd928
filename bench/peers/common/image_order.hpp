// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The order of images in an epoch of a training: a second implementation of docs/random.md.

#include "philox.hpp"

#include <cstdint>
#include <vector>

namespace prumo::peers {

/// The images of a set of `count` in the order in which the epoch takes them.
inline std::vector<std::int64_t> image_order(std::uint64_t seed, std::uint64_t epoch, std::int64_t count) {
  constexpr std::uint64_t stream = std::uint64_t{1} << 63U;
  constexpr unsigned least_bits = 8, rounds = 24;
  const philox_block keys = philox4x32_10(seed, stream, epoch);
  unsigned bits = least_bits;
  while ((std::int64_t{1} << bits) < count) ++bits;
  const unsigned left_bits = bits / 2, right_bits = bits - left_bits;
  const std::uint64_t left_mask = (std::uint64_t{1} << left_bits) - 1;
  const std::uint64_t right_mask = (std::uint64_t{1} << right_bits) - 1;
  const auto once = [&](std::uint64_t value) {
    std::uint64_t left = value >> right_bits, right = value & right_mask;
    for (unsigned round = 0; round < rounds; ++round) {
      const std::uint32_t key = keys[round % 4] + round / 4 * 0x9E3779B9U;
      const std::uint64_t product = left * 0xD2511F53U;
      left = ((product >> 32U) ^ key ^ right) & left_mask;
      right = ((product & 0xFFFFFFFFU) << (right_bits - left_bits) | right >> left_bits) & right_mask;
    }
    return left << right_bits | right;
  };
  std::vector<std::int64_t> images(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::uint64_t image = i;
    do {
      image = once(image);
    } while (image >= static_cast<std::uint64_t>(count));
    images[i] = static_cast<std::int64_t>(image);
  }
  return images;
}

}  // namespace prumo::peers
