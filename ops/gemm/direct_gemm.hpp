// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "thin_gemm.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace prumo::backend {

/// The product or its transpose, whichever the direct kernel computes faster: short sums are written along rows of C,
/// and for long ones rows of B are read without a copy. With up to 192 elements it takes longer to write C against its
/// rows than to copy B: 90 x 90 x 90 with both operands transposed took 16 us, and takes 13. A single column that lies
/// in memory as a row is written as one.
template <class T>
gemm_problem<T> turned_for_direct(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 192;
  const gemm_problem<T> turned = problem.transposed();
  const auto has_rows = [](const auto& matrix) { return matrix.column_stride == 1; };
  if (problem.k > short_sum && has_rows(problem.b) != has_rows(turned.b)) {
    return has_rows(problem.b) ? problem : turned;
  }
  const bool is_row = problem.n == 1 && has_rows(turned.b);
  return (is_row || !has_rows(problem.c)) && has_rows(turned.c) ? turned : problem;
}

/// The types that the direct kernel multiplies: not those that count.
template <class T>
inline constexpr bool has_direct_kernel =
    std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// Whether sums are so short, or C has so few rows or columns, that it takes as long to copy A and B as to multiply
/// them. The kernel of direct_gemm_host.hpp reads them where they are. Tiles of C in the portable kernel, and
/// libraries, copy them first.
template <class T>
bool is_direct(const gemm_problem<T>& problem) {
  constexpr bool is_narrow = sizeof(T) == 2;
  constexpr std::int64_t short_sum = is_narrow ? 64 : 192, few = is_narrow ? 64 : 96;
  if (!has_direct_kernel<T> || is_thin(problem)) return false;
  return problem.k <= short_sum || std::min(problem.m, problem.n) <= few;
}

/// Whether that kernel multiplies 16-bit numbers faster than oneDNN with AVX-512: measured on an Intel Emerald Rapids,
/// which has units for products of bf16, and multiplies f16 as f32. A call of oneDNN takes microseconds. It copies a
/// wide B for few rows, too, writes C more slowly where sums are short, and does not cut the long sums of a small C
/// into parts for its threads.
template <class T>
bool is_direct_for_narrow_library(const gemm_problem<T>& problem) {
  constexpr bool is_f16 = std::is_same_v<T, f16>;
  constexpr std::int64_t few_products = std::int64_t{1} << (is_f16 ? 18 : 16);
  // Units for matrix products multiply all but few entries of bf16 faster than two cores do that share long sums.
  constexpr std::int64_t long_sum = 1024, longer_sum = 3000, longest_sum = 16384;
  const std::int64_t few_of_bf16 = problem.k < longer_sum ? 80 : problem.k < longest_sum ? 128 : 256;
  const std::int64_t few_entries = is_f16 ? 4096 : few_of_bf16;
  // Where C is written as it is in registers, products of short sums take little longer than writing C.
  // Sums of two to four products of bf16 take a Zen 5 1.1 to 1.6 times oneDNN's time from the caches, and 0.75 to 1
  // from memory.
  constexpr std::int64_t near_entries = std::int64_t{1} << 22, short_row = 64;
  const bool is_near_on_zen = prumo::detail::compiled_for_zen && problem.m * problem.n <= near_entries;
  const std::int64_t sum_of_bf16 = is_near_on_zen ? 1 : 4;
  const std::int64_t shortest_sum = is_f16 ? 32 : sum_of_bf16, sum_of_short_row = is_f16 ? 64 : sum_of_bf16;
  constexpr std::int64_t few_rows = 3, more_rows = is_f16 ? 8 : 24, short_sum = 32;
  constexpr std::int64_t far_elements = std::int64_t{1} << 18;
  constexpr std::int64_t few_columns = is_f16 ? 16 : 0, sum_of_few_columns = 192;
  if (problem.m * problem.n * problem.k * problem.batch <= few_products) return true;
  if (problem.k >= long_sum && problem.m * problem.n <= few_entries) return true;
  const gemm_problem<T> turned = turned_for_direct(problem);
  // oneDNN leaves relu to a pass over C, and a bias of rows, too.
  constexpr std::int64_t sum_with_epilogue = 8, sum_of_far_entries = 20, far_entries = std::int64_t{1} << 21;
  const bool stores_sums = problem.alpha == 1 && problem.beta == 0 && turned.c.column_stride == 1;
  if (problem.has_epilogue()) {
    if (stores_sums && turned.k <= std::max(sum_with_epilogue, shortest_sum)) return true;
    if (turned.k <= sum_of_far_entries && turned.m * turned.n >= far_entries) return true;
  } else if (stores_sums && turned.k <= (turned.n <= short_row ? sum_of_short_row : shortest_sum)) {
    return true;
  }
  if (turned.b.column_stride != 1) return false;
  if (turned.n <= few_columns && turned.k <= sum_of_few_columns) return true;
  // A Zen 5 takes 0.64 to 0.91 of oneDNN's time for 4 to 8 rows and such a B, and 0.87 to 1.12 of it for 12 rows.
  constexpr std::int64_t distant_elements = std::int64_t{1} << 22, rows_for_distant_elements = 8;
  const bool is_wide = turned.n >= 8 * turned.m;
  if (is_wide && turned.k <= short_sum && turned.n * turned.k > far_elements) return turned.m <= more_rows;
  const bool is_distant = !is_f16 && prumo::detail::compiled_for_zen && turned.n * turned.k >= distant_elements;
  return turned.m <= (is_wide && is_distant ? rows_for_distant_elements : few_rows);
}

