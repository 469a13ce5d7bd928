// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The rows that a dense layer sees in its input.

#include <prumo/check.hpp>
#include <prumo/detail/image_rows.hpp>

#include <string_view>

namespace prumo::detail {

/// Images as rows, and a matrix as it is. Throws argument_error for other ranks, and for images with gaps.
inline array_ref checked_dense_rows(std::string_view operation, const named_array& x) {
  if (x.array.rank != 2 && x.array.rank != 4) {
    check::throw_argument(operation, std::string(x.name) + " to have rank 2 or 4", {x});
  }
  if (x.array.rank == 4 && !are_images_dense(x.array)) {
    check::throw_argument(operation, "images without gaps, or rows of a matrix", {x});
  }
  return as_rows(x.array);
}

}  // namespace prumo::detail
