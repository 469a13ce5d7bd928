// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product of a matrix and a vector through the C interface of the BLAS.
#include "blas_vector_form.hpp"
#include "gemv_problem.hpp"
#include "openmp_threads.hpp"

#include <array>

#if defined(PRUMO_HAS_CBLAS)
#include "blas_threads.hpp"
#include "cblas_integer.hpp"
#endif

namespace prumo::backend {

#if defined(PRUMO_HAS_CBLAS)
namespace {

void multiply(blas_transpose transposed, const blas_vector_form<float>& form, const gemv_problem<float>& p) {
  cblas_sgemv(CblasColMajor, transposed, narrowed(form.rows), narrowed(form.columns), p.alpha, p.a.data,
              narrowed(form.leading_dimension), p.x, narrowed(form.x_increment), p.beta, p.y,
              narrowed(form.y_increment));
}
void multiply(blas_transpose transposed, const blas_vector_form<double>& form, const gemv_problem<double>& p) {
  cblas_dgemv(CblasColMajor, transposed, narrowed(form.rows), narrowed(form.columns), p.alpha, p.a.data,
              narrowed(form.leading_dimension), p.x, narrowed(form.x_increment), p.beta, p.y,
              narrowed(form.y_increment));
}

template <class Exec, class T>
std::string prepare_cblas(const Exec&, const gemv_problem<T>& problem, blas_vector_form<T>& form) {
  if constexpr (!has_product<T>) {
    return "the BLAS has no product for " + std::string(scalar_traits<T>::name);
  } else {
    std::string reason = to_blas_vector_form(problem, form);
    return reason.empty() ? why_integers_do_not_fit(form) : reason;
  }
}

/// Instances of the host's spaces return from a launch when the work is done, so a plain call keeps their order.
template <class Exec, class T>
void run_cblas(context<Exec>& ctx, const gemv_problem<T>& problem, const blas_vector_form<T>& form) {
  if constexpr (has_product<T>) {
    const openmp_threads_scope threads(concurrency_of(ctx.instance()));
    const calling_thread_scope scope;
    multiply(form.transposed ? CblasTrans : CblasNoTrans, form, problem);
  }
}

}  // namespace
#endif

template <class Exec, class T>
std::span<const gemv_candidate<Exec, T>> vendor_gemv_candidates() {
#if defined(PRUMO_HAS_CBLAS)
  static constexpr std::array<gemv_candidate<Exec, T>, 1> candidates{
      {{"cblas", prepare_cblas<Exec, T>, run_cblas<Exec, T>}}};
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