/// Whether that kernel is faster than the host's BLAS, too: where sums are shorter still, C is narrower, or C is small.
template <class T>
bool is_direct_for_library(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 64, few = 64, longer_sum = 192, few_entries = std::int64_t{1} << 17;
  if (!is_direct(problem)) return false;
  if (sizeof(T) == 2) return is_direct_for_narrow_library(problem);
  const bool is_small = problem.k <= longer_sum && problem.m * problem.n <= few_entries;
  return problem.k <= short_sum || std::min(problem.m, problem.n) <= few || is_small;
}

/// Whether rules for oneDNN's products of f32 hold for a problem. Most were measured on an Intel Emerald Rapids, with
/// AVX-512 only, on a server whose last-level cache is far away, and with one or two threads.
template <class T>
bool is_measured_for_onednn(const gemm_problem<T>& problem) {
  return std::is_same_v<T, float> && simd_bytes >= 64 && problem.batch == 1;
}

/// Whether C has many rows, and its columns fill a vector register, or nearly fill it. oneDNN's kernel is then faster
/// than ours, whether A is in the caches or not. For 79 x 13 x 5000, oneDNN takes 73 us from the caches and 103 us from
/// memory, and our kernel for few columns takes 99 and 128 us. With shorter sums, 5378 x 15 x 41 takes 36 us, and ours
/// 54, unless there are few products or A comes from memory.
template <class T>
bool fills_a_register(const gemm_problem<T>& given) {
  constexpr std::int64_t lanes = 16, fewest = 13, many_rows = 40, short_sum = 64, few_products = std::int64_t{1} << 17;
  constexpr std::int64_t shorter_sum = 16, near_elements = std::int64_t{1} << 19;
  const gemm_problem<T> problem = with_few_columns(given);
  const bool fills = problem.n >= fewest && problem.n <= lanes && problem.m >= many_rows;
  if (!fills || problem.a.column_stride != 1) return false;
  const std::int64_t products = problem.m * problem.n * problem.k;
  if (problem.k > short_sum) return products >= few_products;
  return problem.k > shorter_sum && products >= 2 * few_products && problem.m * problem.k <= near_elements;
}

/// Whether tiles of the direct kernel hold whole rows of C. With two to four vectors, oneDNN is slower, from the caches
/// and from memory: 500 x 41 x 200 takes 30 and 38 us, and oneDNN's primitive 33 and 44. With one vector, oneDNN is as
/// fast from the caches. From memory, on a Zen 5, 6000 x 8 x 150 takes 82 us, and oneDNN 137.
template <class T>
bool has_short_rows_for_onednn(const gemm_problem<T>& problem) {
  constexpr std::int64_t lanes = 16, fewest_rows = 96, longest_sum = 256, of_three = 16384, of_four = 8192;
  const std::int64_t columns = (problem.n + lanes - 1) / lanes * lanes;
  if (columns > 4 * lanes || problem.m < fewest_rows || problem.k > longest_sum) return false;
  if (columns == lanes && !prumo::detail::compiled_for_zen) return false;
  return problem.c.column_stride == 1 && columns * problem.k <= (columns == 4 * lanes ? of_four : of_three);
}

