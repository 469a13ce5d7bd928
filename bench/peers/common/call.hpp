// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The arguments of kernels. Files with special compilation flags include this, so it has no functions.

#include <cstdint>

namespace prumo::peers {

/// The extents and parameters of an operation of nets: a convolution, pooling, or a dense layer, whose inputs and
/// features are channels here.
struct layer_extents {
  std::int64_t images = 0;
  std::int64_t in_channels = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t out_channels = 1;
  std::int64_t filter_rows = 1;
  std::int64_t filter_columns = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t bias = 0;        ///< 1: there is one
  std::int64_t activation = 0;  ///< none, relu, sigmoid, tanh, gelu, gelu by tanh
  std::int64_t pooling = 0;     ///< after a convolution: none, the maximum, the mean
  std::int64_t window = 1;      ///< rows and columns; after a convolution the stride of windows, too
  std::int64_t round_up = 0;    ///< 1: windows that lie partly outside the image count, too
};

/// One call. The operation says which arrays, extents and parameters it has. Matrices are row-major.
struct call {
  void* arrays[4] = {};
  std::int64_t n = 0;  ///< elements; columns of a matrix; columns of C for gemm
  std::int64_t m = 0;  ///< rows
  std::int64_t k = 0;
  double alpha = 1;
  double beta = 0;
  bool trans_a = false;
  bool trans_b = false;
  layer_extents layer;
};

}  // namespace prumo::peers
