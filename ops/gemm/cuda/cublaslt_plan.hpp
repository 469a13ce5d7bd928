// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products for cuBLASLt: descriptors, and the algorithms that its heuristic proposes.

#include "cublas_handle.hpp"
#include "gemm_plan.hpp"
#include <prumo/detail/device/owned_handle.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace prumo::backend::cuda {

using plan_key = gemm_plan_key<cudaDataType_t, cublasComputeType_t>;

class matrix_layout {
 public:
  matrix_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t batch,
                std::int64_t batch_stride);

  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  prumo::detail::owned_handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy> layout_;
};

/// What a product does with its operands: types, transposes, and the epilogue.
class matmul_operation {
 public:
  explicit matmul_operation(const plan_key& key);

  cublasLtMatmulDesc_t get() const { return operation_; }
  void set_bias(const void* bias) { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    require_success(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)),
                    "cublasLtMatmulDescSetAttribute");
  }

  prumo::detail::owned_handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
};

/// An algorithm of the library. It is a struct because nvcc 13.0 fails with an internal error on vectors of the
/// library's own type.
struct matmul_algorithm {
  cublasLtMatmulAlgo_t value;
};

/// The descriptors of a problem and the algorithms that can compute it. The library is column-major and computes
/// C' = B' A'. Its first operand is B.
class matmul_plan {
 public:
  matmul_plan(const plan_key& of, cublasLtHandle_t handle, std::size_t workspace_bytes);

  /// The heuristic's best algorithm comes first.
  const std::vector<matmul_algorithm>& algorithms() const { return algorithms_; }

  void run(cublasLtHandle_t handle, const matmul_algorithm& algorithm, const gemm_plan_operands& of,
           const blas_workspace& workspace, cudaStream_t stream);

  const plan_key key;

  /// The fastest algorithm, as measured. The place after the last algorithm is cublasGemmEx(). Absent if not measured.
  std::optional<std::size_t> fastest;

 private:
  /// The operation sees rows x columns. If the matrix is transposed, memory has its transpose.
  static matrix_layout layout_of(const plan_key& key, std::int64_t rows, std::int64_t columns, int which);
  void ask_heuristic(cublasLtHandle_t handle, std::size_t workspace_bytes);

  matrix_layout first_;
  matrix_layout second_;
  matrix_layout result_;
  matmul_operation operation_;
  std::vector<matmul_algorithm> algorithms_;
};

/// The context's cuBLASLt: a handle and plans.
class cublaslt_plans {
 public:
  cublaslt_plans() { require_success(cublasLtCreate(handle_.receive()), "cublasLtCreate"); }

  cublasLtHandle_t handle() const { return handle_; }

  /// Makes the plan if there is none yet.
  matmul_plan& find(const plan_key& key, std::size_t workspace_bytes) {
    return plans_.find(key, handle_, workspace_bytes);
  }

 private:
  prumo::detail::owned_handle<cublasLtHandle_t, cublasLtDestroy> handle_;
  recent_plans<matmul_plan> plans_;
};

}  // namespace prumo::backend::cuda
