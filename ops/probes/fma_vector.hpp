// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A register's worth of numbers with a fused multiply-add, of the widest vectors that this source is
/// compiled for. Spelled in intrinsics: a compiler that is free to arrange a loop over an array of
/// accumulators keeps them in memory.

#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace prumo::probe {
inline namespace PRUMO_INSTRUCTION_SET {

/// A single number. `in_flight`: how many of them fit into registers and keep the pipes full.
template <class T>
struct fma_number {
  using type = fma_number;  ///< what registers hold: derived classes are names for it
  static constexpr int lanes = 1;
  static constexpr int in_flight = 16;
  T value;

  static fma_number load(const T* from) { return {*from}; }
  static fma_number all(T number) { return {number}; }
  void store(T* to) const { *to = value; }
  void multiply_add(const fma_number& factor, const fma_number& summand) {
    value = fma(value, factor.value, summand.value);
  }
};

/// The host's vector of a type; a single number where the type or the processor has none.
template <class T>
struct fma_vector : fma_number<T> {};

#define PRUMO_DEFINE_FMA_VECTOR(T, Register, lane_count, flight, load_function, store_function, set_function, \
                                fma_call)                                                                     \
  template <>                                                                                                 \
  struct fma_vector<T> {                                                                                      \
    using type = fma_vector;                                                                                  \
    static constexpr int lanes = lane_count;                                                                  \
    static constexpr int in_flight = flight;                                                                  \
    Register value;                                                                                           \
    static fma_vector load(const T* from) { return {load_function(from)}; }                                   \
    static fma_vector all(T number) { return {set_function(number)}; }                                        \
    void store(T* to) const { store_function(to, value); }                                                    \
    void multiply_add(const fma_vector& factor, const fma_vector& summand) { value = fma_call; }              \
  };

// Twelve in flight hide six cycles on two pipes and leave registers for the operands where there are sixteen;
// NEON processors have up to four pipes, and thirty-two registers.
#if defined(__AVX512F__)
PRUMO_DEFINE_FMA_VECTOR(float, __m512, 16, 12, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps,
                        _mm512_fmadd_ps(value, factor.value, summand.value))
PRUMO_DEFINE_FMA_VECTOR(double, __m512d, 8, 12, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd,
                        _mm512_fmadd_pd(value, factor.value, summand.value))
#elif defined(__AVX2__) && defined(__FMA__)
PRUMO_DEFINE_FMA_VECTOR(float, __m256, 8, 12, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps,
                        _mm256_fmadd_ps(value, factor.value, summand.value))
PRUMO_DEFINE_FMA_VECTOR(double, __m256d, 4, 12, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
                        _mm256_fmadd_pd(value, factor.value, summand.value))
#elif defined(__ARM_NEON) && defined(__aarch64__)
PRUMO_DEFINE_FMA_VECTOR(float, float32x4_t, 4, 24, vld1q_f32, vst1q_f32, vdupq_n_f32,
                        vfmaq_f32(summand.value, value, factor.value))
PRUMO_DEFINE_FMA_VECTOR(double, float64x2_t, 2, 24, vld1q_f64, vst1q_f64, vdupq_n_f64,
                        vfmaq_f64(summand.value, value, factor.value))
#elif defined(__SSE2__)
// No fused form: a product and a sum, which is what the library's kernels do there.
PRUMO_DEFINE_FMA_VECTOR(float, __m128, 4, 12, _mm_loadu_ps, _mm_storeu_ps, _mm_set1_ps,
                        _mm_add_ps(_mm_mul_ps(value, factor.value), summand.value))
PRUMO_DEFINE_FMA_VECTOR(double, __m128d, 2, 12, _mm_loadu_pd, _mm_storeu_pd, _mm_set1_pd,
                        _mm_add_pd(_mm_mul_pd(value, factor.value), summand.value))
#endif
#undef PRUMO_DEFINE_FMA_VECTOR

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::probe
