// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Filling and copying. Arguments, aliasing and errors as in <prumo/arithmetic.hpp>; no fence, unlike
/// Kokkos::deep_copy without an instance, and any layouts may meet.

#include <prumo/detail/elementwise.hpp>
#include <prumo/detail/word.hpp>

#include <type_traits>

namespace prumo {

/// The formulas, of numbers or of the words that numbers are moved as.
template <class Element>
struct fill_formula {
  Element value;
  KOKKOS_FUNCTION Element operator()() const { return value; }
};

template <class Element>
struct copy_formula {
  KOKKOS_FUNCTION Element operator()(Element x) const { return x; }
};

namespace detail {

/// Enqueues y = value, as words.
template <class Exec, class T>
void launch_fill(const Exec& instance, const std::string& label, T value, const array<T>& y, std::size_t working_set) {
  using formula = fill_formula<word_of<T>>;
  launch_elementwise(
      instance, label,
      elementwise_problem<formula, word_of<T>>{{bit_cast<word_of<T>>(value)}, words_of(y), {}, working_set});
}

}  // namespace detail

/// y = value rounded to the type of y, every element.
template <context_or_instance Space, class Y>
void fill(const Space& space, std::type_identity_t<compute_t<typename Y::value_type>> value, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::fill", Space, Y);
  static const std::string label = "prumo::fill::elementwise";
  detail::check_elementwise("prumo::fill", {"y"}, y);
  detail::launch_fill(detail::instance_of(space), label, typename Y::value_type(value), lower(y),
                      detail::working_set_of(space));
}

/// y = x, every element, bit by bit, between views of any layouts in memory that the space can access.
template <context_or_instance Space, class X, class Y>
void copy(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::copy", Space, Y, X);
  static const std::string label = "prumo::copy::elementwise";
  using word = detail::word_of<typename Y::value_type>;
  using formula = copy_formula<word>;
  detail::check_elementwise("prumo::copy", {"x", "y"}, y, x);
  detail::launch_elementwise(
      detail::instance_of(space), label,
      detail::elementwise_problem<formula, word, word>{
          {}, detail::words_of(lower(y)), {detail::words_of(lower_const(x))}, detail::working_set_of(space)});
}

}  // namespace prumo
