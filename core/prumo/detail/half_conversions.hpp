// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stretches of f16 to float and back on a host, by the instructions that its vector units have for that. Compilers
/// know them as those of single numbers, and vectorise the arithmetic of <prumo/types.hpp> instead: some twenty
/// operations a number, by which 16-bit arrays would take longer than those of twice their size. (Of bf16 it is so few
/// that converting stretches gained nothing.)

#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <type_traits>

#if defined(__AVX2__) && defined(__F16C__)
#define PRUMO_VECTOR_CONVERSIONS
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether vectors of T are converted here; elsewhere there is neither widen() nor narrow().
#if defined(PRUMO_VECTOR_CONVERSIONS)
template <class T>
inline constexpr bool has_vector_conversions = std::is_same_v<T, f16>;
#else
template <class T>
inline constexpr bool has_vector_conversions = false;
#endif

#if defined(PRUMO_VECTOR_CONVERSIONS)

#if defined(__AVX512F__)

/// So many floats, which counts are multiples of.
struct converted_floats {
  static constexpr int count = 16;
  __m512 values;

  static converted_floats of(const float* from) { return {_mm512_loadu_ps(from)}; }
  static converted_floats of(const f16* from) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
  }
  void store(float* to) const { _mm512_storeu_ps(to, values); }
  /// To nearest even; a NaN becomes the one that f16 makes of every NaN, with its sign.
  void store(f16* to) const {
    const __m512i nan = _mm512_or_si512(_mm512_and_si512(bits(), all(0x80000000u)), all(0x7fc00000u));
    const __m512 known = _mm512_castsi512_ps(_mm512_mask_mov_epi32(bits(), is_nan(), nan));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(known, to_nearest));
  }

 private:
  static constexpr int to_nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  static __m512i all(std::uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
  __m512i bits() const { return _mm512_castps_si512(values); }
  __mmask16 is_nan() const { return _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q); }
};

#else

struct converted_floats {
  static constexpr int count = 8;
  __m256 values;

  static converted_floats of(const float* from) { return {_mm256_loadu_ps(from)}; }
  static converted_floats of(const f16* from) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
  }
  void store(float* to) const { _mm256_storeu_ps(to, values); }
  void store(f16* to) const {
    const __m256i nan = _mm256_or_si256(_mm256_and_si256(bits(), all(0x80000000u)), all(0x7fc00000u));
    const __m256 known = _mm256_blendv_ps(values, _mm256_castsi256_ps(nan), is_nan());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(known, to_nearest));
  }

 private:
  static constexpr int to_nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  static __m256i all(std::uint32_t word) { return _mm256_set1_epi32(static_cast<int>(word)); }
  __m256i bits() const { return _mm256_castps_si256(values); }
  __m256 is_nan() const { return _mm256_cmp_ps(values, values, _CMP_UNORD_Q); }
};

#endif

/// to[i] = from[i] for i < count, a multiple of converted_floats::count.
template <class T>
inline void widen(const T* from, float* to, int count) {
  for (int at = 0; at < count; at += converted_floats::count) converted_floats::of(from + at).store(to + at);
}
/// The same of any count.
template <class T>
inline void widen_run(const T* from, float* to, std::int64_t count) {
  const std::int64_t whole = count / converted_floats::count * converted_floats::count;
  widen(from, to, static_cast<int>(whole));
  for (std::int64_t at = whole; at < count; ++at) to[at] = static_cast<float>(from[at]);
}
/// to[i] = from[i] for i < count, a multiple of converted_floats::count.
template <class T>
inline void narrow(const float* from, T* to, int count) {
  for (int at = 0; at < count; at += converted_floats::count) converted_floats::of(from + at).store(to + at);
}

#endif

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
