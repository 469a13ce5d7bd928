// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The order in which an epoch takes the images of a training set: a permutation that is a pure function of the seed
/// and the epoch, so that every step finds its images without a table. docs/random.md specifies it.

#include <prumo/philox.hpp>

#include <cstdint>

namespace prumo::nets {

/// A keyed permutation of 0 .. count - 1. It is a Feistel network whose rounds are those of Philox (Mitchell, Stokes,
/// Frank, Holmes: "Bandwidth-Optimal Random Shuffling for GPUs", ACM TOPC 9, 2022), on the numbers of as many bits as
/// count - 1 has. Where a number leads outside of the range, the network is applied again (cycle walking).
class image_order {
 public:
  /// The order of an epoch. Later epochs, and other seeds, have other orders.
  /// \param count images of the set, below 2^62
  KOKKOS_FUNCTION image_order(std::uint64_t seed, std::uint64_t epoch, std::int64_t count) : count_(count) {
    while (bits_ < 62 && (std::int64_t{1} << bits_) < count) ++bits_;
    const random::philox_block block = random::philox4x32_10(seed, stream, epoch);
    for (int i = 0; i < 4; ++i) keys_[i] = block.words[i];
  }

  /// The image that the epoch takes as number `index`, from 0 to count - 1.
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t index) const {
    std::int64_t image = index;
    do {
      image = once(image);
    } while (image >= count_);
    return image;
  }

  /// The stream of the random numbers that are the keys.
  static constexpr std::uint64_t stream = std::uint64_t{1} << 63U;
  static constexpr int rounds = 24;
  /// A network of fewer bits has too few permutations.
  static constexpr int least_bits = 8;

 private:
  KOKKOS_FUNCTION std::int64_t once(std::int64_t value) const {
    const int left_bits = bits_ / 2, right_bits = bits_ - left_bits;
    const auto left_mask = static_cast<std::uint32_t>((std::uint64_t{1} << left_bits) - 1);
    const auto right_mask = static_cast<std::uint32_t>((std::uint64_t{1} << right_bits) - 1);
    auto left = static_cast<std::uint32_t>(value >> right_bits);
    auto right = static_cast<std::uint32_t>(value) & right_mask;
    std::uint32_t step = 0;
    for (int round = 0; round < rounds; ++round) {
      if (round > 0 && round % 4 == 0) step += random::detail::philox_constants::first_key_step;
      std::uint32_t high, low;
      random::detail::multiply_wide(random::detail::philox_constants::first_factor, left, high, low);
      left = (high ^ (keys_[round % 4] + step) ^ right) & left_mask;
      right = ((low << (right_bits - left_bits)) | (right >> left_bits)) & right_mask;
    }
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(left) << right_bits) | right);
  }

  std::int64_t count_;
  int bits_ = least_bits;
  std::uint32_t keys_[4];
};

/// The image that an epoch takes as number `index`.
KOKKOS_INLINE_FUNCTION std::int64_t image_of(std::uint64_t seed, std::uint64_t epoch, std::int64_t index,
                                             std::int64_t count) {
  return image_order(seed, epoch, count)(index);
}

}  // namespace prumo::nets
