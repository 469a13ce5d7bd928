// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Lanes of vectors in an order that is known at run time only, on hosts that have an instruction for it.

#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

#if defined(__clang__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether the processor has instructions for lane_choice().
#if defined(__AVX2__)
inline constexpr bool has_lane_choice = true;
#else
inline constexpr bool has_lane_choice = false;
#endif

/// Lane i of the result is lane which[i] of `a`. GCC has this as a part of the language.
template <class T>
[[gnu::always_inline]] inline simd<T> lane_choice(simd<T> a, typename simd<T>::words which) {
#if !defined(__clang__)
  return simd<T>(__builtin_shuffle(a.value(), which));
#elif defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    return simd<T>(std::bit_cast<typename simd<T>::native>(
        _mm512_permutexvar_ps(std::bit_cast<__m512i>(which), std::bit_cast<__m512>(a.value()))));
  } else {
    return simd<T>(std::bit_cast<typename simd<T>::native>(
        _mm512_permutexvar_pd(std::bit_cast<__m512i>(which), std::bit_cast<__m512d>(a.value()))));
  }
#elif defined(__AVX2__)
  // A number of 64 bits is a pair of words of 32 bits.
  if constexpr (std::is_same_v<T, double>) which = which << 1 | which << 33 | std::uint64_t{1} << 32;
  return simd<T>(std::bit_cast<typename simd<T>::native>(
      _mm256_permutevar8x32_ps(std::bit_cast<__m256>(a.value()), std::bit_cast<__m256i>(which))));
#else
  typename simd<T>::native chosen;
  for (int lane = 0; lane < simd<T>::lanes; ++lane) chosen[lane] = a.value()[which[lane]];
  return simd<T>(chosen);
#endif
}

/// The same of the lanes of `a` and those of `b` behind them.
template <class T>
[[gnu::always_inline]] inline simd<T> lane_choice(simd<T> a, simd<T> b, typename simd<T>::words which) {
#if !defined(__clang__)
  return simd<T>(__builtin_shuffle(a.value(), b.value(), which));
#elif defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    return simd<T>(std::bit_cast<typename simd<T>::native>(_mm512_permutex2var_ps(
        std::bit_cast<__m512>(a.value()), std::bit_cast<__m512i>(which), std::bit_cast<__m512>(b.value()))));
  } else {
    return simd<T>(std::bit_cast<typename simd<T>::native>(_mm512_permutex2var_pd(
        std::bit_cast<__m512d>(a.value()), std::bit_cast<__m512i>(which), std::bit_cast<__m512d>(b.value()))));
  }
#else
  constexpr typename math_constants<T>::word lanes = simd<T>::lanes;
  const auto of_a = lane_choice(a, which & (lanes - 1)), of_b = lane_choice(b, which & (lanes - 1));
  return simd<T>((which & lanes) != 0 ? of_b.value() : of_a.value());
#endif
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
