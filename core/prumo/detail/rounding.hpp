// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Integers that are rounded up, on the host. None of them is negative.

#include <type_traits>

namespace prumo::detail {

/// How many parts of this size it takes to hold `whole`.
template <class Whole, class Part>
constexpr std::common_type_t<Whole, Part> divide_up(Whole whole, Part part) {
  return (whole + part - 1) / part;
}

/// The smallest multiple of `multiple` that is not less than `number`.
template <class Number, class Multiple>
constexpr std::common_type_t<Number, Multiple> round_up(Number number, Multiple multiple) {
  return divide_up(number, multiple) * multiple;
}

}  // namespace prumo::detail
