// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of random numbers are given.

#include <prumo/random_numbers.hpp>

namespace prumo::detail {

/// Element i of the target, in row-major order, = the formula of number offset + i. `first` and `second` are the
/// parameters: low and high, or mean and deviation.
template <class T>
struct random_problem {
  const array_ref& target;
  random_position position;
  compute_t<T> first;
  compute_t<T> second;
};

}  // namespace prumo::detail
