// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The losses of a step whose scores do not depend on each other.

#include "convolution_tiles.hpp"
#include "step_sigmoid.hpp"

namespace prumo::nets {

/// The part that a score has in the loss `squared` (where it is a result) or `sigmoid`.
template <class C>
PRUMO_STEP_FUNCTION C term_of_loss(loss which, C score, C target) {
  if (which == loss::squared) {
    const C difference = score - target;
    return difference * (C(0.5) * difference);
  }
  // log(1 + e^z) - t z, where the exponential does not overflow.
  const C positive = prumo::maximum(score, C(0));
  return positive + prumo::log(C(1) + prumo::exp(-prumo::abs(score))) - target * score;
}

/// The gradient of a score.
/// \param function the last activation, which `squared` looks at
template <class C>
PRUMO_STEP_FUNCTION C slope_of_loss(loss which, activation function, C score, C target, C scale) {
  if (which == loss::squared) return (score - target) * slope_of(function, score) * scale;
  return (step_sigmoid(score) - target) * scale;
}

}  // namespace prumo::nets
