// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels are given. Files with compilation flags of their own include this: it has no functions.

#include <cstdint>

namespace prumo::peers {

/// One call. Which arrays, extents and parameters there are, the operation says. Matrices are row-major.
struct call {
  void* arrays[3] = {};
  std::int64_t n = 0;  ///< elements; columns of a matrix; columns of C for gemm
  std::int64_t m = 0;  ///< rows
  std::int64_t k = 0;
  double alpha = 1;
  double beta = 0;
  bool trans_a = false;
  bool trans_b = false;
};

}  // namespace prumo::peers
