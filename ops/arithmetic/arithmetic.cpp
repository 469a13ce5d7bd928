// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arithmetic_formulas.hpp"
#include <prumo/arithmetic.hpp>
#include <prumo/detail/elementwise.hpp>
#include <prumo/detail/enqueue_fill.hpp>

namespace prumo {

void add(instance_ref space, const array_ref& x, const array_ref& y, const array_ref& z) {
  static const detail::elementwise_name name("prumo::add");
  // [&]: nvcc refuses a template lambda that converts to a function pointer.
  const auto formula = [&]<class C>() { return add_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"z", z}, named_array{"x", x}, named_array{"y", y});
}

void mul(instance_ref space, const array_ref& x, const array_ref& y, const array_ref& z) {
  static const detail::elementwise_name name("prumo::mul");
  const auto formula = [&]<class C>() { return mul_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"z", z}, named_array{"x", x}, named_array{"y", y});
}

void scale(instance_ref space, double alpha, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::scale");
  const auto formula = [&]<class C>() { return scale_formula<C>{static_cast<C>(alpha)}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

void axpby(instance_ref space, double alpha, const array_ref& x, double beta, const array_ref& y, const array_ref& z) {
  static const detail::elementwise_name name("prumo::axpby");
  detail::check_elementwise(name, space, {"z", z}, {{"x", x}, {"y", y}});
  if (alpha == 0 && beta == 0) {
    detail::enqueue_fill(space, name.label, 0, z);
  } else if (alpha == 0 || beta == 0) {
    const double factor = beta == 0 ? alpha : beta;
    const auto formula = [&]<class C>() { return scale_formula<C>{static_cast<C>(factor)}; };
    detail::enqueue_elementwise(name, space, formula, z, beta == 0 ? x : y);
  } else {
    const auto formula = [&]<class C>() { return axpby_formula<C>{static_cast<C>(alpha), static_cast<C>(beta)}; };
    detail::enqueue_elementwise(name, space, formula, z, x, y);
  }
}

}  // namespace prumo
