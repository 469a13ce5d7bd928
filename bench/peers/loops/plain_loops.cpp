// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#include <cmath>
#include <omp.h>

namespace prumo::peers {
namespace {

template <class T>
void add(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  T* const z = static_cast<T*>(it.arrays[2]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) z[i] = x[i] + y[i];
}

template <class T>
void mul(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  T* const z = static_cast<T*>(it.arrays[2]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) z[i] = x[i] * y[i];
}

template <class T>
void scale(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
  const T alpha = static_cast<T>(it.alpha);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = alpha * x[i];
}

template <class T>
void copy(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = x[i];
}

template <class T>
void fill(const call& it) {
  T* const y = static_cast<T*>(it.arrays[0]);
  const T value = static_cast<T>(it.alpha);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = value;
}

template <class T>
void exp(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = std::exp(x[i]);
}

template <class T>
void sigmoid(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = T(1) / (T(1) + std::exp(-x[i]));
}

template <class T>
void tanh(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = std::tanh(x[i]);
}

template <class T>
void axpby(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  T* const z = static_cast<T*>(it.arrays[2]);
  const T alpha = static_cast<T>(it.alpha);
  const T beta = static_cast<T>(it.beta);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) z[i] = alpha * x[i] + beta * y[i];
}

template <class T>
void log(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = std::log(x[i]);
}

template <class T>
void sqrt(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = std::sqrt(x[i]);
}

template <class T>
void rsqrt(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = T(1) / std::sqrt(x[i]);
}

template <class T>
void relu(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = x[i] > T(0) ? x[i] : T(0);
}

/// Both forms, as textbooks have them.
template <class T>
void gelu(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
  // NOLINTNEXTLINE(bugprone-branch-clone): the check does not look into parallel loops
  if (it.alpha == 0) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < it.n; ++i) y[i] = T(0.5) * x[i] * (T(1) + std::erf(x[i] * T(0.70710678118654752440L)));
  } else {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < it.n; ++i) {
      const T inner = T(0.79788456080286535588L) * (x[i] + T(0.044715L) * x[i] * x[i] * x[i]);
      y[i] = T(0.5) * x[i] * (T(1) + std::tanh(inner));
    }
  }
}

template <class T>
void sum(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (std::int64_t i = 0; i < it.n; ++i) total += x[i];
  *static_cast<T*>(it.arrays[1]) = total;
}

/// The same where the loop says that the order of additions does not matter.
template <class T>
void sum_simd(const call& it) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T total = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : total)
  for (std::int64_t i = 0; i < it.n; ++i) total += x[i];
  *static_cast<T*>(it.arrays[1]) = total;
}

constexpr loop loops[] = {
    {"add", "plain", add<float>, add<double>, 0.5},
    {"mul", "plain", mul<float>, mul<double>, 0.5},
    {"scale", "plain", scale<float>, scale<double>, 0.5},
    {"copy", "plain", copy<float>, copy<double>, 0},
    {"fill", "plain", fill<float>, fill<double>, 0},
    {"exp", "plain", exp<float>, exp<double>, 1},
    {"sigmoid", "plain", sigmoid<float>, sigmoid<double>, 3},
    {"tanh", "plain", tanh<float>, tanh<double>, 2.5},
    {"axpby", "plain", axpby<float>, axpby<double>, 1},
    {"log", "plain", log<float>, log<double>, 1},
    {"sqrt", "plain", sqrt<float>, sqrt<double>, 0.5},
    {"rsqrt", "plain", rsqrt<float>, rsqrt<double>, 1.5},
    {"relu", "plain", relu<float>, relu<double>, 0},
    {"gelu", "plain", gelu<float>, gelu<double>, 4},
    {"sum", "plain", sum<float>, sum<double>, 0},
    {"sum", "simd", sum_simd<float>, sum_simd<double>, 0},
};

}  // namespace

std::span<const loop> plain_loops() { return loops; }

int thread_count() { return omp_get_max_threads(); }

}  // namespace prumo::peers
