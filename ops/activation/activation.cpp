// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "activation_formulas.hpp"
#include <prumo/activation.hpp>
#include <prumo/detail/elementwise.hpp>

namespace prumo {

void sigmoid(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::sigmoid");
  const auto formula = [&]<class C>() { return sigmoid_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

void tanh(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::tanh");
  const auto formula = [&]<class C, class T>() { return tanh_formula<C, T>{}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

void relu(instance_ref space, const array_ref& x, const array_ref& y) {
  static const detail::elementwise_name name("prumo::relu");
  const auto formula = [&]<class C>() { return relu_formula<C>{}; };
  detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
}

void gelu(instance_ref space, const array_ref& x, const array_ref& y, gelu_form form) {
  static const detail::elementwise_name name("prumo::gelu");
  if (form == gelu_form::tanh) {
    const auto formula = [&]<class C>() { return gelu_by_tanh_formula<C>{}; };
    detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
  } else {
    const auto formula = [&]<class C>() { return gelu_formula<C>{}; };
    detail::run_elementwise(name, space, formula, named_array{"y", y}, named_array{"x", x});
  }
}

}  // namespace prumo
