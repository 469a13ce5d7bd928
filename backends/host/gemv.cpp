// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cblas_gemv.hpp"
#include "openmp_threads.hpp"
#include <prumo/backend/gemv.hpp>

#include <array>

namespace prumo::backend {

#if defined(PRUMO_HAS_CBLAS)
namespace {

template <class Exec, class T>
std::string prepare(const Exec&, const gemv_problem<T>& problem, blas_vector_form<T>& form) {
  return prepare_cblas(problem, form);
}

/// Instances of the host's spaces return from a launch when the work is done, so a plain call keeps their order.
template <class Exec, class T>
void run_cblas(context<Exec>& ctx, const gemv_problem<T>& problem, const blas_vector_form<T>& form) {
  const openmp_threads_scope threads(concurrency_of(ctx.instance()));
  cblas_gemv(problem, form);
}

}  // namespace
#endif

template <class Exec, class T>
std::span<const gemv_candidate<Exec, T>> vendor_gemv_candidates() {
#if defined(PRUMO_HAS_CBLAS)
  static constexpr std::array<gemv_candidate<Exec, T>, 1> candidates{
      {{"cblas", prepare<Exec, T>, run_cblas<Exec, T>}}};
  return candidates;
#else
  return {};
#endif
}

#define PRUMO_INSTANTIATE_HOST_GEMV(Space, T) \
  template std::span<const gemv_candidate<Space, T>> vendor_gemv_candidates<Space, T>();
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMV, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMV, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMV, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMV, bf16)

}  // namespace prumo::backend
