// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cblas_gemv.hpp"

#include "cblas_integer.hpp"
#include <prumo/backend/blas_vector_form.hpp>

#include <type_traits>

namespace prumo::backend {
namespace {

template <class T>
inline constexpr bool has_product = std::is_same_v<T, float> || std::is_same_v<T, double>;

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

}  // namespace

template <class T>
std::string prepare_cblas(const gemv_problem<T>& problem, blas_vector_form<T>& form) {
  if constexpr (!has_product<T>) {
    return "the BLAS has no product for " + std::string(scalar_traits<T>::name);
  } else {
    std::string reason = to_blas_vector_form(problem, form);
    return reason.empty() ? why_integers_do_not_fit(form) : reason;
  }
}

template <class T>
void cblas_gemv(const gemv_problem<T>& problem, const blas_vector_form<T>& form) {
  if constexpr (has_product<T>) multiply(form.transposed ? CblasTrans : CblasNoTrans, form, problem);
}

#define PRUMO_INSTANTIATE_CBLAS_GEMV(T)                                               \
  template std::string prepare_cblas(const gemv_problem<T>&, blas_vector_form<T>&); \
  template void cblas_gemv(const gemv_problem<T>&, const blas_vector_form<T>&);
PRUMO_INSTANTIATE_CBLAS_GEMV(float)
PRUMO_INSTANTIATE_CBLAS_GEMV(double)
PRUMO_INSTANTIATE_CBLAS_GEMV(f16)
PRUMO_INSTANTIATE_CBLAS_GEMV(bf16)

}  // namespace prumo::backend
