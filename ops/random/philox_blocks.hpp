// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Many blocks of the generator at once, on a host. A round multiplies two words of 32 bits to 64; vector units do that
/// for the lower half of every 64 bits and do not look at the upper half. So each word of a block has 64 bits of a
/// vector to itself: the lower half of a product is a word as it is, the upper half one shift away, and nothing is
/// taken apart or put together before the last round. Compilers do not find this form.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/philox.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

#if defined(__AVX512F__)
inline constexpr std::size_t philox_vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t philox_vector_bytes = 32;
#else
inline constexpr std::size_t philox_vector_bytes = 16;
#endif

/// A word of each of some blocks. Lanes of 16 bytes have two of them each, block p and p + half of their number.
using philox_words = vector_of<std::uint64_t, philox_vector_bytes>;

/// The products of the lower halves. GCC does not find the instruction for the last line.
inline philox_words multiply_lower(philox_words a, philox_words b) {
#if defined(__AVX512F__)
  return reinterpret_cast<philox_words>(_mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<philox_words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<philox_words>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#elif defined(__ARM_NEON) && defined(__aarch64__)
  return reinterpret_cast<philox_words>(
      vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a)), vmovn_u64(reinterpret_cast<uint64x2_t>(b))));
#else
  return (a & UINT32_MAX) * (b & UINT32_MAX);
#endif
}

/// The blocks of `stream` under `seed`.
class philox_blocks {
 public:
  philox_blocks(std::uint64_t seed, std::uint64_t stream) : stream_(stream) {
    for (int round = 0; round < rounds; ++round) {
      const auto turn = static_cast<std::uint32_t>(round);
      keys_[round][0] = of_all(static_cast<std::uint32_t>(seed) + turn * constants::first_key_step);
      keys_[round][1] = of_all(static_cast<std::uint32_t>(seed >> 32) + turn * constants::second_key_step);
    }
  }

  /// words[4 i + j] = word j of block number first + i, for i < Count.
  template <int Count>
  void make(std::uint64_t first, std::uint32_t* words) const {
    constexpr int at_once = vectors * count;
    static_assert(Count % at_once == 0);
    for (std::int64_t begin = 0; begin < Count; begin += at_once) {
      make_at_once(first + static_cast<std::uint64_t>(begin), words + 4 * begin);
    }
  }

 private:
  using constants = random::detail::philox_constants;
  static constexpr int rounds = constants::rounds;
  /// Of each word, under way at a time: a round waits for the one before.
  static constexpr int vectors = 4;
  static constexpr int count = philox_vector_bytes / sizeof(std::uint64_t);  ///< of the blocks of a vector

  static philox_words of_all(std::uint64_t word) { return philox_words{} + word; }
  static philox_words numbered_from(std::uint64_t first) {
    philox_words number = {};
    PRUMO_UNROLL
    for (int at = 0; at < count; ++at) number[at] = static_cast<std::uint64_t>(at / 2 + at % 2 * (count / 2));
    return number + first;
  }
  /// Two words of a block as they follow one another in memory.
  static philox_words join(philox_words first, philox_words second) {
    if constexpr (std::endian::native == std::endian::big) std::swap(first, second);
    return (first & UINT32_MAX) | (second << 32);
  }
  static void store(philox_words from, std::uint32_t* to) { std::memcpy(to, &from, sizeof(from)); }

  void make_at_once(std::uint64_t first, std::uint32_t* words) const {
    const auto first_factor = of_all(constants::first_factor);
    const auto second_factor = of_all(constants::second_factor);
    philox_words word[vectors][4];
    PRUMO_UNROLL
    for (int which = 0; which < vectors; ++which) {
      word[which][0] = numbered_from(first + static_cast<std::uint64_t>(which * count));
      word[which][1] = word[which][0] >> 32;
      word[which][2] = of_all(stream_);
      word[which][3] = of_all(stream_ >> 32);
    }
    PRUMO_UNROLL
    for (int round = 0; round < rounds; ++round) {
      PRUMO_UNROLL
      for (int which = 0; which < vectors; ++which) {
        philox_words* const own = word[which];
        const philox_words first_product = multiply_lower(own[0], first_factor);
        const philox_words second_product = multiply_lower(own[2], second_factor);
        own[0] = (second_product >> 32) ^ own[1] ^ keys_[round][0];
        own[1] = second_product;
        own[2] = (first_product >> 32) ^ own[3] ^ keys_[round][1];
        own[3] = first_product;
      }
    }
    PRUMO_UNROLL
    for (int which = 0; which < vectors; ++which) {
      const philox_words* const own = word[which];
      const philox_words lower = join(own[0], own[1]), upper = join(own[2], own[3]);
      std::uint32_t* const to = words + std::ptrdiff_t{4} * which * count;
      store(interleave_lower<std::uint64_t>(lower, upper), to);  // the first half of the blocks
      store(interleave_upper<std::uint64_t>(lower, upper), to + std::ptrdiff_t{2} * count);
    }
  }

  philox_words keys_[rounds][2];
  std::uint64_t stream_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
