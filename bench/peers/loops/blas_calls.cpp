// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.hpp"

#if defined(PRUMO_HAS_CBLAS)
#include <cblas.h>

#include <limits>
#include <stdexcept>

namespace prumo::peers {
namespace {

int narrowed(std::int64_t extent) {
  if (extent > std::numeric_limits<int>::max()) throw std::length_error("an extent beyond what the BLAS takes");
  return static_cast<int>(extent);
}

/// Row-major matrices, each stored as it is named: A^T lies there as k x m.
template <class T, class Function>
void gemm(const call& it, const Function& function) {
  const int m = narrowed(it.m);
  const int n = narrowed(it.n);
  const int k = narrowed(it.k);
  const auto leading = [](int columns) { return columns > 0 ? columns : 1; };
  function(CblasRowMajor, it.trans_a ? CblasTrans : CblasNoTrans, it.trans_b ? CblasTrans : CblasNoTrans, m, n, k,
           static_cast<T>(it.alpha), static_cast<const T*>(it.arrays[0]), leading(it.trans_a ? m : k),
           static_cast<const T*>(it.arrays[1]), leading(it.trans_b ? k : n), static_cast<T>(it.beta),
           static_cast<T*>(it.arrays[2]), leading(n));
}

void gemm_f32(const call& it) { gemm<float>(it, cblas_sgemm); }
void gemm_f64(const call& it) { gemm<double>(it, cblas_dgemm); }

constexpr loop loops[] = {{"gemm", "cblas", gemm_f32, gemm_f64, 0}};

}  // namespace

std::span<const loop> blas_calls() { return loops; }

}  // namespace prumo::peers

#else

namespace prumo::peers {
std::span<const loop> blas_calls() { return {}; }
}  // namespace prumo::peers

#endif
