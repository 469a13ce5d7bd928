// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of reductions are given.

#include <prumo/reduction.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// What a reduction of elements of T results in.
template <reduction Kind, class T>
using reduced_t = std::conditional_t<finds_index(Kind), std::int64_t, T>;

/// Enqueues a reduction over axes, without checks: a result for each element of `kept`, which is x without the reduced
/// axes, of the elements of `reduced`, which is x without the others. `results` has the extents of `kept`. It is
/// instantiated beside the other reductions of its kind, which share its kernels.
template <reduction Kind>
void enqueue_axes_reduction(const context_ref& ctx, const array_ref& kept, const array_ref& reduced,
                            const array_ref& results);

/// results[r * result_stride] = the reduction of row r: elements source[r * row_stride + c * column_stride].
template <class T, class Result>
struct row_reduction_problem {
  const T* source = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  Result* results = nullptr;
  std::int64_t result_stride = 1;
};

}  // namespace prumo::detail
