// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cblas_gemm.hpp"
#include "openmp_threads.hpp"
#include <prumo/backend/gemm_completion.hpp>

#include <array>

namespace prumo::backend {
namespace {

#if defined(PRUMO_HAS_CBLAS)
template <class Exec, class T>
std::string prepare(const Exec&, const gemm_problem<T>& problem, blas_form<T>& form) {
  return prepare_cblas(problem, form);
}

/// Instances of the host's spaces return from a launch when the work is done, so a plain call keeps their
/// order.
template <class Exec, class T>
void run_cblas(context<Exec>& ctx, const gemm_problem<T>&, const blas_form<T>& form) {
  {
    const openmp_threads_scope threads(concurrency_of(ctx.instance()));
    cblas_gemm(form);
  }
  complete_product(ctx, form.problem, form.problem.c.data);
}
#endif

}  // namespace

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates(bool) {
#if defined(PRUMO_HAS_CBLAS)
  static constexpr std::array<gemm_candidate<Exec, T>, 1> candidates{{{"cblas", prepare<Exec, T>, run_cblas<Exec, T>}}};
  return candidates;
#else
  return {};
#endif
}

#define PRUMO_INSTANTIATE_HOST_GEMM(Space, T) \
  template std::span<const gemm_candidate<Space, T>> vendor_gemm_candidates<Space, T>(bool);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, bf16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, f8_e4m3)

#if !defined(PRUMO_HAS_CBLAS)
std::string host_blas_description() { return {}; }

std::vector<std::string> host_blas_warnings() {
  return {"no CBLAS was found when prumo was built: the matrix product is the portable kernel"};
}
#endif

}  // namespace prumo::backend
