// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Element-wise activation functions of neural networks. Arguments, aliasing and exceptions are as in
/// <prumo/arithmetic.hpp>, and the largest errors are as in <prumo/math.hpp>.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <cstdint>

namespace prumo {

/// The two formulas that are called gelu.
enum class gelu_form : std::uint8_t {
  erf,   ///< x Phi(x) = x/2 (1 + erf(x / sqrt(2))); Phi: the normal distribution's cumulative function
  tanh,  ///< the approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), within 0.0005
};

/// y = 1 / (1 + e^-x), element by element.
void sigmoid(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void sigmoid(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::sigmoid", Space, Y, X);
  sigmoid(instance_ref(space), array_ref(x), array_ref(y));
}

/// y = tanh(x), element by element.
void tanh(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void tanh(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::tanh", Space, Y, X);
  tanh(instance_ref(space), array_ref(x), array_ref(y));
}

/// y = max(x, 0), element by element, like maximum in IEEE 754-2019: NaN gives NaN, and -0 gives 0.
void relu(instance_ref space, const array_ref& x, const array_ref& y);
template <class Space, class X, class Y>
void relu(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::relu", Space, Y, X);
  relu(instance_ref(space), array_ref(x), array_ref(y));
}

/// y = x Phi(x), element by element, or its approximation by tanh. NaN gives NaN, and infinity gives infinity. -0 and
/// -infinity give -0, which is the limit of x Phi(x).
void gelu(instance_ref space, const array_ref& x, const array_ref& y, gelu_form form = gelu_form::erf);
template <class Space, class X, class Y>
void gelu(const Space& space, const X& x, const Y& y, gelu_form form = gelu_form::erf) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::gelu", Space, Y, X);
  gelu(instance_ref(space), array_ref(x), array_ref(y), form);
}

}  // namespace prumo
