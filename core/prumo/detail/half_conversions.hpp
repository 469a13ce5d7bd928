// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stretches of 16-bit numbers to float and back on a host, by the instructions that its vector units have for that.
/// Compilers know those of f16 as instructions of single numbers only, and vectorise the arithmetic of
/// <prumo/types.hpp> instead: some twenty operations a number, by which 16-bit arrays would take longer than those of
/// twice their size. Of bf16 they make the widening well; to round to it masks need half the operations.
///
/// The instructions that AVX512_BF16 has are not used: they take subnormal numbers for zeros.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>

#if defined(__AVX2__) && defined(__F16C__)
#define PRUMO_VECTOR_CONVERSIONS
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// `count` numbers of T to floats, convert(from, to). Defined for the types that are widened here.
template <class T>
struct vector_widening;
/// `count` floats to numbers of T, to nearest even, likewise.
template <class T>
struct vector_narrowing;

/// Whether stretches of T are widened or narrowed here; elsewhere there is no widen() or narrow() of them.
template <class T>
inline constexpr bool has_vector_widening = requires { vector_widening<T>::count; };
template <class T>
inline constexpr bool has_vector_narrowing = requires { vector_narrowing<T>::count; };

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(PRUMO_VECTOR_CONVERSIONS)

template <>
struct vector_widening<f16> {
  static constexpr int count = 16;

  static void convert(const f16* from, float* to) {
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  }
};

/// A NaN becomes the one that f16 makes of every NaN, with its sign.
template <>
struct vector_narrowing<f16> {
  static constexpr int count = 16;

  static void convert(const float* from, f16* to) {
    const __m512 values = _mm512_loadu_ps(from);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
    const __m512i sign = _mm512_and_si512(_mm512_castps_si512(values), _mm512_set1_epi32(INT32_MIN));
    const __m512i known =
        _mm512_mask_or_epi32(_mm512_castps_si512(values), is_nan, sign, _mm512_set1_epi32(0x7fc00000));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(_mm512_castsi512_ps(known), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

/// A NaN stays the one that it is, made quiet.
template <>
struct vector_narrowing<bf16> {
  static constexpr int count = 32;

  static void convert(const float* from, bf16* to) {
    // The upper half of every 32-bit word.
    alignas(64) static constexpr std::uint16_t upper_halves[count] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                                      23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                                      45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(rounded(_mm512_loadu_ps(from)), _mm512_load_si512(upper_halves),
                                                      rounded(_mm512_loadu_ps(from + count / 2))));
  }

 private:
  /// With the numbers in the upper halves.
  static __m512i rounded(__m512 values) {
    const __m512i bits = _mm512_castps_si512(values);
    const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    const __m512i down = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    const __m512i nearest = _mm512_mask_add_epi32(down, odd, bits, _mm512_set1_epi32(0x8000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(nearest, is_nan, bits, _mm512_set1_epi32(0x400000));
  }
};

#elif defined(PRUMO_VECTOR_CONVERSIONS)

template <>
struct vector_widening<f16> {
  static constexpr int count = 8;

  static void convert(const f16* from, float* to) {
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }
};

/// A NaN becomes the one that f16 makes of every NaN, with its sign.
template <>
struct vector_narrowing<f16> {
  static constexpr int count = 8;

  static void convert(const float* from, f16* to) {
    const __m256 values = _mm256_loadu_ps(from);
    const __m256 sign = _mm256_and_ps(values, _mm256_set1_ps(-0.0f));
    const __m256 nan = _mm256_or_ps(sign, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
    const __m256 known = _mm256_blendv_ps(values, nan, _mm256_cmp_ps(values, values, _CMP_UNORD_Q));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(known, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

#endif

/// A multiple of every `count`.
inline constexpr std::int64_t most_converted_at_once = 32;

/// to[i] = from[i] for i < count. What is left of vectors goes through the same instructions, so that a number's result
/// does not depend on its place. Inlined by all means: a caller that knows the count keeps its vectors in registers.
template <class Conversion, class From, class To>
[[gnu::always_inline]] inline void convert_stretch(const From* from, To* to, std::int64_t count) {
  const std::int64_t whole = count / Conversion::count * Conversion::count;
  for (std::int64_t at = 0; at < whole; at += Conversion::count) Conversion::convert(from + at, to + at);
  if (whole < count) {
    From rest[Conversion::count] = {};
    To converted[Conversion::count];
    std::copy(from + whole, from + count, rest);
    Conversion::convert(rest, converted);
    std::copy_n(converted, count - whole, to + whole);
  }
}

/// to[i] = from[i] for i < count.
template <class T>
  requires has_vector_widening<T>
[[gnu::always_inline]] inline void widen(const T* from, float* to, std::int64_t count) {
  convert_stretch<vector_widening<T>>(from, to, count);
}
/// The same to nearest even.
template <class T>
  requires has_vector_narrowing<T>
[[gnu::always_inline]] inline void narrow(const float* from, T* to, std::int64_t count) {
  convert_stretch<vector_narrowing<T>>(from, to, count);
}

/// to[i] = value(i), rounded to T, for i < count: `Most` at most where T is narrowed here. No iteration depends on
/// another. Inlined by all means, and with it the formulas in `value` by a caller that is PRUMO_FLATTEN.
template <std::int64_t Most, class T, class Count, class Value>
[[gnu::always_inline]] inline void compute_stretch(Count known_count, T* to, const Value& value) {
  const std::int64_t count = known_count;  // nvcc loses the pragma of a loop that compares with a class
  if constexpr (has_vector_narrowing<T>) {
    float results[Most];
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < count; ++i) results[i] = value(i);
    narrow(results, to, count);
  } else {
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(value(i));
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
