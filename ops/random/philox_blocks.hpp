// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Many blocks of the generator at once, on a host. A round multiplies two words of 32 bits to 64; vector units do that
/// for the lower half of every 64 bits and do not look at the upper half. So each word of a block has 64 bits of a
/// vector to itself: the lower half of a product is a word as it is, the upper half one shift away, and nothing is
/// taken apart or put together before the last round. Compilers do not find this form.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/philox.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

#if defined(__AVX512F__)
#define PRUMO_PHILOX_VECTORS
/// A word of `count` blocks. Lanes of 16 bytes have two of them each, block p and p + count / 2.
struct philox_words {
  static constexpr int count = 8;
  __m512i value;

  static philox_words of_all(std::uint64_t word) { return {_mm512_set1_epi64(static_cast<long long>(word))}; }
  static philox_words numbered_from(std::uint64_t first) {
    return {_mm512_add_epi64(of_all(first).value, _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7))};
  }
  philox_words operator*(philox_words other) const { return {_mm512_mul_epu32(value, other.value)}; }
  philox_words operator^(philox_words other) const { return {_mm512_xor_si512(value, other.value)}; }
  philox_words upper() const { return {_mm512_srli_epi64(value, 32)}; }
  /// This word below the other one.
  philox_words below(philox_words other) const {
    return {_mm512_mask_shuffle_epi32(value, 0xAAAA, other.value, _MM_PERM_CCAA)};
  }
  /// The first half of the blocks, or the second one, whole.
  static void store(philox_words lower, philox_words upper, std::uint32_t* to) {
    _mm512_storeu_si512(to, _mm512_unpacklo_epi64(lower.value, upper.value));
    _mm512_storeu_si512(to + std::ptrdiff_t{2} * count, _mm512_unpackhi_epi64(lower.value, upper.value));
  }
};
#elif defined(__AVX2__)
#define PRUMO_PHILOX_VECTORS
struct philox_words {
  static constexpr int count = 4;
  __m256i value;

  static philox_words of_all(std::uint64_t word) { return {_mm256_set1_epi64x(static_cast<long long>(word))}; }
  static philox_words numbered_from(std::uint64_t first) {
    return {_mm256_add_epi64(of_all(first).value, _mm256_setr_epi64x(0, 2, 1, 3))};
  }
  philox_words operator*(philox_words other) const { return {_mm256_mul_epu32(value, other.value)}; }
  philox_words operator^(philox_words other) const { return {_mm256_xor_si256(value, other.value)}; }
  philox_words upper() const { return {_mm256_srli_epi64(value, 32)}; }
  philox_words below(philox_words other) const {
    return {_mm256_blend_epi32(value, _mm256_slli_epi64(other.value, 32), 0xAA)};
  }
  static void store(philox_words lower, philox_words upper, std::uint32_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_unpacklo_epi64(lower.value, upper.value));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + std::ptrdiff_t{2} * count),
                        _mm256_unpackhi_epi64(lower.value, upper.value));
  }
};
#elif defined(__SSE2__)
#define PRUMO_PHILOX_VECTORS
struct philox_words {
  static constexpr int count = 2;
  __m128i value;

  static philox_words of_all(std::uint64_t word) { return {_mm_set1_epi64x(static_cast<long long>(word))}; }
  static philox_words numbered_from(std::uint64_t first) {
    return {_mm_add_epi64(of_all(first).value, _mm_set_epi64x(1, 0))};
  }
  philox_words operator*(philox_words other) const { return {_mm_mul_epu32(value, other.value)}; }
  philox_words operator^(philox_words other) const { return {_mm_xor_si128(value, other.value)}; }
  philox_words upper() const { return {_mm_srli_epi64(value, 32)}; }
  philox_words below(philox_words other) const {
    return {_mm_or_si128(_mm_and_si128(value, _mm_set1_epi64x(0xFFFFFFFF)), _mm_slli_epi64(other.value, 32))};
  }
  static void store(philox_words lower, philox_words upper, std::uint32_t* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi64(lower.value, upper.value));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + std::ptrdiff_t{2} * count),
                     _mm_unpackhi_epi64(lower.value, upper.value));
  }
};
#endif

