// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// C = beta C + P for a product P that a library left in f32. Libraries round a 16-bit product before they add beta C,
/// some of them, and twice rounded is not what the product promises.

#include <prumo/backend/gemm.hpp>
#include <prumo/detail/launch.hpp>

#include <cstdint>
#include <string>

namespace prumo::backend {

/// Whether a library's result has to go through f32 to be rounded once only.
template <class T>
bool needs_accumulation(const gemm_problem<T>& problem) {
  return sizeof(product_result_t<T>) == 2 && problem.beta != 0;
}

/// An entry of a row-major C an iteration; the product lies without gaps. T is C's type.
template <class T>
struct gemm_accumulation_kernel {
  const float* product;
  gemm_matrix<T> c;
  std::int64_t m;
  std::int64_t n;
  std::int64_t batch;
  float beta;

  std::int64_t blocks() const { return m * n * batch; }

  KOKKOS_FUNCTION void operator()(std::int64_t entry) const {
    const std::int64_t row = entry / n;
    T& target = c.data[row / m * c.batch_stride + row % m * c.row_stride + (entry - row * n) * c.column_stride];
    target = static_cast<T>(Kokkos::fma(beta, static_cast<float>(target), product[entry]));
  }
};

template <class Exec, class T>
void enqueue_accumulation(const Exec& instance, const gemm_problem<T>& problem, const float* product) {
  static const std::string label = "prumo::gemm::accumulation";
  prumo::detail::launch_blocks(
      instance, label,
      gemm_accumulation_kernel<product_result_t<T>>{product, problem.c, problem.m, problem.n, problem.batch,
                                                    static_cast<float>(problem.beta)});
}

}  // namespace prumo::backend
