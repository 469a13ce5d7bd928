// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The policy of each kind of reduction.

#include "reduction_policy.hpp"
#include "reduction_problem.hpp"

namespace prumo::detail {

/// The policy of a kind. Kinds with policies of one type share their kernels.
template <reduction Kind, class T>
auto policy_of() {
  if constexpr (Kind == reduction::sum || Kind == reduction::mean) {
    return plain_terms<T>{{}, Kind == reduction::mean};
  } else if constexpr (Kind == reduction::sum_of_squares) {
    return squared_terms<T>{};
  } else if constexpr (Kind == reduction::max || Kind == reduction::min) {
    return extreme_element<T>(Kind == reduction::min);
  } else {
    return extreme_position<T>(Kind == reduction::argmin);
  }
}

}  // namespace prumo::detail
