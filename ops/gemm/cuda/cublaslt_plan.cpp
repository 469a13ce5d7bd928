// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublaslt_plan.hpp"

#include <memory>
#include <span>

namespace prumo::backend::cuda {

matrix_layout::matrix_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                             std::int64_t batch, std::int64_t batch_stride) {
  require_success(cublasLtMatrixLayoutCreate(layout_.receive(), type, static_cast<std::uint64_t>(rows),
                                             static_cast<std::uint64_t>(columns), leading),
                  "cublasLtMatrixLayoutCreate");
  if (batch == 1) return;
  const auto count = static_cast<std::int32_t>(batch);
  require_success(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
                  "cublasLtMatrixLayoutSetAttribute");
  require_success(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                                   sizeof(batch_stride)),
                  "cublasLtMatrixLayoutSetAttribute");
}

matmul_operation::matmul_operation(const plan_key& key) {
  require_success(cublasLtMatmulDescCreate(operation_.receive(), key.types.compute, key.types.scale),
                  "cublasLtMatmulDescCreate");
  set(CUBLASLT_MATMUL_DESC_TRANSA, key.shape.transposed[1] ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, key.shape.transposed[0] ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (key.types.accumulates_fast) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  // The rows of the library's column-major result are our columns, so its bias is our bias of the columns.
  if (key.epilogue.bias_alignment == 0) return;
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_BIAS));
  // The heuristic only needs the alignment of the address. The real address is set before each run.
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<std::uintptr_t>(key.epilogue.bias_alignment));
}

matmul_plan::matmul_plan(const plan_key& of, cublasLtHandle_t handle, std::size_t workspace_bytes)
    : key(of),
      first_(layout_of(key, key.shape.extents[1], key.shape.extents[2], 1)),
      second_(layout_of(key, key.shape.extents[2], key.shape.extents[0], 0)),
      result_(key.result_type, key.shape.extents[1], key.shape.extents[0], key.shape.leading[2], key.shape.extents[3],
              key.shape.batch_strides[2]),
      operation_(key) {
  ask_heuristic(handle, workspace_bytes);
}

matrix_layout matmul_plan::layout_of(const plan_key& key, std::int64_t rows, std::int64_t columns, int which) {
  const bool transposed = key.shape.transposed[which];
  return {key.types.element,        transposed ? columns : rows, transposed ? rows : columns,
          key.shape.leading[which], key.shape.extents[3],        key.shape.batch_strides[which]};
}

void matmul_plan::run(cublasLtHandle_t handle, const matmul_algorithm& algorithm, const gemm_plan_operands& of,
                      const blas_workspace& workspace, cudaStream_t stream) {
  if (of.bias != nullptr) operation_.set_bias(of.bias);
  require_success(
      cublasLtMatmul(handle, operation_.get(), of.alpha, of.b, first_.get(), of.a, second_.get(), of.beta, of.c,
                     result_.get(), of.c, result_.get(), &algorithm.value, workspace.data, workspace.bytes, stream),
      "prumo::gemm: cublasLtMatmul");
}

void matmul_plan::ask_heuristic(cublasLtHandle_t handle, std::size_t workspace_bytes) {
  prumo::detail::owned_handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
  require_success(cublasLtMatmulPreferenceCreate(preference.receive()), "cublasLtMatmulPreferenceCreate");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  // The parts of a split sum are added in the compute type, never in a 16-bit C.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(key.alignments[1]));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(key.alignments[0]));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(key.alignments[2]));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(key.alignments[2]));
  const auto most = static_cast<std::size_t>(key.most_algorithms);
  const auto proposed = std::make_unique<cublasLtMatmulHeuristicResult_t[]>(most);
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, operation_.get(), first_.get(), second_.get(), result_.get(),
                                     result_.get(), preference, key.most_algorithms, proposed.get(), &found);
  if (status != CUBLAS_STATUS_SUCCESS) return;
  for (const cublasLtMatmulHeuristicResult_t& it : std::span(proposed.get(), static_cast<std::size_t>(found))) {
    if (it.state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back({it.algo});
  }
}

}  // namespace prumo::backend::cuda
