// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of gather_rows are given.

#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// target(i, c) = source(index[i], c), or `missing` if index[i] is no row. Words are moved as they are. Strides are in
/// words.
template <class Word, class Index>
struct gather_problem {
  const Word* source = nullptr;
  const Index* index = nullptr;
  Word* target = nullptr;
  std::int64_t source_rows = 0;
  std::int64_t rows = 0;  ///< of the target
  std::int64_t columns = 0;
  std::int64_t source_row_stride = 0;
  std::int64_t source_column_stride = 1;
  std::int64_t index_stride = 1;
  std::int64_t target_row_stride = 0;
  std::int64_t target_column_stride = 1;
  std::size_t working_set = 0;
  Word missing{};
};

}  // namespace prumo::detail
