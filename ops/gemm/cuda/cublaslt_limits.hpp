// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What products of f8 cuBLASLt takes.

#include "gemm_plan.hpp"
#include <prumo/detail/device/compute_capability.hpp>

#include <string>

namespace prumo::backend::cuda {

/// Empty where a device of that capability has units for products of f8.
std::string why_not_f8_device(prumo::detail::compute_capability capability);

/// Empty where cuBLASLt multiplies f8 that lies so. Both operands must be contiguous along the sums (what NVIDIA calls
/// the TN format), and lines of all matrices must begin at multiples of 16 bytes: "cublasLtMatmul()" in the cuBLAS
/// documentation, on FP8 kernels, and "Tensor Core Usage" there. `is_turned`: the shape is that of the transposed
/// product, so that its A is the caller's B; `result_bytes` are those of an entry of C.
std::string why_not_f8_shape(const gemm_plan_shape& shape, bool is_turned, int result_bytes);

/// Empty where operands at addresses of these alignments, of A, B and C in bytes, can be read so.
std::string why_not_f8_alignments(const int (&alignments)[3]);

}  // namespace prumo::backend::cuda
