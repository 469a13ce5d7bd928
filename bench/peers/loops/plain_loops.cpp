// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#include <cmath>
#include <omp.h>

namespace prumo::peers {
namespace {

/// y = f(x), element by element.
template <class T, class Function>
void map(const call& it, const Function& f) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  T* const y = static_cast<T*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = f(x[i]);
}

/// z = f(x, y), element by element.
template <class T, class Function>
void map_two(const call& it, const Function& f) {
  const T* const x = static_cast<const T*>(it.arrays[0]);
  const T* const y = static_cast<const T*>(it.arrays[1]);
  T* const z = static_cast<T*>(it.arrays[2]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) z[i] = f(x[i], y[i]);
}

template <class T>
void add(const call& it) {
  map_two<T>(it, [](T x, T y) { return x + y; });
}

template <class T>
void mul(const call& it) {
  map_two<T>(it, [](T x, T y) { return x * y; });
}

template <class T>
void axpby(const call& it) {
  map_two<T>(it, [alpha = T(it.alpha), beta = T(it.beta)](T x, T y) { return alpha * x + beta * y; });
}

template <class T>
void scale(const call& it) {
  map<T>(it, [alpha = T(it.alpha)](T x) { return alpha * x; });
}

template <class T>
void copy(const call& it) {
  map<T>(it, [](T x) { return x; });
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
  map<T>(it, [](T x) { return std::exp(x); });
}

template <class T>
void sigmoid(const call& it) {
  map<T>(it, [](T x) { return T(1) / (T(1) + std::exp(-x)); });
}

template <class T>
void tanh(const call& it) {
  map<T>(it, [](T x) { return std::tanh(x); });
}

template <class T>
void log(const call& it) {
  map<T>(it, [](T x) { return std::log(x); });
}

template <class T>
void sqrt(const call& it) {
  map<T>(it, [](T x) { return std::sqrt(x); });
}

template <class T>
void rsqrt(const call& it) {
  map<T>(it, [](T x) { return T(1) / std::sqrt(x); });
}

template <class T>
void relu(const call& it) {
  map<T>(it, [](T x) { return x > T(0) ? x : T(0); });
}

/// Both forms, as textbooks have them.
template <class T>
void gelu(const call& it) {
  if (it.alpha == 0) {
    map<T>(it, [](T x) { return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440L))); });
  } else {
    map<T>(it, [](T x) {
      return T(0.5) * x * (T(1) + std::tanh(T(0.79788456080286535588L) * (x + T(0.044715L) * x * x * x)));
    });
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
