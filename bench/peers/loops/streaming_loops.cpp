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
#define PRUMO_WIDE(SUFFIX) _mm512_##SUFFIX
using wide_float = __m512;
using wide_double = __m512d;
#elif defined(__AVX__)
#define PRUMO_WIDE(SUFFIX) _mm256_##SUFFIX
using wide_float = __m256;
using wide_double = __m256d;
#else
#define PRUMO_WIDE(SUFFIX) _mm_##SUFFIX
using wide_float = __m128;
using wide_double = __m128d;
#endif

template <>
struct wide<float> {
  using type = wide_float;
  static type load(const float* from) { return PRUMO_WIDE(loadu_ps)(from); }
  static type same(float value) { return PRUMO_WIDE(set1_ps)(value); }
  static void stream(float* to, type value) { PRUMO_WIDE(stream_ps)(to, value); }
  static type not_below_zero(type value) { return PRUMO_WIDE(max_ps)(value, PRUMO_WIDE(setzero_ps)()); }
};
template <>
struct wide<double> {
  using type = wide_double;
  static type load(const double* from) { return PRUMO_WIDE(loadu_pd)(from); }
  static type same(double value) { return PRUMO_WIDE(set1_pd)(value); }
  static void stream(double* to, type value) { PRUMO_WIDE(stream_pd)(to, value); }
  static type not_below_zero(type value) { return PRUMO_WIDE(max_pd)(value, PRUMO_WIDE(setzero_pd)()); }
};

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

/// y = f(x), where `f` takes a vector and an element alike.
template <class T, class Function>
void map(const call& it, const Function& f) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  stream_over(
      static_cast<T*>(it.arrays[1]), it.n, [=](std::int64_t i) { return f(wide<T>::load(x + i)); },
      [=](std::int64_t i) { return f(x[i]); });
}

/// z = f(x, y), likewise.
template <class T, class Function>
void map_two(const call& it, const Function& f) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  stream_over(
      static_cast<T*>(it.arrays[2]), it.n,
      [=](std::int64_t i) { return f(wide<T>::load(x + i), wide<T>::load(y + i)); },
      [=](std::int64_t i) { return f(x[i], y[i]); });
}

template <class T>
void add(const call& it) {
  map_two<T>(it, [](auto x, auto y) { return x + y; });
}

template <class T>
void mul(const call& it) {
  map_two<T>(it, [](auto x, auto y) { return x * y; });
}

template <class T>
void scale(const call& it) {
  map<T>(it, [alpha = T(it.alpha)](auto x) { return alpha * x; });
}

template <class T>
void axpby(const call& it) {
  map_two<T>(it, [alpha = T(it.alpha), beta = T(it.beta)](auto x, auto y) { return alpha * x + beta * y; });
}

template <class T>
void copy(const call& it) {
  map<T>(it, [](auto x) { return x; });
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
