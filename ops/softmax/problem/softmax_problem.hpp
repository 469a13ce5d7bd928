// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of softmax and log_softmax are given.

#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// target row r = what the formula makes of source row r; strides in elements.
template <class T>
struct softmax_problem {
  const T* source = nullptr;
  T* target = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t source_row_stride = 0;
  std::int64_t source_column_stride = 1;
  std::int64_t target_row_stride = 0;
  std::int64_t target_column_stride = 1;
  std::size_t working_set = 0;

  /// Whether the arrays are larger together than caches that answer before a burst of stores has to wait.
  bool is_far() const {
    constexpr std::int64_t near_bytes = std::int64_t{1} << 20;
    return rows * columns > near_bytes / static_cast<std::int64_t>(2 * sizeof(T));
  }
};

}  // namespace prumo::detail