#if defined(PRUMO_PHILOX_VECTORS)

/// The blocks of `stream` under `seed`.
class philox_blocks {
 public:
  philox_blocks(std::uint64_t seed, std::uint64_t stream) : stream_(stream) {
    for (int round = 0; round < rounds; ++round) {
      const auto turn = static_cast<std::uint32_t>(round);
      keys_[round][0] = philox_words::of_all(static_cast<std::uint32_t>(seed) + turn * constants::first_key_step);
      keys_[round][1] =
          philox_words::of_all(static_cast<std::uint32_t>(seed >> 32) + turn * constants::second_key_step);
    }
  }

  /// words[4 i + j] = word j of block number first + i, for i < Count.
  template <int Count>
  void make(std::uint64_t first, std::uint32_t* words) const {
    constexpr int at_once = vectors * philox_words::count;
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

  void make_at_once(std::uint64_t first, std::uint32_t* words) const {
    const auto first_factor = philox_words::of_all(constants::first_factor);
    const auto second_factor = philox_words::of_all(constants::second_factor);
    philox_words word[vectors][4];
    PRUMO_UNROLL
    for (int which = 0; which < vectors; ++which) {
      word[which][0] = philox_words::numbered_from(first + static_cast<std::uint64_t>(which * philox_words::count));
      word[which][1] = word[which][0].upper();
      word[which][2] = philox_words::of_all(stream_);
      word[which][3] = philox_words::of_all(stream_ >> 32);
    }
    PRUMO_UNROLL
    for (int round = 0; round < rounds; ++round) {
      PRUMO_UNROLL
      for (int which = 0; which < vectors; ++which) {
        philox_words* const own = word[which];
        const philox_words first_product = own[0] * first_factor, second_product = own[2] * second_factor;
        own[0] = second_product.upper() ^ own[1] ^ keys_[round][0];
        own[1] = second_product;
        own[2] = first_product.upper() ^ own[3] ^ keys_[round][1];
        own[3] = first_product;
      }
    }
    PRUMO_UNROLL
    for (int which = 0; which < vectors; ++which) {
      const philox_words* const own = word[which];
      philox_words::store(own[0].below(own[1]), own[2].below(own[3]),
                          words + std::ptrdiff_t{4} * which * philox_words::count);
    }
  }

  philox_words keys_[rounds][2];
  std::uint64_t stream_;
};

#else

/// The same as loops over blocks, which compilers vectorise.
class philox_blocks {
  using constants = random::detail::philox_constants;

 public:
  philox_blocks(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  template <int Count>
  void make(std::uint64_t first, std::uint32_t* words) const {
    std::uint32_t word[4][Count];
    for (int i = 0; i < Count; ++i) {
      const std::uint64_t counter = first + static_cast<std::uint64_t>(i);
      word[0][i] = static_cast<std::uint32_t>(counter);
      word[1][i] = static_cast<std::uint32_t>(counter >> 32);
      word[2][i] = static_cast<std::uint32_t>(stream_);
      word[3][i] = static_cast<std::uint32_t>(stream_ >> 32);
    }
    auto k0 = static_cast<std::uint32_t>(seed_);
    auto k1 = static_cast<std::uint32_t>(seed_ >> 32);
    for (int round = 0; round < constants::rounds; ++round) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (int i = 0; i < Count; ++i) {
        const std::uint32_t c1 = word[1][i], c3 = word[3][i];
        const std::uint64_t product0 = std::uint64_t{constants::first_factor} * word[0][i];
        const std::uint64_t product1 = std::uint64_t{constants::second_factor} * word[2][i];
        word[0][i] = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
        word[1][i] = static_cast<std::uint32_t>(product1);
        word[2][i] = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
        word[3][i] = static_cast<std::uint32_t>(product0);
      }
      k0 += constants::first_key_step;
      k1 += constants::second_key_step;
    }
    for (int i = 0; i < Count; ++i) {
      for (int j = 0; j < 4; ++j) words[4 * i + j] = word[j][i];
    }
  }

 private:
  std::uint64_t seed_, stream_;
};

#endif

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
