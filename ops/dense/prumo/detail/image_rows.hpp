// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images [n x channels x rows x columns] as the rows of a matrix.

#include <prumo/array_ref.hpp>

#include <cstdint>

namespace prumo::detail {

/// Whether the channels, rows and columns of an image follow each other without gaps. \pre the rank is 4
inline bool are_images_dense(const array_ref& x) {
  std::int64_t stride = 1;
  for (int dimension = 3; dimension >= 1; --dimension) {
    if (x.extents[dimension] != 1 && x.strides[dimension] != stride) return false;
    stride *= x.extents[dimension];
  }
  return true;
}

/// Dense images as a matrix with a row for each. What has rank 2 stays as it is.
inline array_ref as_rows(const array_ref& x) {
  if (x.rank == 2) return x;
  array_ref rows = x;
  rows.rank = 2;
  rows.extents[1] = x.extents[1] * x.extents[2] * x.extents[3];
  rows.strides[1] = 1;
  return rows;
}

}  // namespace prumo::detail
