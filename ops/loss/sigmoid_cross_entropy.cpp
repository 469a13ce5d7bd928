// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loss_launch.hpp"

void prumo::sigmoid_cross_entropy(context_ref ctx, const array_ref& scores, const array_ref& labels,
                                  const array_ref& gradient, const array_ref& sums, const loss_options& options) {
  static const detail::loss_name name("prumo::sigmoid_cross_entropy");
  detail::run_loss<detail::loss_kind::sigmoid>(name, ctx, scores, labels, gradient, sums, options);
}
