// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Arrays of random numbers, uniform and normal. Number i of a stream under a seed is a function of these three alone
/// (docs/random.md): the same on every backend, with any number of threads, and in Python. A sequence that was begun
/// goes on where it stopped.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <cstdint>

namespace prumo {

/// Where in which sequence of numbers: `offset` numbers of `stream` under `seed` have been used.
struct random_position {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const random_position&, const random_position&) = default;
};

/// The static assertions of an operation that fills one view.
#define PRUMO_ASSERT_RANDOM(operation, Space, Y)                                               \
  PRUMO_ASSERT_ARRAYS(operation, Space, Y);                                                    \
  static_assert(::prumo::detail::has_scalars<Y>,                                               \
                operation ": the value type is not float, double, prumo::f16 or prumo::bf16"); \
  static_assert(::prumo::detail::is_writable<Y>(), operation ": y is const")

/// Fills y with numbers that are uniform in [low, high). They are scaled from those that the type's significand tells
/// apart between 0 and 1 (2^24 of float, 2^53 of double, 2^11 of f16, 2^8 of bf16). low and high are rounded to the
/// type of y.
///
/// y: any rank, layout and strides. Elements take numbers in row-major order, whatever the layout is. Returns the
/// position behind the last number, from which the sequence goes on. Asynchronous. Throws argument_error unless low and
/// high and their difference are finite and low <= high (all numbers are low where they are equal), and alias_error.
[[nodiscard]] random_position random_uniform(instance_ref space, const random_position& position, double low,
                                             double high, const array_ref& y);
template <class Space, class Y>
[[nodiscard]] random_position random_uniform(const Space& space, const random_position& position, double low,
                                             double high, const Y& y) {
  PRUMO_ASSERT_RANDOM("prumo::random_uniform", Space, Y);
  return random_uniform(instance_ref(space), position, low, high, array_ref(y));
}

/// Fills y with normal numbers of that mean and standard deviation (Box and Muller, "A note on the generation of random
/// normal deviates", 1958): none is farther from the mean than 6.8 deviations, of double 9.5. A negative deviation
/// mirrors them.
///
/// y, order, position and errors as random_uniform(); mean and deviation are finite.
[[nodiscard]] random_position random_normal(instance_ref space, const random_position& position, double mean,
                                            double deviation, const array_ref& y);
template <class Space, class Y>
[[nodiscard]] random_position random_normal(const Space& space, const random_position& position, double mean,
                                            double deviation, const Y& y) {
  PRUMO_ASSERT_RANDOM("prumo::random_normal", Space, Y);
  return random_normal(instance_ref(space), position, mean, deviation, array_ref(y));
}

}  // namespace prumo
