// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "activation_backward_formulas.hpp"
#include <prumo/activation_backward.hpp>
#include <prumo/detail/elementwise.hpp>

#include <string>

void prumo::activate_backward(instance_ref space, activation_function function, const array_ref& y, const array_ref& dy,
                              const array_ref& dx) {
  static const detail::elementwise_name name("prumo::activate_backward");
  const auto run = [&](const auto& formula) {
    detail::run_elementwise(name, space, formula, named_array{"dx", dx}, named_array{"y", y}, named_array{"dy", dy});
  };
  switch (function) {
    case activation_function::none: return run([&]<class C>() { return none_backward_formula<C>{}; });
    case activation_function::relu: return run([&]<class C>() { return relu_backward_formula<C>{}; });
    case activation_function::sigmoid: return run([&]<class C>() { return sigmoid_backward_formula<C>{}; });
    case activation_function::tanh: return run([&]<class C>() { return tanh_backward_formula<C>{}; });
    case activation_function::gelu:
    case activation_function::gelu_by_tanh: break;
  }
  throw argument_error(
      "prumo::activate_backward: expected none, relu, sigmoid or tanh, whose derivatives follow from "
      "their results; got " +
      std::string(activation_name(function)));
}
