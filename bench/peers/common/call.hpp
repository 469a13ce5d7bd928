// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The arguments of kernels. Files with special compilation flags include this, so it has no functions.

#include <cstdint>

namespace prumo::peers {

/// One call. The operation says which arrays, extents and parameters it has. Matrices are row-major.
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
