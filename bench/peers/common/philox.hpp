// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A second implementation of docs/random.md, so that peers share no code with what they are compared to.

#include "scalars.hpp"

#include <array>
#include <cstdint>

namespace prumo::peers {

using philox_block = std::array<std::uint32_t, 4>;

inline philox_block philox4x32_10(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const auto low = [](std::uint64_t number) { return static_cast<std::uint32_t>(number); };
  const auto high = [](std::uint64_t number) { return static_cast<std::uint32_t>(number >> 32); };
  philox_block c{low(counter), high(counter), low(stream), high(stream)};
  std::uint32_t key0 = low(seed);
  std::uint32_t key1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * c[2];
    c = {high(second) ^ c[1] ^ key0, low(second), high(first) ^ c[3] ^ key1, low(first)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

template <class T>
inline constexpr int values_per_block = sizeof(T) == 8 ? 2 : 4;

/// Value `lane` of a block: an odd multiple of 2^-p in (-1, 1), p the digits of T's significand. 16-bit types come as
/// float, which holds each of their numbers.
template <class T>
auto value_in(const philox_block& block, int lane) {
  constexpr int digits = format_of(dtype_of<T>).digits;
  if constexpr (sizeof(T) == 8) {
    const auto at = 2 * static_cast<std::size_t>(lane);
    const std::uint64_t upper = (std::uint64_t{block[at + 1]} << 32 | block[at]) >> (64 - digits);
    return static_cast<double>(static_cast<std::int64_t>(2 * upper + 1) - (std::int64_t{1} << digits)) * 0x1p-53;
  } else {
    const std::uint32_t upper = block[static_cast<std::size_t>(lane)] >> (32 - digits);
    const std::int32_t odd = static_cast<std::int32_t>(2 * upper + 1) - (1 << digits);
    return static_cast<float>(odd) / static_cast<float>(1 << digits);
  }
}

/// Element `index` of array `stream`.
template <class T>
auto uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  constexpr std::uint64_t lanes = values_per_block<T>;
  return value_in<T>(philox4x32_10(seed, stream, index / lanes), static_cast<int>(index % lanes));
}

}  // namespace prumo::peers
