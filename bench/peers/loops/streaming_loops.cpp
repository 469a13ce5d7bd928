// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#include <omp.h>

#if defined(__SSE2__)
#include <immintrin.h>

namespace prumo::peers {
namespace {

/// The widest vectors of this build, and what the loops need of them.
template <class T>
struct wide;

#if defined(__AVX512F__)
template <>
struct wide<float> {
  using type = __m512;
  static type load(const float* from) { return _mm512_loadu_ps(from); }
  static type same(float value) { return _mm512_set1_ps(value); }
  static void stream(float* to, type value) { _mm512_stream_ps(to, value); }
  static type not_below_zero(type value) { return _mm512_max_ps(value, _mm512_setzero_ps()); }
};
template <>
struct wide<double> {
  using type = __m512d;
  static type load(const double* from) { return _mm512_loadu_pd(from); }
  static type same(double value) { return _mm512_set1_pd(value); }
  static void stream(double* to, type value) { _mm512_stream_pd(to, value); }
  static type not_below_zero(type value) { return _mm512_max_pd(value, _mm512_setzero_pd()); }
};
#elif defined(__AVX__)
template <>
struct wide<float> {
  using type = __m256;
  static type load(const float* from) { return _mm256_loadu_ps(from); }
  static type same(float value) { return _mm256_set1_ps(value); }
  static void stream(float* to, type value) { _mm256_stream_ps(to, value); }
  static type not_below_zero(type value) { return _mm256_max_ps(value, _mm256_setzero_ps()); }
};
template <>
struct wide<double> {
  using type = __m256d;
  static type load(const double* from) { return _mm256_loadu_pd(from); }
  static type same(double value) { return _mm256_set1_pd(value); }
  static void stream(double* to, type value) { _mm256_stream_pd(to, value); }
  static type not_below_zero(type value) { return _mm256_max_pd(value, _mm256_setzero_pd()); }
};
#else
template <>
struct wide<float> {
  using type = __m128;
  static type load(const float* from) { return _mm_loadu_ps(from); }
  static type same(float value) { return _mm_set1_ps(value); }
  static void stream(float* to, type value) { _mm_stream_ps(to, value); }
  static type not_below_zero(type value) { return _mm_max_ps(value, _mm_setzero_ps()); }
};
template <>
struct wide<double> {
  using type = __m128d;
  static type load(const double* from) { return _mm_loadu_pd(from); }
  static type same(double value) { return _mm_set1_pd(value); }
  static void stream(double* to, type value) { _mm_stream_pd(to, value); }
  static type not_below_zero(type value) { return _mm_max_pd(value, _mm_setzero_pd()); }
};
#endif

/// Runs `vector(i)` and `scalar(i)` over the elements: vectors from the first aligned address of the output on, each
/// thread whole cache lines, the same stretches as OpenMP's static partition up to those.
template <class T, class Vector, class Scalar>
void stream_over(T* output, std::int64_t n, const Vector& vector, const Scalar& scalar) {
  constexpr std::int64_t lanes = sizeof(typename wide<T>::type) / sizeof(T);
  constexpr std::int64_t line = 64 / sizeof(T);
  const auto misplaced = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(output) / sizeof(T)) % line;
  const std::int64_t unaligned = misplaced == 0 ? 0 : line - misplaced;
  const std::int64_t head = unaligned < n ? unaligned : n;
  const std::int64_t lines = (n - head) / line;
#pragma omp parallel
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t begin = head + lines * thread / threads * line;
    const std::int64_t end = head + lines * (thread + 1) / threads * line;
    for (std::int64_t i = begin; i < end; i += lanes) wide<T>::stream(output + i, vector(i));
    if (thread == 0) {
      for (std::int64_t i = 0; i < head; ++i) output[i] = scalar(i);
      for (std::int64_t i = head + lines * line; i < n; ++i) output[i] = scalar(i);
    }
    _mm_sfence();
  }
}

template <class T>
void add(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  stream_over(
      static_cast<T*>(it.arrays[2]), it.n, [=](std::int64_t i) { return wide<T>::load(x + i) + wide<T>::load(y + i); },
      [=](std::int64_t i) { return x[i] + y[i]; });
}

template <class T>
void mul(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  stream_over(
      static_cast<T*>(it.arrays[2]), it.n, [=](std::int64_t i) { return wide<T>::load(x + i) * wide<T>::load(y + i); },
      [=](std::int64_t i) { return x[i] * y[i]; });
}

template <class T>
void scale(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T alpha = static_cast<T>(it.alpha);
  const auto alphas = wide<T>::same(alpha);
  stream_over(
      static_cast<T*>(it.arrays[1]), it.n, [=](std::int64_t i) { return alphas * wide<T>::load(x + i); },
      [=](std::int64_t i) { return alpha * x[i]; });
}

template <class T>
void axpby(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  const T alpha = static_cast<T>(it.alpha);
  const T beta = static_cast<T>(it.beta);
  const auto alphas = wide<T>::same(alpha);
  const auto betas = wide<T>::same(beta);
  stream_over(
      static_cast<T*>(it.arrays[2]), it.n,
      [=](std::int64_t i) { return alphas * wide<T>::load(x + i) + betas * wide<T>::load(y + i); },
      [=](std::int64_t i) { return alpha * x[i] + beta * y[i]; });
}

template <class T>
void relu(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  stream_over(
      static_cast<T*>(it.arrays[1]), it.n,
      [=](std::int64_t i) { return wide<T>::not_below_zero(wide<T>::load(x + i)); },
      [=](std::int64_t i) { return x[i] > T(0) ? x[i] : T(0); });
}

template <class T>
void copy(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  stream_over(
      static_cast<T*>(it.arrays[1]), it.n, [=](std::int64_t i) { return wide<T>::load(x + i); },
      [=](std::int64_t i) { return x[i]; });
}

template <class T>
void fill(const call& it) {
  const T value = static_cast<T>(it.alpha);
  const auto values = wide<T>::same(value);
  stream_over(
      static_cast<T*>(it.arrays[0]), it.n, [=](std::int64_t) { return values; }, [=](std::int64_t) { return value; });
}

constexpr loop loops[] = {
    {"add", "streaming", add<float>, add<double>, 0.5},       {"mul", "streaming", mul<float>, mul<double>, 0.5},
    {"scale", "streaming", scale<float>, scale<double>, 0.5}, {"copy", "streaming", copy<float>, copy<double>, 0},
    {"axpby", "streaming", axpby<float>, axpby<double>, 1},   {"relu", "streaming", relu<float>, relu<double>, 0},
    {"fill", "streaming", fill<float>, fill<double>, 0},
};

}  // namespace

std::span<const loop> streaming_loops() { return loops; }

}  // namespace prumo::peers

#else

namespace prumo::peers {
std::span<const loop> streaming_loops() { return {}; }
}  // namespace prumo::peers

#endif
