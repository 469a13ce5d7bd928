// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hipblaslt_plan.hpp"

#include <string>

namespace prumo::backend::hip {
namespace {

/// Without hipBLAS there is no function for it.
std::string name_of(hipblasStatus_t status) {
  switch (status) {
    case HIPBLAS_STATUS_SUCCESS: return "HIPBLAS_STATUS_SUCCESS";
    case HIPBLAS_STATUS_NOT_INITIALIZED: return "HIPBLAS_STATUS_NOT_INITIALIZED";
    case HIPBLAS_STATUS_ALLOC_FAILED: return "HIPBLAS_STATUS_ALLOC_FAILED";
    case HIPBLAS_STATUS_INVALID_VALUE: return "HIPBLAS_STATUS_INVALID_VALUE";
    case HIPBLAS_STATUS_EXECUTION_FAILED: return "HIPBLAS_STATUS_EXECUTION_FAILED";
    case HIPBLAS_STATUS_INTERNAL_ERROR: return "HIPBLAS_STATUS_INTERNAL_ERROR";
    case HIPBLAS_STATUS_NOT_SUPPORTED: return "HIPBLAS_STATUS_NOT_SUPPORTED";
    case HIPBLAS_STATUS_ARCH_MISMATCH: return "HIPBLAS_STATUS_ARCH_MISMATCH";
    default: return "hipblasStatus_t " + std::to_string(static_cast<int>(status));
  }
}

template <class Attribute, class Value>
void set_attribute(hipblasLtMatrixLayout_t layout, Attribute attribute, const Value& value) {
  require_success(hipblasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value)),
                  "hipblasLtMatrixLayoutSetAttribute");
}

}  // namespace

void require_success(hipblasStatus_t status, std::string_view call) {
  if (status == HIPBLAS_STATUS_SUCCESS) return;
  const std::string message = std::string(call) + ": " + name_of(status);
  if (status == HIPBLAS_STATUS_ALLOC_FAILED) throw memory_error(message);
  throw backend_error(message);
}

matrix_layout::matrix_layout(hipDataType type, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                             std::int64_t batch, std::int64_t batch_stride) {
  require_success(hipblasLtMatrixLayoutCreate(layout_.receive(), type, static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), leading),
                  "hipblasLtMatrixLayoutCreate");
  if (batch == 1) return;
  set_attribute(layout_, HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set_attribute(layout_, HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride);
}

matmul_operation::matmul_operation(const plan_key& key) {
  require_success(hipblasLtMatmulDescCreate(operation_.receive(), key.types.compute, key.types.scale),
                  "hipblasLtMatmulDescCreate");
  const auto operation_of = [](bool transposed) {
    return static_cast<std::int32_t>(transposed ? HIPBLAS_OP_T : HIPBLAS_OP_N);
  };
  set(HIPBLASLT_MATMUL_DESC_TRANSA, operation_of(key.shape.transposed[1]));
  set(HIPBLASLT_MATMUL_DESC_TRANSB, operation_of(key.shape.transposed[0]));
  // The rows of the library's column-major result are the columns of ours: its bias is one along the columns.
  if (key.epilogue.bias_alignment == 0) return;
  set(HIPBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(HIPBLASLT_EPILOGUE_BIAS));
  set(HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(key.result_type));
}

template <class Value>
void matmul_operation::set(hipblasLtMatmulDescAttributes_t attribute, const Value& value) {
  require_success(hipblasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)),
                  "hipblasLtMatmulDescSetAttribute");
}

void matmul_operation::set_bias(const void* bias) { set(HIPBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

matmul_plan::matmul_plan(const plan_key& of, hipblasLtHandle_t handle, std::size_t workspace_bytes)
    : key(of),
      first_(layout_of(key, key.shape.extents[1], key.shape.extents[2], 1)),
      second_(layout_of(key, key.shape.extents[2], key.shape.extents[0], 0)),
      result_(key.result_type, key.shape.extents[1], key.shape.extents[0], key.shape.leading[2], key.shape.extents[3],
              key.shape.batch_strides[2]),
      operation_(key) {
  ask_for_algorithms(handle, workspace_bytes);
}

matrix_layout matmul_plan::layout_of(const plan_key& key, std::int64_t rows, std::int64_t columns, int which) {
  const bool transposed = key.shape.transposed[which];
  return {key.types.element,        transposed ? columns : rows, transposed ? rows : columns,
          key.shape.leading[which], key.shape.extents[3],        key.shape.batch_strides[which]};
}

void matmul_plan::run(hipblasLtHandle_t handle, const hipblasLtMatmulAlgo_t& algorithm, const gemm_plan_operands& of,
                      const blas_workspace& workspace, hipStream_t stream) {
  if (of.bias != nullptr) operation_.set_bias(of.bias);
  require_success(
      hipblasLtMatmul(handle, operation_.get(), of.alpha, of.b, first_.get(), of.a, second_.get(), of.beta, of.c,
                      result_.get(), of.c, result_.get(), &algorithm, workspace.data, workspace.bytes, stream),
      "prumo::gemm: hipblasLtMatmul");
}

void matmul_plan::ask_for_algorithms(hipblasLtHandle_t handle, std::size_t workspace_bytes) {
  prumo::detail::owned_handle<hipblasLtMatmulPreference_t, hipblasLtMatmulPreferenceDestroy> preference;
  require_success(hipblasLtMatmulPreferenceCreate(preference.receive()), "hipblasLtMatmulPreferenceCreate");
  const auto bytes = static_cast<std::uint64_t>(workspace_bytes);
  (void)hipblasLtMatmulPreferenceSetAttribute(preference, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                              sizeof(bytes));
  std::vector<hipblasLtMatmulHeuristicResult_t> proposed(static_cast<std::size_t>(key.most_algorithms));
  int found = 0;
  const hipblasStatus_t status =
      hipblasLtMatmulAlgoGetHeuristic(handle, operation_.get(), first_.get(), second_.get(), result_.get(),
                                      result_.get(), preference, key.most_algorithms, proposed.data(), &found);
  if (status != HIPBLAS_STATUS_SUCCESS) return;
  proposed.resize(static_cast<std::size_t>(found));
  for (const hipblasLtMatmulHeuristicResult_t& it : proposed) {
    if (it.state == HIPBLAS_STATUS_SUCCESS && it.workspaceSize <= workspace_bytes) algorithms_.push_back(it.algo);
  }
}

}  // namespace prumo::backend::hip
