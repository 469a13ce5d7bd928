// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hipblaslt_gemm.hpp"

#include "hipblaslt_limits.hpp"
#include "hipblaslt_plan.hpp"
#include "planned_gemm.hpp"
#include "rocblas_gemm.hpp"

#include <memory>
#include <optional>
#include <type_traits>

namespace prumo::backend::hip {
namespace {

struct hipblaslt {
  using execution_space = Kokkos::HIP;
  using types = gemm_library_types<hipDataType, hipblasComputeType_t>;
  using workspace = blas_workspace;
  using plan = matmul_plan;
  using plans = hipblaslt_plans;

  static constexpr hipDataType f32 = HIP_R_32F;

  /// prepare_rocblas() has refused what there is not. hipBLASLt takes no pedantic types; its HIPBLAS_COMPUTE_32F rounds
  /// nothing to a narrower one.
  template <class T>
  static std::optional<types> types_of(gemm_mode mode, std::string&) {
    if constexpr (std::is_same_v<T, float>) {
      return types{HIP_R_32F, HIP_R_32F,
                   mode == gemm_mode::fast_tf32 ? HIPBLAS_COMPUTE_32F_FAST_TF32 : HIPBLAS_COMPUTE_32F};
    } else if constexpr (std::is_same_v<T, double>) {
      return types{HIP_R_64F, HIP_R_64F, HIPBLAS_COMPUTE_64F};
    } else {
      return types{std::is_same_v<T, f16> ? HIP_R_16F : HIP_R_16BF, HIP_R_32F, HIPBLAS_COMPUTE_32F};
    }
  }
  static blas_workspace& workspace_of(context<Kokkos::HIP>& ctx) { return hip::workspace_of(ctx); }
  static hipStream_t stream_of(const Kokkos::HIP& instance) { return instance.hip_stream(); }
  static bool is_captured(const Kokkos::HIP& instance) {
    return prumo::detail::stream_ordered_memory<Kokkos::HIP>::is_captured(instance);
  }
  static std::unique_ptr<device_clock> make_clock(const Kokkos::HIP& instance, std::size_t marks) {
    return make_device_clock(instance, marks);
  }
  static current_device<Kokkos::HIP> make_current(const Kokkos::HIP& instance) { return current_device(instance); }
  template <class T>
  static void run_otherwise(context<Kokkos::HIP>& ctx, const blas_form<T>& form) {
    run_rocblas(ctx, form);
  }
};

}  // namespace

template <class T>
std::string prepare_hipblaslt(const Kokkos::HIP& instance, const gemm_problem<T>& problem, blas_form<T>& form) {
  std::string reason = prepare_rocblas(instance, problem, form);
  if (!reason.empty()) return reason;
  constexpr hipblaslt_version version{HIPBLASLT_VERSION_MAJOR, HIPBLASLT_VERSION_MINOR};
  reason = why_not_hipblaslt_target(instance.hip_device_prop().gcnArchName, version);
  return reason.empty() ? why_not_hipblaslt_shape(plan_shape_of(form)) : reason;
}

template <class T>
void run_hipblaslt(context<Kokkos::HIP>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  run_first_proposal<hipblaslt>(ctx, form);
}

template <class T>
void run_tuned(context<Kokkos::HIP>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  run_fastest<hipblaslt>(ctx, form);
}

#define PRUMO_INSTANTIATE_HIPBLASLT(T)                                                                  \
  template std::string prepare_hipblaslt<T>(const Kokkos::HIP&, const gemm_problem<T>&, blas_form<T>&); \
  template void run_hipblaslt<T>(context<Kokkos::HIP>&, const gemm_problem<T>&, const blas_form<T>&);   \
  template void run_tuned<T>(context<Kokkos::HIP>&, const gemm_problem<T>&, const blas_form<T>&);
PRUMO_INSTANTIATE_HIPBLASLT(float)
PRUMO_INSTANTIATE_HIPBLASLT(double)
PRUMO_INSTANTIATE_HIPBLASLT(f16)
PRUMO_INSTANTIATE_HIPBLASLT(bf16)

}  // namespace prumo::backend::hip
