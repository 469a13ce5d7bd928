// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Element-wise activation functions of neural networks. Arguments, aliasing and errors as in <prumo/arithmetic.hpp>;
/// largest errors as in <prumo/math.hpp>.

#include <prumo/detail/elementwise.hpp>
#include <prumo/math.hpp>

namespace prumo {

template <class C>
struct sigmoid_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::sigmoid(x); }
};

template <class C>
struct tanh_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::tanh(x); }
};

/// y = 1 / (1 + e^-x), element by element.
template <context_or_instance Space, class X, class Y>
void sigmoid(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::sigmoid", Space, Y, X);
  static const std::string label = "prumo::sigmoid::elementwise";
  detail::run_elementwise("prumo::sigmoid", label, space, sigmoid_formula<compute_t<typename Y::value_type>>{},
                          {"x", "y"}, y, x);
}

/// y = tanh(x), element by element.
template <context_or_instance Space, class X, class Y>
void tanh(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::tanh", Space, Y, X);
  static const std::string label = "prumo::tanh::elementwise";
  detail::run_elementwise("prumo::tanh", label, space, tanh_formula<compute_t<typename Y::value_type>>{}, {"x", "y"}, y,
                          x);
}

}  // namespace prumo
