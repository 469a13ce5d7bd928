// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Arrays of random numbers, uniform and normal. Number i of a stream under a seed is a function of these three alone
/// (docs/random.md): the same on every backend, with any number of threads, and in Python. A sequence that was begun
/// goes on where it stopped.

#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>

#include <cstdint>
#include <string_view>

namespace prumo {

/// Where in which sequence of numbers: `offset` numbers of `stream` under `seed` have been used.
struct random_position {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const random_position&, const random_position&) = default;
};

namespace detail {

/// target[i] in row-major order = the formula of number offset + i. `first` and `second` are the parameters: low and
/// high, or mean and deviation.
template <class T>
struct random_problem {
  array<T> target;
  random_position position;
  compute_t<T> first;
  compute_t<T> second;
};

struct uniform_numbers;
struct normal_numbers;

/// Enqueues the kernel. Throws argument_error for parameters that make no numbers.
template <class Numbers, class Exec, class T>
void launch_random(const Exec& instance, const random_problem<T>& problem);

template <class Numbers, class Space, class Y>
random_position run_random(std::string_view operation, const Space& space, const random_position& position,
                           compute_t<typename Y::value_type> first, compute_t<typename Y::value_type> second,
                           const Y& y) {
  check::distinct_elements(operation, describe(y, "y"));
  random_problem<typename Y::value_type> problem{lower(y), position, first, second};
  launch_random<Numbers>(instance_of(space), problem);
  random_position next = position;
  next.offset += static_cast<std::uint64_t>(problem.target.size());
  return next;
}

}  // namespace detail

/// The static assertions of an operation that fills one view.
#define PRUMO_ASSERT_RANDOM(operation, Space, Y)                                               \
  static_assert(Kokkos::is_view_v<Y>, operation ": y is a Kokkos view");                       \
  static_assert(!std::is_const_v<typename Y::value_type>, operation ": y is const");           \
  static_assert(::prumo::scalar<typename Y::value_type>,                                       \
                operation ": the value type is not float, double, prumo::f16 or prumo::bf16"); \
  static_assert(::prumo::accessible_from<Y, ::prumo::detail::execution_space_of_t<Space>>,     \
                operation ": y cannot be accessed from the execution space")

/// Fills y with numbers that are uniform in [low, high): as many as the type's significand tells apart between 0 and 1
/// (2^24 of float, 2^53 of double, 2^11 of f16, 2^8 of bf16), scaled. low and high are rounded to the type of y.
///
/// y: any rank, layout and strides; elements take numbers in row-major order, whatever the layout. Returns the position
/// behind the last number, with which the sequence goes on. Asynchronous. Throws argument_error unless low and high and
/// their difference are finite and low <= high (all numbers are low where they are equal), and alias_error.
template <context_or_instance Space, class Y>
random_position random_uniform(const Space& space, const random_position& position,
                               std::type_identity_t<compute_t<typename Y::value_type>> low,
                               std::type_identity_t<compute_t<typename Y::value_type>> high, const Y& y) {
  PRUMO_ASSERT_RANDOM("prumo::random_uniform", Space, Y);
  return detail::run_random<detail::uniform_numbers>("prumo::random_uniform", space, position, low, high, y);
}

/// Fills y with normal numbers of that mean and standard deviation (Box and Muller, "A note on the generation of random
/// normal deviates", 1958): none is farther from the mean than 6.8 deviations, of double 9.5. A negative deviation
/// mirrors them.
///
/// y, order, position and errors as random_uniform(); mean and deviation are finite.
template <context_or_instance Space, class Y>
random_position random_normal(const Space& space, const random_position& position,
                              std::type_identity_t<compute_t<typename Y::value_type>> mean,
                              std::type_identity_t<compute_t<typename Y::value_type>> deviation, const Y& y) {
  PRUMO_ASSERT_RANDOM("prumo::random_normal", Space, Y);
  return detail::run_random<detail::normal_numbers>("prumo::random_normal", space, position, mean, deviation, y);
}

}  // namespace prumo
