// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "elementary_formulas.hpp"
#include <prumo/detail/elementwise.hpp>
#include <prumo/elementary.hpp>

namespace prumo {

void exp(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::exp");
  const auto formula = [&]<class C>() { return exp_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

void log(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::log");
  const auto formula = [&]<class C>() { return log_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

void sqrt(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::sqrt");
  const auto formula = [&]<class C>() { return sqrt_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

void rsqrt(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::rsqrt");
  const auto formula = [&]<class C>() { return rsqrt_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

}  // namespace prumo