/// Whether some rows of C read a far B in rows, and their sums stay in registers. Measured on a Zen 5 with AVX-512 and
/// two threads: from memory oneDNN takes 1.2 to 1.8 times as long, and from the caches 0.94 to 1.4 times.
template <class T>
bool reads_far_rows_on_zen(const gemm_problem<T>& problem) {
  constexpr std::int64_t fewest_rows = 13, most_rows = 64, longest_sum = 256, far_elements = std::int64_t{1} << 19;
  return prumo::detail::compiled_for_zen && problem.m >= fewest_rows && problem.m <= most_rows &&
         problem.k <= longest_sum && problem.n >= 4 * problem.m && problem.n * problem.k > far_elements &&
         problem.b.column_stride == 1;
}

/// Whether oneDNN, where it is linked, is faster still. A call of oneDNN takes microseconds. Where C is small, it does
/// not cut sums into parts for its threads. Few rows of C and a B that comes from memory and is not copied: the kernel
/// for direct products reads it faster, for very few rows from the caches, too. The one for up to six columns reads A
/// faster, and short sums are written faster by us. On Intel's servers of the Skylake generation these are shorter:
/// with sums of 40 and 60 elements, 12 to 90 rows and 2349 columns, oneDNN takes 0.73 to 1.03 times our time.
template <class T>
bool is_direct_for_onednn(const gemm_problem<T>& given) {
  constexpr std::int64_t short_sum = prumo::detail::compiled_for_skylake ? 32 : 64;
  constexpr std::int64_t long_sum = 1024, few_columns = 6, few_rows = 24, few_rows_of_long_sums = 48;
  constexpr std::int64_t fewest_rows = 6, few_products = std::int64_t{1} << 20, few_entries = 4096;
  if (!is_measured_for_onednn(given)) return false;
  if (fills_a_register(given)) return true;
  if (given.k <= short_sum || given.m * given.n * given.k < few_products) return false;
  if (given.k >= long_sum && given.m * given.n <= few_entries) return false;
  // On a Skylake, where A and B come from memory, 60 x 197 x 13900 takes us 4.9 ms and oneDNN 5.9, but 128 x 100 x
  // 20000 10.9 and 7.5.
  constexpr std::int64_t more_entries = 12288, memory_elements = std::int64_t{1} << 21;
  const bool is_far_on_skylake =
      prumo::detail::compiled_for_skylake && given.k * (given.m + given.n) >= memory_elements;
  if (is_far_on_skylake && given.k >= long_sum && given.m * given.n <= more_entries) return false;
  if (is_thin(given) && std::min(given.m, given.n) <= few_columns) return false;
  const gemm_problem<T> problem = turned_for_direct(given);
  if (has_short_rows_for_onednn(problem) || reads_far_rows_on_zen(problem)) return false;
  constexpr std::int64_t far_elements = std::int64_t{1} << 20, colliding_rows = 1024 / sizeof(T);
  constexpr std::int64_t rows_that_never_collide = 3;  // in a first-level cache
  const bool reads_b_once = problem.m <= (problem.k >= long_sum ? few_rows_of_long_sums : few_rows) &&
                            problem.n >= 4 * problem.m && problem.b.column_stride == 1 &&
                            (problem.m <= rows_that_never_collide || problem.b.row_stride % colliding_rows != 0);
  return !reads_b_once || (problem.m > fewest_rows && problem.k * problem.n <= far_elements);
}

/// Whether the kernel for direct products is faster than libraries that know AVX-512, too, for sums that are not quite
/// short and a large C: 758 x 950 x 72 took 725 us, and OpenBLAS and oneDNN took 834 and 906 us. On Intel's servers of
/// the Skylake generation it is slower: 1.40 ms, 1.40 and 1.04.
template <class T>
bool is_direct_for_large_vectors(const gemm_problem<T>& problem) {
  constexpr std::int64_t short_sum = 128, few_rows = 192, few_columns = 384;
  const auto [rows, columns] =
      problem.c.column_stride == 1 ? std::pair(problem.m, problem.n) : std::pair(problem.n, problem.m);
  return is_measured_for_onednn(problem) && !prumo::detail::compiled_for_skylake && is_direct(problem) &&
         problem.k <= short_sum && rows > few_rows && columns > few_columns;
}

/// Whether oneDNN, where it is linked, comes before the BLAS. On Intel's processors it does where B or C is small, and
/// OpenBLAS is faster for large ones. On a Zen 4, 19 products of 300^3 to 2048^3 entries took oneDNN 2 to 20 % less
/// time than OpenBLAS, from the caches and from memory.
template <class T>
bool prefers_onednn(const gemm_problem<T>& problem) {
  constexpr std::int64_t few_columns = 1024, few = 192, elements_of_b = std::int64_t{1} << 20;
  if (!is_measured_for_onednn(problem)) return false;
  if (prumo::detail::compiled_for_zen) return true;
  const std::int64_t columns = problem.c.column_stride == 1 ? problem.n : problem.m;
  const bool is_narrow = std::min(problem.m, problem.n) <= few;
  if (columns <= few_columns && (is_narrow || columns * problem.k <= elements_of_b)) return true;
  return is_narrow && columns * problem.k <= 4 * elements_of_b;
}

