// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "gemm_problem.hpp"
#include <prumo/context.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::backend {

/// The types that the kernel multiplies.
template <class T>
inline constexpr bool has_short_sums_kernel =
    std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// Whether a product is neither a batch nor one with an epilogue, and is computed in mode strict.
template <class T>
bool is_single_plain_product(const gemm_problem<T>& problem) {
  return problem.mode == gemm_mode::strict && problem.batch == 1 && !problem.has_epilogue();
}

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
  if (!is_single_plain_product(problem)) return false;
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

/// Whether a product is that of a vector and a matrix of few rows, which are long and lie in memory. A device's kernel
/// for that, of the operation gemv, is faster than its library. Measured on an H200 in f32 and bf16: cuBLAS takes 1.1
/// to 2.5 times as long for 100 x 1000, 14 x 2120, 12 x 30000 and 2 x 1000000 from the cache, and more from memory.
/// cuBLAS is faster for 3000 x 700 and 4096 x 4096.
template <class T>
bool has_few_long_rows_for_device(const gemm_problem<T>& given) {
  constexpr std::int64_t few_rows = 100, long_row = 1000, most_elements = std::int64_t{1} << 22;
  if (!has_short_sums_kernel<T>) return false;
  if (!is_single_plain_product(given)) return false;
  if (std::min(given.m, given.n) != 1) return false;
  const gemm_problem<T> problem = given.n == 1 ? given : given.transposed();
  return problem.a.column_stride == 1 && problem.m <= few_rows && problem.k >= long_row &&
         problem.m * problem.k <= most_elements;
}

/// Computes a product with one row or one column, without a batch and an epilogue, on a device. The sources of the
/// operation gemv define it, because the kernels are there, and gemv is built on gemm.
template <class Exec, class T>
void enqueue_vector_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
