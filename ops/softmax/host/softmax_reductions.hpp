// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Maxima and sums with many partial results (lanes), on a host. They are joined in an order that does not depend on
/// the width of vectors.

#include "problem/softmax_formula.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/math.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Sums of exponentials side by side: fewer than elsewhere, because exp needs registers too.
template <class C>
inline constexpr int softmax_lanes = sizeof(plain_scalar_t<C>) == 8 ? 16 : 32;

/// The larger of two numbers by one instruction. A NaN may be passed over: it comes back in the sum.
template <class C>
C softmax_larger(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    return a > b ? a : b;
  } else {
    return prumo::maximum(a, b);
  }
}

/// The results of all lanes, joined in a tree.
template <class C, std::size_t Lanes, class Join>
C softmax_combined(C (&lane)[Lanes], const Join& join) {
  for (std::size_t half = Lanes / 2; half > 0; half /= 2) {
    for (std::size_t which = 0; which < half; ++which) lane[which] = join(lane[which], lane[which + half]);
  }
  return lane[0];
}

/// The largest of value(0) ... value(count - 1), or -infinity.
template <class C, class Value>
C softmax_maximum(std::int64_t count, const Value& value) {
  constexpr int lanes = reduction_lanes<C>;
  C lane[lanes];
  for (auto& each : lane) each = softmax_lowest<C>();
  for (std::int64_t i = 0; i < count; ++i) lane[i % lanes] = softmax_larger(lane[i % lanes], value(i));
  return softmax_combined(lane, [](C a, C b) { return softmax_larger(a, b); });
}

/// term(0) + ... + term(count - 1).
template <class C, class Term>
C softmax_sum(std::int64_t count, const Term& term) {
  constexpr int lanes = softmax_lanes<C>;
  C lane[lanes];
  for (auto& each : lane) each = C(0);
  for (std::int64_t i = 0; i < count; ++i) lane[i % lanes] = lane[i % lanes] + term(i);
  return softmax_combined(lane, add_values{});
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
