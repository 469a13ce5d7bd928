// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which products of f8 cuBLASLt can compute.

#include "gemm_plan.hpp"
#include <prumo/detail/device/compute_capability.hpp>

#include <string>

namespace prumo::backend::cuda {

/// Why a device of this capability cannot multiply f8; empty if it can.
std::string why_not_f8_device(prumo::detail::compute_capability capability);

/// Why cuBLASLt cannot multiply f8 of this shape; empty if it can. Both operands must be contiguous along the sums,
/// which NVIDIA calls the TN format. Lines of all matrices must begin at multiples of 16 bytes (cuBLAS documentation,
/// "cublasLtMatmul()" on FP8 kernels, and "Tensor Core Usage"). `is_turned` says that the shape is that of the
/// transposed product, so that its A is the caller's B. `result_bytes` are the bytes of an entry of C.
std::string why_not_f8_shape(const gemm_plan_shape& shape, bool is_turned, int result_bytes);

/// Why operands with these alignments, of A, B and C in bytes, cannot be used; empty if they can.
std::string why_not_f8_alignments(const int (&alignments)[3]);

}  // namespace prumo::backend::cuda
