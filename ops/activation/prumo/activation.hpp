// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Element-wise activation functions of neural networks. Arguments, aliasing and errors as in <prumo/arithmetic.hpp>;
/// largest errors as in <prumo/math.hpp>.

#include <prumo/detail/elementwise.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo {

template <class C>
struct sigmoid_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::sigmoid(x); }
};

template <class C>
struct tanh_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::tanh(x); }
};

template <class C>
struct relu_formula {
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::maximum(x, C(0)); }
};

template <class C>
struct gelu_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::gelu(x); }
};

template <class C>
struct gelu_by_tanh_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::gelu_by_tanh(x); }
};

/// The two formulas that are called gelu.
enum class gelu_form : std::uint8_t {
  erf,   ///< x Phi(x) = x/2 (1 + erf(x / sqrt(2))), Phi the cumulative function of the normal distribution
  tanh,  ///< the approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), off by up to 0.0005
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

/// y = max(x, 0), element by element, as IEEE 754-2019 maximum: NaN gives NaN, -0 gives 0.
template <context_or_instance Space, class X, class Y>
void relu(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::relu", Space, Y, X);
  static const std::string label = "prumo::relu::elementwise";
  detail::run_elementwise("prumo::relu", label, space, relu_formula<compute_t<typename Y::value_type>>{}, {"x", "y"}, y,
                          x);
}

/// y = x Phi(x), element by element, or its approximation by tanh. NaN gives NaN, infinity itself; -0 and -infinity
/// give -0, as x Phi(x) tends to.
template <context_or_instance Space, class X, class Y>
void gelu(const Space& space, const X& x, const Y& y, gelu_form form = gelu_form::erf) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::gelu", Space, Y, X);
  static const std::string label = "prumo::gelu::elementwise";
  using compute_type = compute_t<typename Y::value_type>;
  if (form == gelu_form::tanh) {
    detail::run_elementwise("prumo::gelu", label, space, gelu_by_tanh_formula<compute_type>{}, {"x", "y"}, y, x);
  } else {
    detail::run_elementwise("prumo::gelu", label, space, gelu_formula<compute_type>{}, {"x", "y"}, y, x);
  }
}

}  // namespace prumo
