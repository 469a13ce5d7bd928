// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The policies of the kernels of a device: those of all kernels, but for positions. Threads exchange what they find,
/// so there a key and its position are one word, of which the largest is wanted.

#include "problem/reduction_policy.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/detail/teams/published_values.hpp>

#include <cstdint>
#include <limits>

namespace prumo::detail {

/// A key of 32 bits above the complement of a position, so that of equal keys the first is the largest; 0: none.
struct ranked_position {
  std::uint64_t word;
};

KOKKOS_FORCEINLINE_FUNCTION ranked_position value_across(const ranked_position& value, int distance) {
  return {value_across(value.word, distance)};
}

template <>
inline constexpr bool is_its_own_mark<ranked_position> = true;

/// extreme_position of elements whose keys have 32 bits, in rows of up to `longest` elements.
template <class T>
class extreme_ranked_position {
 public:
  using order = ordered_bits<T>;
  using stored = T;
  using element = typename order::integer;
  using accumulator = ranked_position;
  using result = std::int64_t;
  static constexpr bool idempotent = true;
  static constexpr bool indexed = true;
  static constexpr std::int64_t longest = std::numeric_limits<std::uint32_t>::max();

  explicit extreme_ranked_position(const extreme_position<T>& whole) : whole_(whole) {}

  KOKKOS_FORCEINLINE_FUNCTION accumulator identity() const { return {0}; }
  KOKKOS_FORCEINLINE_FUNCTION element lift(const T& value) const { return whole_.lift(value); }
  KOKKOS_FORCEINLINE_FUNCTION accumulator join(accumulator first, element key, std::int64_t position) const {
    const std::uint32_t above_zero = static_cast<std::uint32_t>(key) ^ order::sign;
    return combine(first, {std::uint64_t{above_zero} << 32 | ~static_cast<std::uint32_t>(position)});
  }
  KOKKOS_FORCEINLINE_FUNCTION accumulator combine(accumulator a, accumulator b) const {
    return a.word > b.word ? a : b;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t finish(accumulator found, std::int64_t) const {
    return ~static_cast<std::uint32_t>(found.word);
  }

 private:
  extreme_position<T> whole_;
};

/// The policy by which the rows of a matrix are reduced on a device.
template <class Policy>
Policy row_policy_on_device(const Policy& policy) {
  return policy;
}
template <class T>
  requires(sizeof(T) <= sizeof(std::uint32_t))
extreme_ranked_position<T> row_policy_on_device(const extreme_position<T>& policy) {
  return extreme_ranked_position<T>(policy);
}

/// The most elements that such a policy can tell apart.
template <class Policy>
constexpr std::int64_t longest_row_on_device() {
  if constexpr (requires { Policy::longest; }) {
    return Policy::longest;
  } else {
    return std::numeric_limits<std::int64_t>::max();
  }
}

template <class Integer>
KOKKOS_FORCEINLINE_FUNCTION indexed_key<Integer> value_across(const indexed_key<Integer>& value, int distance) {
  return {value_across(value.key, distance), value_across(value.position, distance)};
}

/// combine() of a policy as join_group() takes it.
template <class Policy>
struct combine_on_device {
  const Policy& policy;
  KOKKOS_FORCEINLINE_FUNCTION typename Policy::accumulator operator()(typename Policy::accumulator a,
                                                                      typename Policy::accumulator b) const {
    return policy.combine(a, b);
  }
};

}  // namespace prumo::detail
