// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled with -ffast-math: only then does GCC call the vector versions of the C library's functions. Nothing here may
// be an inline function that another file has too, or the linker could keep this file's version of it.
#include "kernels.hpp"

#if defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <math.h>

namespace prumo::peers {
namespace {

void exp_f32(const call& it) {
  const float* const x = static_cast<const float*>(it.arrays[0]);
  float* const y = static_cast<float*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = expf(x[i]);
}

void exp_f64(const call& it) {
  const double* const x = static_cast<const double*>(it.arrays[0]);
  double* const y = static_cast<double*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = exp(x[i]);
}

void sigmoid_f32(const call& it) {
  const float* const x = static_cast<const float*>(it.arrays[0]);
  float* const y = static_cast<float*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = 1.0f / (1.0f + expf(-x[i]));
}

void sigmoid_f64(const call& it) {
  const double* const x = static_cast<const double*>(it.arrays[0]);
  double* const y = static_cast<double*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = 1.0 / (1.0 + exp(-x[i]));
}

void tanh_f32(const call& it) {
  const float* const x = static_cast<const float*>(it.arrays[0]);
  float* const y = static_cast<float*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = tanhf(x[i]);
}

void tanh_f64(const call& it) {
  const double* const x = static_cast<const double*>(it.arrays[0]);
  double* const y = static_cast<double*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = tanh(x[i]);
}

void log_f32(const call& it) {
  const float* const x = static_cast<const float*>(it.arrays[0]);
  float* const y = static_cast<float*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = logf(x[i]);
}

void log_f64(const call& it) {
  const double* const x = static_cast<const double*>(it.arrays[0]);
  double* const y = static_cast<double*>(it.arrays[1]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < it.n; ++i) y[i] = log(x[i]);
}

void gelu_f32(const call& it) {
  const float* const x = static_cast<const float*>(it.arrays[0]);
  float* const y = static_cast<float*>(it.arrays[1]);
  if (it.alpha == 0) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < it.n; ++i) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678118654752440f));
  } else {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < it.n; ++i) {
      const auto inner = 0.79788456080286535588f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
      y[i] = 0.5f * x[i] * (1.0f + tanhf(inner));
    }
  }
}

void gelu_f64(const call& it) {
  const double* const x = static_cast<const double*>(it.arrays[0]);
  double* const y = static_cast<double*>(it.arrays[1]);
  if (it.alpha == 0) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < it.n; ++i) y[i] = 0.5 * x[i] * (1.0 + erf(x[i] * 0.70710678118654752440));
  } else {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < it.n; ++i) {
      const auto inner = 0.79788456080286535588 * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
      y[i] = 0.5 * x[i] * (1.0 + tanh(inner));
    }
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
