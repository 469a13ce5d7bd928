// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublas_gemm.hpp"
#include "cublas_handle.hpp"
#include <prumo/backend/gemm_accumulation.hpp>

#include <cstdint>
#include <list>
#include <tuple>

namespace prumo::backend::cuda {
namespace {

/// Everything that cuBLASLt's choice of an algorithm depends on.
struct plan_key {
  library_types types;
  cudaDataType_t result_type;
  std::int64_t extents[4];  // m, n, k, batch
  std::int64_t leading[3];
  std::int64_t batch_strides[3];
  bool transposed[2];
  bool reads_c;
  int alignments[3];

  auto tied() const {
    return std::tie(types.element, types.compute, result_type, extents[0], extents[1], extents[2], extents[3],
                    leading[0], leading[1], leading[2], batch_strides[0], batch_strides[1], batch_strides[2],
                    transposed[0], transposed[1], reads_c, alignments[0], alignments[1], alignments[2]);
  }
  bool operator==(const plan_key& other) const { return tied() == other.tied(); }
};

/// The largest power of two up to 256, which is what cudaMalloc aligns to, that divides an address.
int alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<int>(bits & (~bits + 1));
}

template <class T>
plan_key key_of(const blas_form<T>& form, const library_types& types, const library_result& result) {
  const gemm_problem<T>& p = form.problem;
  return {types,
          result.type,
          {p.m, p.n, p.k, p.batch},
          {form.a.leading_dimension, form.b.leading_dimension, result.leading_dimension},
          {p.a.batch_stride, p.b.batch_stride, result.batch_stride},
          {form.a.transposed, form.b.transposed},
          result.data == p.c.data && p.beta != 0,
          {alignment_of(p.a.data), alignment_of(p.b.data), alignment_of(result.data)}};
}

class matrix_layout {
 public:
  matrix_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t batch,
                std::int64_t batch_stride) {
    require_success(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows),
                                               static_cast<std::uint64_t>(columns), leading),
                    "cublasLtMatrixLayoutCreate");
    if (batch == 1) return;
    const auto count = static_cast<std::int32_t>(batch);
    require_success(
        cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute");
    require_success(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                     &batch_stride, sizeof(batch_stride)),
                    "cublasLtMatrixLayoutSetAttribute");
  }
  ~matrix_layout() { cublasLtMatrixLayoutDestroy(layout_); }
  matrix_layout(const matrix_layout&) = delete;
  matrix_layout& operator=(const matrix_layout&) = delete;

  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// A problem's descriptors and the algorithm that the library's heuristic puts first.
class matmul_plan {
 public:
  /// Columns for rows: C' = B' A', so the first operand is B.
  matmul_plan(cublasLtHandle_t handle, const plan_key& of, std::size_t workspace_bytes)
      : key(of),
        first_(layout_of(key, key.transposed[1], key.extents[1], key.extents[2], 1)),
        second_(layout_of(key, key.transposed[0], key.extents[2], key.extents[0], 0)),
        result_(key.result_type, key.extents[1], key.extents[0], key.leading[2], key.extents[3], key.batch_strides[2]) {
    require_success(cublasLtMatmulDescCreate(&operation_, key.types.compute, key.types.scale),
                    "cublasLtMatmulDescCreate");
    const cublasOperation_t operations[] = {key.transposed[1] ? CUBLAS_OP_T : CUBLAS_OP_N,
                                            key.transposed[0] ? CUBLAS_OP_T : CUBLAS_OP_N};
    cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &operations[0], sizeof(operations[0]));
    cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSB, &operations[1], sizeof(operations[1]));
    choose(handle, workspace_bytes);
  }
  ~matmul_plan() { cublasLtMatmulDescDestroy(operation_); }
  matmul_plan(const matmul_plan&) = delete;
  matmul_plan& operator=(const matmul_plan&) = delete;

  bool has_algorithm() const { return has_algorithm_; }

  template <class T>
  void run(cublasLtHandle_t handle, const gemm_problem<T>& problem, const library_result& result,
           const library_workspace& workspace, cudaStream_t stream) const {
    require_success(cublasLtMatmul(handle, operation_, &problem.alpha, problem.b.data, first_.get(), problem.a.data,
                                   second_.get(), result.beta, result.data, result_.get(), result.data, result_.get(),
                                   &algorithm_, workspace.data, workspace.bytes, stream),
                    "prumo::gemm: cublasLtMatmul");
  }

  const plan_key key;

 private:
  /// rows x columns is what the operation sees; memory holds its transpose where it is transposed.
  static matrix_layout layout_of(const plan_key& key, bool transposed, std::int64_t rows, std::int64_t columns,
                                 int which) {
    return {key.types.element, transposed ? columns : rows, transposed ? rows : columns, key.leading[which],
            key.extents[3],    key.batch_strides[which]};
  }

  void choose(cublasLtHandle_t handle, std::size_t workspace_bytes) {
    cublasLtMatmulPreference_t preference = nullptr;
    require_success(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    // A sum that is split is put together in the compute type, never in a 16-bit C.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(key.alignments[1]));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(key.alignments[0]));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(key.alignments[2]));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(key.alignments[2]));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation_, first_.get(), second_.get(), result_.get(), result_.get(), preference, 1, &best, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    has_algorithm_ = status == CUBLAS_STATUS_SUCCESS && found > 0 && best.state == CUBLAS_STATUS_SUCCESS;
    algorithm_ = best.algo;
  }

  matrix_layout first_;
  matrix_layout second_;
  matrix_layout result_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  bool has_algorithm_ = false;
};

