// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A counter-based random generator. Value i of stream s under a seed is a pure function of (seed, s, i), and is the
/// same on every backend and in Python. docs/random.md specifies it.

#include <prumo/types.hpp>

#include <cstdint>

namespace prumo::random {

/// Four words of Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
struct philox_block {
  std::uint32_t words[4];
};

namespace detail {

/// The constants of the generator: the factors of two of its words, and the numbers that are added to the two halves of
/// the key after each round.
struct philox_constants {
  static constexpr int rounds = 10;
  static constexpr std::uint32_t first_factor = 0xD2511F53u, second_factor = 0xCD9E8D57u;
  static constexpr std::uint32_t first_key_step = 0x9E3779B9u, second_key_step = 0xBB67AE85u;
};

/// The upper and the lower half of the product a b.
KOKKOS_FORCEINLINE_FUNCTION void multiply_wide(std::uint32_t a, std::uint32_t b, std::uint32_t& high,
                                               std::uint32_t& low) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  // With 64-bit factors nvcc would also add the product of their upper halves, which are zero.
  high = __umulhi(a, b);
  low = a * b;
#else
  const std::uint64_t product = static_cast<std::uint64_t>(a) * b;
  high = static_cast<std::uint32_t>(product >> 32);
  low = static_cast<std::uint32_t>(product);
#endif
}

}  // namespace detail

/// The block with number `counter` of `stream` under `seed`.
KOKKOS_FORCEINLINE_FUNCTION philox_block philox4x32_10(std::uint64_t seed, std::uint64_t stream,
                                                       std::uint64_t counter) {
  auto c0 = static_cast<std::uint32_t>(counter);
  auto c1 = static_cast<std::uint32_t>(counter >> 32);
  auto c2 = static_cast<std::uint32_t>(stream);
  auto c3 = static_cast<std::uint32_t>(stream >> 32);
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  using constants = detail::philox_constants;
  for (int round = 0; round < constants::rounds; ++round) {
    std::uint32_t high0, low0, high1, low1;
    detail::multiply_wide(constants::first_factor, c0, high0, low0);
    detail::multiply_wide(constants::second_factor, c2, high1, low1);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += constants::first_key_step;
    k1 += constants::second_key_step;
  }
  return {{c0, c1, c2, c3}};
}

/// The number of values of T in one block: 2 of `double`, 4 of other types.
template <class T>
inline constexpr int values_per_block = sizeof(T) == 8 ? 2 : 4;

/// Value `lane` of a block. It is uniform on the odd multiples of 2^-p in (-1, 1), where p is the number of significand
/// bits of T. Every value is exact in T, none is zero, subnormal, 1 or -1, and the distribution is symmetric.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T uniform_from(const philox_block& block, int lane) {
  constexpr int bits = scalar_traits<T>::significand_bits;
  if constexpr (sizeof(T) == 8) {
    const int low = 2 * lane;
    const std::uint64_t word = (static_cast<std::uint64_t>(block.words[low + 1]) << 32) | block.words[low];
    const auto odd = static_cast<std::int64_t>((word >> (64 - bits)) * 2 + 1) - (std::int64_t{1} << bits);
    return static_cast<T>(odd) * T(1.0 / static_cast<double>(std::uint64_t{1} << bits));
  } else {
    const std::int32_t odd =
        static_cast<std::int32_t>((block.words[lane] >> (32 - bits)) * 2u + 1u) - (std::int32_t{1} << bits);
    return T(static_cast<float>(odd) * (1.0f / static_cast<float>(std::uint32_t{1} << bits)));
  }
}

/// Value `index` of `stream` under `seed`, uniform in (-1, 1) like uniform_from().
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  constexpr auto per_block = static_cast<std::uint64_t>(values_per_block<T>);
  return uniform_from<T>(philox4x32_10(seed, stream, index / per_block), static_cast<int>(index % per_block));
}

/// Element `index` of an array of indices: the 64-bit word from which an array of double gets this element, modulo
/// `below`. It is 0 if `below` is 0.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t index_below(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                                     std::int64_t below) {
  const philox_block block = philox4x32_10(seed, stream, index / 2);
  const int low = static_cast<int>(index % 2) * 2;
  const std::uint64_t word = (static_cast<std::uint64_t>(block.words[low + 1]) << 32) | block.words[low];
  return below > 0 ? static_cast<std::int64_t>(word % static_cast<std::uint64_t>(below)) : 0;
}

}  // namespace prumo::random
