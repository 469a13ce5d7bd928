// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Elements joined by one thread of a host, in lanes.

#include "problem/reduction_policy.hpp"
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/lanes.hpp>

#include <concepts>
#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Rows that are too short for all lanes. Below `chained` elements they are joined one after the other, and the
/// processor overlaps many rows. Longer ones use `lanes` lanes and a remainder.
struct short_rows {
  static constexpr std::int64_t chained = 16;
  static constexpr int lanes = 8;
  /// Where all lanes begin to pay.
  template <class Accumulator>
  static constexpr std::int64_t longest = 4 * reduction_lanes<Accumulator>;
};

/// join() of a joining as reduce_lanes() takes it.
template <class Joining>
struct join_elements {
  const Joining& joining;
  template <class Found, class Value>
  Found operator()(Found found, Value value) const
    requires requires(const Joining& by) {
      { by.join(found, value) } -> std::same_as<Found>;
    }
  {
    return joining.join(found, value);
  }
};

/// combine() of a joining, likewise.
template <class Joining>
struct combine_accumulators {
  const Joining& joining;
  template <class Found>
  Found operator()(Found a, Found b) const
    requires requires(const Joining& by) {
      { by.combine(a, b) } -> std::same_as<Found>;
    }
  {
    return joining.combine(a, b);
  }
};

/// The elements that `load` gives, 0 ... count - 1, reduced in an order that follows from their number.
template <class Joining, class Load>
typename Joining::accumulator reduce_in_lanes(const Joining& joining, std::int64_t count, const Load& load) {
  using accumulator = typename Joining::accumulator;
  if (count < short_rows::chained) {
    accumulator found = joining.identity();
    for (std::int64_t index = 0; index < count; ++index) found = joining.join(found, load(index));
    return found;
  }
  if (count < short_rows::longest<accumulator>) {
    constexpr int lanes = short_rows::lanes;
    accumulator lane[lanes];
    for (int which = 0; which < lanes; ++which) lane[which] = joining.identity();
    std::int64_t index = 0;
    for (; index + lanes <= count; index += lanes) {
      PRUMO_UNROLL
      for (int which = 0; which < lanes; ++which) lane[which] = joining.join(lane[which], load(index + which));
    }
    accumulator rest = joining.identity();
    if constexpr (Joining::idempotent) {
      // The last elements once more, those that were joined already included, take no loop over a few.
      index = count - lanes;
      PRUMO_UNROLL
      for (int which = 0; which < lanes; ++which) lane[which] = joining.join(lane[which], load(index + which));
    } else {
      for (; index < count; ++index) rest = joining.join(rest, load(index));
    }
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int which = 0; which < half; ++which) lane[which] = joining.combine(lane[which], lane[which + half]);
    }
    return Joining::idempotent ? lane[0] : joining.combine(lane[0], rest);
  }
  return reduce_lanes(count, joining.identity(), join_elements<Joining>{joining},
                      combine_accumulators<Joining>{joining}, load);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
