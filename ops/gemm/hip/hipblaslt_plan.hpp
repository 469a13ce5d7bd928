// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products as hipBLASLt knows them: descriptors, and the algorithms that it proposes.

#include "gemm_plan.hpp"
#include "rocblas_handle.hpp"
#include <prumo/detail/device/owned_handle.hpp>

#include <cstdint>
#include <hipblaslt/hipblaslt.h>
#include <optional>
#include <string_view>
#include <vector>

namespace prumo::backend::hip {

using plan_key = gemm_plan_key<hipDataType, hipblasComputeType_t>;

/// Throws backend_error, or memory_error, that names the call and the status.
void require_success(hipblasStatus_t status, std::string_view call);

class matrix_layout {
 public:
  matrix_layout(hipDataType type, std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t batch,
                std::int64_t batch_stride);

  hipblasLtMatrixLayout_t get() const { return layout_; }

 private:
  prumo::detail::owned_handle<hipblasLtMatrixLayout_t, hipblasLtMatrixLayoutDestroy> layout_;
};

/// What a product does with its operands: types, transposes and the epilogue. hipBLASLt keeps the last product in it.
class matmul_operation {
 public:
  explicit matmul_operation(const plan_key& key);

  hipblasLtMatmulDesc_t get() const { return operation_; }
  void set_bias(const void* bias);

 private:
  template <class Value>
  void set(hipblasLtMatmulDescAttributes_t attribute, const Value& value);

  prumo::detail::owned_handle<hipblasLtMatmulDesc_t, hipblasLtMatmulDescDestroy> operation_;
};

/// The descriptors of a problem and the algorithms that can compute it. The library is column-major and computes
/// C' = B' A'. Its first operand is B.
class matmul_plan {
 public:
  matmul_plan(const plan_key& of, hipblasLtHandle_t handle, std::size_t workspace_bytes);

  /// Best first, as hipBLASLt thinks; none where it has no kernel for the types.
  const std::vector<hipblasLtMatmulAlgo_t>& algorithms() const { return algorithms_; }

  void run(hipblasLtHandle_t handle, const hipblasLtMatmulAlgo_t& algorithm, const gemm_plan_operands& of,
           const blas_workspace& workspace, hipStream_t stream);

  const plan_key key;

  /// What measuring found fastest; the place after the last algorithm is rocBLAS. Absent: not measured.
  std::optional<std::size_t> fastest;

 private:
  /// rows x columns is what the operation sees; memory holds its transpose where it is transposed.
  static matrix_layout layout_of(const plan_key& key, std::int64_t rows, std::int64_t columns, int which);
  void ask_for_algorithms(hipblasLtHandle_t handle, std::size_t workspace_bytes);

  matrix_layout first_;
  matrix_layout second_;
  matrix_layout result_;
  matmul_operation operation_;
  std::vector<hipblasLtMatmulAlgo_t> algorithms_;
};

/// The context's hipBLASLt: a handle and plans.
class hipblaslt_plans {
 public:
  hipblaslt_plans() { require_success(hipblasLtCreate(handle_.receive()), "hipblasLtCreate"); }

  hipblasLtHandle_t handle() const { return handle_; }

  /// Makes the plan where there is none yet.
  matmul_plan& find(const plan_key& key, std::size_t workspace_bytes) {
    return plans_.find(key, handle_, workspace_bytes);
  }

 private:
  prumo::detail::owned_handle<hipblasLtHandle_t, hipblasLtDestroy> handle_;
  recent_plans<matmul_plan> plans_;
};

}  // namespace prumo::backend::hip