/// The order of a host's candidates.
enum class host_order : std::uint8_t { libraries, onednn_and_libraries, portable, onednn_and_portable };

/// Whether the order follows from rules that were measured on a Zen 3, with two threads.
template <class T>
bool is_measured_with_avx2(const gemm_problem<T>& problem) {
  return std::is_same_v<T, float> && prumo::detail::compiled_for_zen && simd_bytes == 32 && problem.batch == 1 &&
         !is_thin_for_library(problem);
}

/// Up to this number of entries, C is small for the rules of long sums on a Zen 3.
inline constexpr std::int64_t entries_of_small_c_with_avx2 = 12288;

/// Whether OpenBLAS is faster on a Zen 3 than oneDNN and the kernel for direct products. 27 times of products with sums
/// of 1,000 to 22,000 elements were compared. In 23 of them OpenBLAS took 0.71 to 0.96 times as long as oneDNN, and in
/// the others up to 1.14 times.
template <class T>
bool prefers_libraries_with_avx2(const gemm_problem<T>& problem) {
  constexpr std::int64_t long_sum = 1000, few = 48;
  return problem.k >= long_sum && std::min(problem.m, problem.n) > few &&
         problem.m * problem.n > entries_of_small_c_with_avx2;
}

/// Whether oneDNN is faster on a Zen 3 than the kernel for direct products. OpenBLAS took 1.0 to 1.4 times as long as
/// oneDNN for 400 products that were not thin. Most of them had shorter sums than those above. The kernel is faster
/// where sums are short and where C has few rows or columns. It is also faster for long sums of a small C, because
/// oneDNN does not cut sums into parts for its threads. oneDNN is faster where B comes from memory and has long rows.
/// It is also faster for long rows of A if a row of C fills a vector register, or nearly fills it.
template <class T>
bool prefers_onednn_with_avx2(const gemm_problem<T>& given) {
  constexpr std::int64_t long_sum = 1024, few_entries = 2048, longest_sum = 6000;
  constexpr std::int64_t few = 48, short_sum = 64, more = 128, shorter_sum = 32;
  constexpr std::int64_t few_rows = 24, far_elements = std::int64_t{1} << 17;
  constexpr std::int64_t few_columns = 12, longer_sum = 384, many_rows = 32, lanes = 8;
  if (!is_direct(given)) return true;
  const gemm_problem<T> problem = given.c.column_stride == 1 ? given : given.transposed();
  if (problem.k > longer_sum && problem.m >= many_rows && (problem.n == lanes || problem.n == lanes - 1)) return true;
  if (problem.k >= long_sum && problem.m * problem.n <= few_entries) return false;
  if (problem.k >= longest_sum && problem.m * problem.n <= entries_of_small_c_with_avx2) return false;
  const std::int64_t least = std::min(problem.m, problem.n);
  if ((least > few && problem.k > short_sum) || (least > more && problem.k > shorter_sum)) return true;
  if (problem.n <= problem.m) return problem.n > few_columns && problem.k > longer_sum;
  return problem.m > few_rows && problem.k > shorter_sum && problem.n * problem.k > far_elements;
}

template <class T>
host_order host_order_of(const gemm_problem<T>& problem) {
  const bool is_direct_product = is_thin_for_library(problem) || is_direct_for_library(problem);
  if (is_measured_with_avx2(problem)) {
    if (prefers_libraries_with_avx2(problem)) return host_order::libraries;
    if (!prefers_onednn_with_avx2(problem)) return host_order::portable;
    return is_direct_product ? host_order::onednn_and_portable : host_order::onednn_and_libraries;
  }
  if (is_direct_product) {
    return is_direct_for_onednn(problem) ? host_order::onednn_and_portable : host_order::portable;
  }
  if (is_direct_for_large_vectors(problem)) return host_order::portable;
  return prefers_onednn(problem) ? host_order::onednn_and_libraries : host_order::libraries;
}

/// C = act(alpha A B + beta C + bias) of such a problem on a host, in any strides.
template <class Exec, class T>
void enqueue_direct_product(context<Exec>& ctx, const gemm_problem<T>& problem);

}  // namespace prumo::backend
