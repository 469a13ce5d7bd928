// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/gemm.hpp>

#if defined(PRUMO_HAS_HIPBLASLT)
#include "hipblaslt_gemm.hpp"
#endif
#if defined(PRUMO_HAS_ROCBLAS)
#include "rocblas_gemm.hpp"
#else
#include <prumo/backend/hip_context.hpp>
#endif

#include <array>

namespace prumo::backend {

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates() {
#if defined(PRUMO_HAS_HIPBLASLT)
  // rocBLAS first: it hands products to hipBLASLt itself where AMD found that faster.
  static constexpr std::array<gemm_candidate<Exec, T>, 3> candidates{
      {{"rocblas", hip::why_not_rocblas<T>, hip::run_rocblas<T>, false, true},
       {"hipblasLt", hip::why_not_hipblaslt<T>, hip::run_hipblaslt<T>, false, true},
       {"tuned", hip::why_not_hipblaslt<T>, hip::run_tuned<T>, true, true}}};
  return candidates;
#elif defined(PRUMO_HAS_ROCBLAS)
  static constexpr std::array<gemm_candidate<Exec, T>, 1> candidates{
      {{"rocblas", hip::why_not_rocblas<T>, hip::run_rocblas<T>, false, true}}};
  return candidates;
#else
  return {};
#endif
}

#define PRUMO_INSTANTIATE_HIP_GEMM(T) \
  template std::span<const gemm_candidate<Kokkos::HIP, T>> vendor_gemm_candidates<Kokkos::HIP, T>();
PRUMO_INSTANTIATE_HIP_GEMM(float)
PRUMO_INSTANTIATE_HIP_GEMM(double)
PRUMO_INSTANTIATE_HIP_GEMM(f16)
PRUMO_INSTANTIATE_HIP_GEMM(bf16)

}  // namespace prumo::backend

#if !defined(PRUMO_HAS_ROCBLAS)
namespace prumo {

void adopt_rocblas_handle(context<Kokkos::HIP>&, _rocblas_handle*) {
  throw unsupported_error("prumo::adopt_rocblas_handle: this prumo was built without rocBLAS");
}

}  // namespace prumo
#endif
