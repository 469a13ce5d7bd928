// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// One vector register of the host, for loops that live in registers. Compilers keep a block of sums in registers only
/// if the registers are spelt out; loops over arrays of sums end in memory and cost ten times as much.

#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// A register of values of C. Any type has one of a single lane.
template <class C>
struct vector_register {
  static constexpr int lanes = 1;
  C value;

  static vector_register load(const C* from) { return {*from}; }
  static vector_register broadcast(C single) { return {single}; }
  void store(C* to) const { *to = value; }
  /// this + a * b
  vector_register plus_product(vector_register a, vector_register b) const {
    return {prumo::fma(a.value, b.value, value)};
  }
};

// Named by what an instruction set calls its loads, stores and broadcasts.
#define PRUMO_VECTOR_REGISTER(C, native, lane_count, load_from, store_to, set_all, fused) \
  template <>                                                                             \
  struct vector_register<C> {                                                             \
    static constexpr int lanes = lane_count;                                              \
    native value;                                                                         \
                                                                                          \
    static vector_register load(const C* from) { return {load_from(from)}; }              \
    static vector_register broadcast(C single) { return {set_all(single)}; }              \
    void store(C* to) const { store_to(to, value); }                                      \
    vector_register plus_product(vector_register a, vector_register b) const {            \
      return {fused(a.value, b.value, value)};                                            \
    }                                                                                     \
  };

#if defined(__AVX512F__)
inline constexpr bool has_many_registers = true;
PRUMO_VECTOR_REGISTER(float, __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_fmadd_ps)
PRUMO_VECTOR_REGISTER(double, __m512d, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, _mm512_fmadd_pd)
#elif defined(__AVX__) && defined(__FMA__)
inline constexpr bool has_many_registers = false;
PRUMO_VECTOR_REGISTER(float, __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_fmadd_ps)
PRUMO_VECTOR_REGISTER(double, __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_fmadd_pd)
#elif defined(__SSE2__)
inline constexpr bool has_many_registers = false;
inline __m128 multiply_then_add(__m128 a, __m128 b, __m128 c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
inline __m128d multiply_then_add(__m128d a, __m128d b, __m128d c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
PRUMO_VECTOR_REGISTER(float, __m128, 4, _mm_loadu_ps, _mm_storeu_ps, _mm_set1_ps, multiply_then_add)
PRUMO_VECTOR_REGISTER(double, __m128d, 2, _mm_loadu_pd, _mm_storeu_pd, _mm_set1_pd, multiply_then_add)
#elif defined(__ARM_NEON) && defined(__aarch64__)
inline constexpr bool has_many_registers = true;
inline float32x4_t fused_multiply_add(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
inline float64x2_t fused_multiply_add(float64x2_t a, float64x2_t b, float64x2_t c) { return vfmaq_f64(c, a, b); }
PRUMO_VECTOR_REGISTER(float, float32x4_t, 4, vld1q_f32, vst1q_f32, vdupq_n_f32, fused_multiply_add)
PRUMO_VECTOR_REGISTER(double, float64x2_t, 2, vld1q_f64, vst1q_f64, vdupq_n_f64, fused_multiply_add)
#else
inline constexpr bool has_many_registers = false;
#endif
#undef PRUMO_VECTOR_REGISTER

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
