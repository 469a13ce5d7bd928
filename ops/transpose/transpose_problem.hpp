// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of a transpose are given.

#include <cstddef>
#include <cstdint>
#include <utility>

namespace prumo::detail {

/// target(c, r) = source(r, c), of words that are moved as they are; strides in words.
template <class Word>
struct transpose_problem {
  const Word* source = nullptr;
  Word* target = nullptr;
  std::int64_t rows = 0;  ///< of the source
  std::int64_t columns = 0;
  std::int64_t source_row_stride = 0;
  std::int64_t source_column_stride = 1;
  std::int64_t target_row_stride = 0;  ///< from source column c to c + 1
  std::int64_t target_column_stride = 1;
  std::size_t working_set = 0;

  /// Exchanges rows and columns if needed, so that the elements of a row of the source lie closer together than those
  /// of a column. Returns whether this is different in the target. If it is not, both have the same order in memory,
  /// and a copy is enough.
  bool turn_to_source() {
    if (columns <= 1 || (rows > 1 && source_row_stride < source_column_stride)) {
      std::swap(rows, columns);
      std::swap(source_row_stride, source_column_stride);
      std::swap(target_row_stride, target_column_stride);
    }
    return rows > 1 && columns > 1 && target_column_stride < target_row_stride;
  }
};

}  // namespace prumo::detail
