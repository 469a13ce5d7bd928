// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublas_gemm.hpp"
#include "cublaslt_limits.hpp"
#include "cublaslt_plan.hpp"
#include "planned_gemm.hpp"

#include <cstdint>
#include <memory>
#include <type_traits>

namespace prumo::backend::cuda {
namespace {

struct cublaslt {
  using execution_space = Kokkos::Cuda;
  using types = library_types;
  using workspace = blas_workspace;
  using plan = matmul_plan;
  using plans = cublaslt_plans;

  static constexpr cudaDataType_t f32 = CUDA_R_32F;

  template <class T>
  static std::optional<library_types> types_of(gemm_mode mode, std::string& why_not) {
    return library_types_of<T>(mode, why_not);
  }
  static blas_workspace& workspace_of(context<Kokkos::Cuda>& ctx) { return cuda::workspace_of(ctx); }
  static cudaStream_t stream_of(const Kokkos::Cuda& instance) { return instance.cuda_stream(); }
  static bool is_captured(const Kokkos::Cuda& instance) {
    return prumo::detail::stream_ordered_memory<Kokkos::Cuda>::is_captured(instance);
  }
  static std::unique_ptr<device_clock> make_clock(const Kokkos::Cuda& instance, std::size_t marks) {
    return make_device_clock(instance, marks);
  }
  static current_device<Kokkos::Cuda> make_current(const Kokkos::Cuda& instance) { return current_device(instance); }
  template <class T>
  static void run_otherwise(context<Kokkos::Cuda>& ctx, const blas_form<T>& form) {
    run_cublas(ctx, form);
  }
};

/// Why cuBLASLt cannot multiply the problem's f8 on the instance's device; empty if it can.
std::string prepare_f8(const Kokkos::Cuda& instance, const gemm_problem<f8_e4m3>& problem, blas_form<f8_e4m3>& form) {
  const cudaDeviceProp& device = instance.cuda_device_prop();
  std::string reason = why_not_f8_device({device.major, device.minor});
  if (!reason.empty() || !library_types_of<f8_e4m3>(problem.mode, reason)) return reason;
  reason = to_blas_form(problem, form);
  if (!reason.empty()) return reason;
  reason = why_not_f8_shape(plan_shape_of(form), form.is_turned, sizeof(product_result_t<f8_e4m3>));
  if (!reason.empty()) return reason;
  return why_not_f8_alignments(
      {alignment_of(problem.a.data), alignment_of(problem.b.data), alignment_of(problem.c.data)});
}

}  // namespace

template <class T>
std::string prepare_cublaslt(const Kokkos::Cuda& instance, const gemm_problem<T>& problem, blas_form<T>& form) {
  std::string reason;
  if constexpr (std::is_same_v<T, f8_e4m3>) {
    reason = prepare_f8(instance, problem, form);
  } else {
    reason = prepare_cublas(instance, problem, form);
  }
  if (!reason.empty()) return reason;
  constexpr std::int64_t most_matrices = INT32_MAX;
  if (problem.batch > most_matrices) return "batches of cuBLASLt have at most 2^31 - 1 matrices";
  return {};
}

template <class T>
void run_cublaslt(context<Kokkos::Cuda>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  run_first_proposal<cublaslt>(ctx, form);
}

template <class T>
void run_tuned(context<Kokkos::Cuda>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  run_fastest<cublaslt>(ctx, form);
}

#define PRUMO_INSTANTIATE_CUBLASLT(T)                                                                   \
  template std::string prepare_cublaslt<T>(const Kokkos::Cuda&, const gemm_problem<T>&, blas_form<T>&); \
  template void run_cublaslt<T>(context<Kokkos::Cuda>&, const gemm_problem<T>&, const blas_form<T>&);   \
  template void run_tuned<T>(context<Kokkos::Cuda>&, const gemm_problem<T>&, const blas_form<T>&);
PRUMO_INSTANTIATE_CUBLASLT(float)
PRUMO_INSTANTIATE_CUBLASLT(double)
PRUMO_INSTANTIATE_CUBLASLT(f16)
PRUMO_INSTANTIATE_CUBLASLT(bf16)
PRUMO_INSTANTIATE_CUBLASLT(f8_e4m3)

}  // namespace prumo::backend::cuda
