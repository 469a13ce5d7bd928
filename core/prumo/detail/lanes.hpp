// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reductions on the host with many partial results (lanes), which the compiler keeps in vector registers. So they are
/// bound by memory, and not by the latency of one addition.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The number of partial results of compute type C. It is the same on every machine, and so are results and counts.
template <class C>
inline constexpr int reduction_lanes = sizeof(plain_scalar_t<C>) == 8 ? 32 : 64;

/// join(... join(initial, load(0)) ..., load(count - 1)), in the order of the lanes: element i goes to lane i modulo
/// the number of lanes, and the lanes are combined in a tree. The depth is count / lanes + log2(lanes). A load that has
/// `widen_lanes(index, C (&)[lanes])` fills all lanes at once.
template <class C, class Join, class Combine, class Load>
inline C reduce_lanes(std::int64_t count, C initial, const Join& join, const Combine& combine, const Load& load) {
  constexpr int lanes = reduction_lanes<C>;
  C lane[lanes];
  for (int which = 0; which < lanes; ++which) lane[which] = initial;
  std::int64_t index = 0;
  for (; index + lanes <= count; index += lanes) {
    if constexpr (requires { load.widen_lanes(index, lane); }) {
      C loaded[lanes];
      load.widen_lanes(index, loaded);
      PRUMO_UNROLL
      for (int which = 0; which < lanes; ++which) lane[which] = join(lane[which], loaded[which]);
    } else {
      // Unrolled, so that the lanes stay in registers.
      PRUMO_UNROLL
      for (int which = 0; which < lanes; ++which) lane[which] = join(lane[which], load(index + which));
    }
  }
  for (int which = 0; index + which < count; ++which) lane[which] = join(lane[which], load(index + which));
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int which = 0; which < half; ++which) lane[which] = combine(lane[which], lane[which + half]);
  }
  return lane[0];
}

/// The same for lanes that are combined by `join`, like elements.
template <class C, class Join, class Load>
inline C reduce_lanes(std::int64_t count, C initial, const Join& join, const Load& load) {
  return reduce_lanes(count, initial, join, join, load);
}

/// join() of a sum.
struct add_values {
  template <class C>
  C operator()(C a, C b) const {
    return a + b;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
