// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Maxima and minima of packs by the instructions of NVIDIA's GPUs from compute capability 8.0. They compare a word of
/// one or two numbers, where a key takes four instructions for each number.

#include "problem/reduction_policy.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {

/// The largest numbers of the packs that were taken, for extreme_element. For other policies, and where the device has
/// no such instructions, there are none.
template <class Policy>
class device_maxima {
  using stored = typename Policy::stored;
  using words = pack_words;

 public:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static constexpr bool exist =
      std::is_same_v<Policy, extreme_element<stored>> && (std::is_same_v<stored, float> || sizeof(stored) == 2);
#else
  static constexpr bool exist = false;
#endif
  static constexpr int count = sizeof(stored) <= 4 ? static_cast<int>(4 / sizeof(stored)) : 1;  ///< numbers of a word

  KOKKOS_FORCEINLINE_FUNCTION explicit device_maxima([[maybe_unused]] const Policy& policy) {
    if constexpr (exist) {
      flipped_ = static_cast<std::uint32_t>(policy.flipped);
      if (count == 2) flipped_ |= flipped_ >> 16;
      PRUMO_UNROLL
      for (std::uint32_t& word : largest_.values) word = minus_infinity;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void take(const device_pack<stored>& pack) {
    if constexpr (exist) {
      const words taken = words_of(pack);
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) largest_.values[i] = larger(largest_.values[i], taken.values[i] ^ flipped_);
    }
  }

  /// Whether no NaN was taken. Then it tells the largest numbers.
  KOKKOS_FORCEINLINE_FUNCTION bool are_numbers([[maybe_unused]] stored (&largest)[count]) const {
    bool result = true;
    if constexpr (exist) {
      const std::uint32_t word =
          larger(larger(largest_.values[0], largest_.values[1]), larger(largest_.values[2], largest_.values[3])) ^
          flipped_;
      memcpy(&largest, &word, sizeof(word));
      PRUMO_UNROLL
      for (int i = 0; i < count; ++i) {
        const auto number = ordered_bits<stored>::from(largest[i]);
        result = result && (number & ~ordered_bits<stored>::sign) <= ordered_bits<stored>::infinity;
      }
    }
    return result;
  }

 private:
  static constexpr std::uint32_t minus_infinity = std::is_same_v<stored, f16>    ? 0xfc00fc00u
                                                  : std::is_same_v<stored, bf16> ? 0xff80ff80u
                                                                                 : 0xff800000u;

  /// Each number of a word; NaN if one of both is. -0 is below +0.
  KOKKOS_FORCEINLINE_FUNCTION static std::uint32_t larger(std::uint32_t a, [[maybe_unused]] std::uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<stored, f16>) {
      asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    } else if constexpr (std::is_same_v<stored, bf16>) {
      asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    } else {
      float number = __uint_as_float(a);
      asm("max.NaN.f32 %0, %0, %1;" : "+f"(number) : "f"(__uint_as_float(b)));
      a = __float_as_uint(number);
    }
#endif
    return a;
  }

  words largest_;
  std::uint32_t flipped_ = 0;  ///< the signs, for a minimum
};

}  // namespace prumo::detail
