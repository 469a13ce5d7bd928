// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The maximum and the sum of exponentials of a stretch of a row, on a host.

#include "softmax_formula.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/math.hpp>

#include <algorithm>
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

/// The largest of value(0) ... value(length - 1), or -infinity.
///
/// Uses the lanes of reduce_lanes(). The compiler keeps them in memory, so each lane takes four elements at a time: it
/// is then read and written once for four.
template <class C, class Load>
C softmax_maximum(std::int64_t length, const Load& value) {
  constexpr int lanes = reduction_lanes<C>;
  constexpr std::int64_t elements_at_once = std::int64_t{4} * lanes;
  C lane[lanes];
  for (int which = 0; which < lanes; ++which) lane[which] = softmax_lowest<C>();
  std::int64_t index = 0;
  for (; index + elements_at_once <= length; index += elements_at_once) {
    PRUMO_INDEPENDENT_ITERATIONS
    for (int which = 0; which < lanes; ++which) {
      const std::int64_t i = index + which;
      const C first = softmax_larger(value(i), value(i + lanes));
      const C second = softmax_larger(value(i + elements_at_once / 2), value(i + elements_at_once / 2 + lanes));
      lane[which] = softmax_larger(lane[which], softmax_larger(first, second));
    }
  }
  for (; index < length; index += lanes) {
    const int rest = static_cast<int>(std::min<std::int64_t>(lanes, length - index));
    PRUMO_INDEPENDENT_ITERATIONS
    for (int which = 0; which < rest; ++which) lane[which] = softmax_larger(lane[which], value(index + which));
  }
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int which = 0; which < half; ++which) lane[which] = softmax_larger(lane[which], lane[which + half]);
  }
  return lane[0];
}

struct softmax_nothing_ahead {
  void operator()(std::int64_t) const {}
};

/// term(0) + ... + term(count - 1); ahead(i) is called before the terms i and up are computed, this many as there are
/// lanes.
template <class C, class Term, class Ahead = softmax_nothing_ahead>
C softmax_sum(std::int64_t count, const Term& term, const Ahead& ahead = {}) {
  constexpr int lanes = softmax_lanes<C>;
  C lane[lanes];
  for (int which = 0; which < lanes; ++which) lane[which] = C(0);
  std::int64_t index = 0;
  for (; index + lanes <= count; index += lanes) {
    ahead(index);
    // Apart from the sums: what depends on nothing is vectorised and unrolled as it should be.
    C terms[lanes];
    PRUMO_INDEPENDENT_ITERATIONS
    for (int which = 0; which < lanes; ++which) terms[which] = term(index + which);
    for (int which = 0; which < lanes; ++which) lane[which] = lane[which] + terms[which];
  }
  const int rest = static_cast<int>(count - index);
  PRUMO_INDEPENDENT_ITERATIONS
  for (int which = 0; which < rest; ++which) lane[which] = lane[which] + term(index + which);
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int which = 0; which < half; ++which) lane[which] = lane[which] + lane[which + half];
  }
  return lane[0];
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
