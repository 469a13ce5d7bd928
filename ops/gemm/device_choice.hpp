// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "gemm_problem.hpp"
#include "gemv_problem.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::backend {

/// The types that the kernel multiplies.
template <class T>
inline constexpr bool has_short_sums_kernel =
    std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// Whether sums have so few products that C takes longer to write than to compute, and a device's kernel for them
/// (portable/short_sums_device.hpp) is faster than the device's library, whose tiles are made for long sums.
///
/// Measured on an H200 beside cuBLAS. cuBLAS is faster for f64 and for a single row or column. It is faster for 16-bit
/// numbers from eight products on, unless C has few rows or columns and is not small, and for f32 from nine products on
/// if rows of C are short and many.
template <class T>
bool has_short_sums_for_device(const gemm_problem<T>& problem) {
  constexpr std::int64_t most = 16, of_matrix_units = 8, few = 16, short_row = 32;
  constexpr std::int64_t many_entries = std::int64_t{1} << 16, many_elements = std::int64_t{1} << 19;
  if (!has_short_sums_kernel<T>) return false;
  if (problem.mode != gemm_mode::strict || problem.batch != 1 || problem.has_epilogue()) return false;
  const std::int64_t least = std::min(problem.m, problem.n);
  if (least == 1) return false;
  if (sizeof(T) == 2) {
    const bool is_thin = least <= few && problem.m * problem.n >= many_entries;
    return problem.k < of_matrix_units || (is_thin && problem.k != of_matrix_units && problem.k < most);
  }
  const bool has_rows = problem.c.column_stride == 1;
  const std::int64_t rows = has_rows ? problem.m : problem.n, columns = has_rows ? problem.n : problem.m;
  const bool is_long = columns <= short_row && rows * problem.k >= many_elements;
  return problem.k <= (is_long ? of_matrix_units : most);
}

/// Whether a product on a device is one of few long rows and a vector, which the kernels of gemv compute faster than
/// the device's library.
template <class T>
bool is_vector_product_for_device([[maybe_unused]] const gemm_problem<T>& problem) {
  if constexpr (has_short_sums_kernel<T>) {
    return problem.mode == gemm_mode::strict && problem.batch == 1 && !problem.has_epilogue() &&
           std::min(problem.m, problem.n) == 1 && has_few_long_rows(as_matrix_and_vector(problem));
  } else {
    return false;
  }
}

}  // namespace prumo::backend