/// The context's cuBLASLt: a handle and the plans of the products that it has computed, the latest first. Asking the
/// heuristic takes tens of microseconds, more than a small product.
class cublaslt_plans {
 public:
  cublaslt_plans() { require_success(cublasLtCreate(&handle_), "cublasLtCreate"); }
  ~cublaslt_plans() {
    if (handle_ != nullptr) cublasLtDestroy(handle_);
  }
  cublaslt_plans(cublaslt_plans&& other) noexcept : handle_(other.handle_), plans_(std::move(other.plans_)) {
    other.handle_ = nullptr;
  }
  cublaslt_plans(const cublaslt_plans&) = delete;
  cublaslt_plans& operator=(const cublaslt_plans&) = delete;
  cublaslt_plans& operator=(cublaslt_plans&&) = delete;

  cublasLtHandle_t handle() const { return handle_; }

  const matmul_plan& find(const plan_key& key, std::size_t workspace_bytes) {
    for (auto plan = plans_.begin(); plan != plans_.end(); ++plan) {
      if (!(plan->key == key)) continue;
      plans_.splice(plans_.begin(), plans_, plan);
      return plans_.front();
    }
    constexpr std::size_t most_plans = 64;
    if (plans_.size() == most_plans) plans_.pop_back();
    plans_.emplace_front(handle_, key, workspace_bytes);
    return plans_.front();
  }

 private:
  cublasLtHandle_t handle_ = nullptr;
  std::list<matmul_plan> plans_;
};

}  // namespace

template <class T>
std::string why_not_cublaslt(const Kokkos::Cuda& instance, const gemm_problem<T>& problem) {
  std::string reason = why_not_cublas(instance, problem);
  if (!reason.empty()) return reason;
  constexpr std::int64_t most_matrices = INT32_MAX;
  if (problem.batch > most_matrices) return "batches of cuBLASLt have at most 2^31 - 1 matrices";
  return {};
}

template <class T>
void run_cublaslt(context<Kokkos::Cuda>& ctx, const gemm_problem<T>& given) {
  std::string reason;
  const library_types types = *library_types_of<T>(given.mode, reason);
  const blas_form<T> form = *to_blas_form(given, reason);
  const current_device device(ctx.instance().cuda_device());
  auto& plans = ctx.attachment<cublaslt_plans>([] { return cublaslt_plans(); });
  const library_workspace& workspace = workspace_of(ctx);
  const library_result result = result_of(ctx, form, types);
  const matmul_plan& plan = plans.find(key_of(form, types, result), workspace.bytes);
  if (!plan.has_algorithm()) return run_cublas(ctx, given);
  plan.run(plans.handle(), form.problem, result, workspace, ctx.instance().cuda_stream());
  if (needs_accumulation(form.problem)) {
    enqueue_accumulation(ctx.instance(), form.problem, static_cast<const float*>(result.data));
  }
}

#define PRUMO_INSTANTIATE_CUBLASLT(T)                                                    \
  template std::string why_not_cublaslt<T>(const Kokkos::Cuda&, const gemm_problem<T>&); \
  template void run_cublaslt<T>(context<Kokkos::Cuda>&, const gemm_problem<T>&);
PRUMO_INSTANTIATE_CUBLASLT(float)
PRUMO_INSTANTIATE_CUBLASLT(double)
PRUMO_INSTANTIATE_CUBLASLT(f16)
PRUMO_INSTANTIATE_CUBLASLT(bf16)

}  // namespace prumo::backend::cuda
