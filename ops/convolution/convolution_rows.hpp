// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The rows that a part of a convolution needs, on hosts and devices.

#include "convolution_problem.hpp"
#include <prumo/detail/instruction_set.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows of y, and those of the convolution that they need.
struct convolution_rows {
  std::int64_t first, last;
  std::int64_t convolved_first, convolved_last;

  template <class T>
  KOKKOS_FUNCTION convolution_rows(const convolution_problem<T>& problem, std::int64_t begin, std::int64_t end)
      : first(begin), last(end), convolved_first(begin), convolved_last(end) {
    if (!problem.is_pooled()) return;
    const pooling_window& window = problem.window;
    convolved_first = begin * window.row_stride - window.row_padding;
    convolved_last = (end - 1) * window.row_stride - window.row_padding + window.height;
    if (convolved_first < 0) convolved_first = 0;
    if (convolved_last > problem.rows) convolved_last = problem.rows;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
