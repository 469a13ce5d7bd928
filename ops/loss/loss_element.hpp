// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loss and gradient of one class, for losses whose classes do not depend on each other.

#include "loss_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/math.hpp>

namespace prumo::detail {

template <class C>
struct loss_element {
  C loss;
  C gradient;
};

/// Of the sigmoid's cross-entropy, `value` is the score, with its sign turned for the label: the loss is
/// log(1 + e^value), and the gradient, whose sign is to be turned for the label, is sigmoid(value). With e = e^-|value|
/// and w = 1 + e as it is rounded, log(1 + e) = log(w) + (e - (w - 1)) / w, up to the square of a rounding error. So
/// losses of scores that are far on the right side keep their digits.
///
/// Of the squared error, `value` is the result less t: the loss is value^2 / 2, and the gradient is value.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <loss_kind Kind, class C>
KOKKOS_FORCEINLINE_FUNCTION loss_element<C> loss_of_element(C value) {
  static_assert(Kind != loss_kind::softmax);
  if constexpr (Kind == loss_kind::sigmoid) {
    const C decay = exp_of_nonpositive(-prumo::abs(value));
    const C whole = C(1) + decay;
    const C inverse = C(1) / whole;
    const C logarithm = prumo::fma(decay - (whole - C(1)), inverse, prumo::log(whole));
    const C numerator = value < C(0) ? decay : C(1);
    return {prumo::maximum(value, C(0)) + logarithm, numerator * inverse};
  } else {
    return {C(0.5f) * value * value, value};
  }
}

}  // namespace prumo::detail
