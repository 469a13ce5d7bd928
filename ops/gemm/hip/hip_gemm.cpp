// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_form.hpp"
#include "gemm_problem.hpp"

#if defined(PRUMO_HAS_HIPBLASLT)
#include "hipblaslt_gemm.hpp"
#endif
#if defined(PRUMO_HAS_ROCBLAS)
#include "rocblas_gemm.hpp"
#endif

#include <array>

namespace prumo::backend {

namespace {

/// hipBLASLt multiplies f8 in the FNUZ format on gfx942, in the OCP format, which prumo has, on gfx950 and gfx12; none
/// of them was at hand.
[[maybe_unused]] std::string refuse_f8(const Kokkos::HIP&, const gemm_problem<f8_e4m3>&, blas_form<f8_e4m3>&) {
  return "f8_e4m3 through AMD's libraries was never tried and is left out; gfx942 has another f8, without a negative "
         "zero";
}

[[maybe_unused]] void run_nothing(context<Kokkos::HIP>&, const gemm_problem<f8_e4m3>&, const blas_form<f8_e4m3>&) {}

}  // namespace

/// All of them refuse, each by its name.
template <>
std::span<const gemm_candidate<Kokkos::HIP, f8_e4m3>> vendor_gemm_candidates<Kokkos::HIP, f8_e4m3>(bool) {
#if defined(PRUMO_HAS_ROCBLAS)
  static constexpr std::array<gemm_candidate<Kokkos::HIP, f8_e4m3>, 3> candidates{
      {{"rocblas", refuse_f8, run_nothing},
       {"hipblasLt", refuse_f8, run_nothing},
       {"tuned", refuse_f8, run_nothing, true}}};
#if defined(PRUMO_HAS_HIPBLASLT)
  return candidates;
#else
  return std::span(candidates).first(1);
#endif
#else
  return {};
#endif
}

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates([[maybe_unused]] bool has_epilogue) {
#if defined(PRUMO_HAS_ROCBLAS)
  using candidate_type = gemm_candidate<Exec, T>;
  static constexpr candidate_type rocblas{
      "rocblas", hip::prepare_rocblas<T>,
      [](context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) { hip::run_rocblas(ctx, form); }, false,
      true};
#if defined(PRUMO_HAS_HIPBLASLT)
  static constexpr candidate_type hipblaslt{"hipblasLt", hip::prepare_hipblaslt<T>, hip::run_hipblaslt<T>, false, true};
  static constexpr candidate_type tuned{"tuned", hip::prepare_hipblaslt<T>, hip::run_tuned<T>, true, true};
  // rocBLAS first: it hands products to hipBLASLt itself where AMD found that faster.
  static constexpr std::array<candidate_type, 3> of_plain_products{{rocblas, hipblaslt, tuned}};
  // hipBLASLt may compute the epilogue along with the product, which saves a pass over C.
  static constexpr std::array<candidate_type, 3> of_products_with_epilogue{{hipblaslt, rocblas, tuned}};
  return has_epilogue ? std::span<const candidate_type>(of_products_with_epilogue) : of_plain_products;
#else
  static constexpr std::array<candidate_type, 1> candidates{{rocblas}};
  return candidates;
#endif
#else
  return {};
#endif
}

#define PRUMO_INSTANTIATE_HIP_GEMM(T) \
  template std::span<const gemm_candidate<Kokkos::HIP, T>> vendor_gemm_candidates<Kokkos::HIP, T>(bool);
PRUMO_INSTANTIATE_HIP_GEMM(float)
PRUMO_INSTANTIATE_HIP_GEMM(double)
PRUMO_INSTANTIATE_HIP_GEMM(f16)
PRUMO_INSTANTIATE_HIP_GEMM(bf16)

}  // namespace prumo::backend
