// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "softmax_launch.hpp"
#include <prumo/softmax.hpp>

void prumo::softmax(context_ref ctx, const array_ref& x, const array_ref& y) {
  detail::run_softmax<detail::softmax_formula>("prumo::softmax", ctx, x, y);
}
