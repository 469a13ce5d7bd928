// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled with -ffast-math: only then does GCC call the vector versions of the C library's functions. Nothing here may
// be an inline function that another file has too, or the linker could keep this file's version of it.
#include "kernels.hpp"

#if defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <math.h>

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

void exp_f32(const call& it) {
  map<float>(it, [](float x) { return expf(x); });
}
void exp_f64(const call& it) {
  map<double>(it, [](double x) { return exp(x); });
}

void sigmoid_f32(const call& it) {
  map<float>(it, [](float x) { return 1.0f / (1.0f + expf(-x)); });
}
void sigmoid_f64(const call& it) {
  map<double>(it, [](double x) { return 1.0 / (1.0 + exp(-x)); });
}

void tanh_f32(const call& it) {
  map<float>(it, [](float x) { return tanhf(x); });
}
void tanh_f64(const call& it) {
  map<double>(it, [](double x) { return tanh(x); });
}

void log_f32(const call& it) {
  map<float>(it, [](float x) { return logf(x); });
}
void log_f64(const call& it) {
  map<double>(it, [](double x) { return log(x); });
}

void gelu_f32(const call& it) {
  if (it.alpha == 0) {
    map<float>(it, [](float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752440f)); });
  } else {
    map<float>(
        it, [](float x) { return 0.5f * x * (1.0f + tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x))); });
  }
}
void gelu_f64(const call& it) {
  if (it.alpha == 0) {
    map<double>(it, [](double x) { return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440)); });
  } else {
    map<double>(it,
                [](double x) { return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); });
  }
}

// The vector functions promise 4 units in the last place; the reciprocal of fast mathematics adds to that.
constexpr loop loops[] = {
    {"exp", "libmvec", exp_f32, exp_f64, 4.5},    {"sigmoid", "libmvec", sigmoid_f32, sigmoid_f64, 8},
    {"tanh", "libmvec", tanh_f32, tanh_f64, 4.5}, {"log", "libmvec", log_f32, log_f64, 4.5},
    {"gelu", "libmvec", gelu_f32, gelu_f64, 8},
};

}  // namespace

std::span<const loop> vector_library_loops() { return loops; }

}  // namespace prumo::peers

#else

namespace prumo::peers {
std::span<const loop> vector_library_loops() { return {}; }
}  // namespace prumo::peers

#endif
