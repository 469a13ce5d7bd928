// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stretches of f16 to float and back on a host, by the instructions that its vector units have for that. Compilers
/// know them for single numbers only, and vectorise the arithmetic of <prumo/types.hpp> instead: some twenty operations
/// a number, by which 16-bit arrays would take longer than those of twice their size. (That of bf16 is two and five.)

#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether vectors of T are converted here by instructions of their own.
template <class T>
#if defined(__F16C__)
inline constexpr bool has_vector_conversions = std::is_same_v<T, f16>;
#else
inline constexpr bool has_vector_conversions = false;
#endif

#if defined(__F16C__)

/// Numbers that are converted at a time: counts are multiples of it.
#if defined(__AVX512F__)
inline constexpr int converted_at_once = 16;
#else
inline constexpr int converted_at_once = 8;
#endif

/// to[i] = from[i] for i < count.
inline void widen(const f16* from, float* to, int count) {
  for (int at = 0; at < count; at += converted_at_once) {
#if defined(__AVX512F__)
    _mm512_storeu_ps(to + at, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at))));
#else
    _mm256_storeu_ps(to + at, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at))));
#endif
  }
}

/// The same back, to nearest even; a NaN becomes the one that f16 makes of every NaN, with its sign.
inline void narrow(const float* from, f16* to, int count) {
  constexpr int quiet_nan = 0x7fc00000;
  constexpr int sign = static_cast<int>(0x80000000u);
  constexpr int to_nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  for (int at = 0; at < count; at += converted_at_once) {
#if defined(__AVX512F__)
    const __m512 value = _mm512_loadu_ps(from + at);
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i nan = _mm512_or_si512(_mm512_and_si512(bits, _mm512_set1_epi32(sign)), _mm512_set1_epi32(quiet_nan));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512 known = _mm512_castsi512_ps(_mm512_mask_mov_epi32(bits, is_nan, nan));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), _mm512_cvtps_ph(known, to_nearest));
#else
    const __m256 value = _mm256_loadu_ps(from + at);
    const __m256 nan = _mm256_or_ps(_mm256_and_ps(value, _mm256_castsi256_ps(_mm256_set1_epi32(sign))),
                                    _mm256_castsi256_ps(_mm256_set1_epi32(quiet_nan)));
    const __m256 known = _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), _mm256_cvtps_ph(known, to_nearest));
#endif
  }
}

#endif

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
