// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Filling and copying. Arguments, aliasing and errors as in <prumo/arithmetic.hpp>; no fence, unlike
/// Kokkos::deep_copy without an instance, and any layouts may meet.

#include <prumo/detail/elementwise.hpp>

#include <type_traits>

namespace prumo {

template <class C>
struct fill_formula {
  C value;
  KOKKOS_FUNCTION C operator()() const { return value; }
};

template <class C>
struct copy_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return x; }
};

/// y = value, every element.
template <context_or_instance Space, class Y>
void fill(const Space& space, std::type_identity_t<compute_t<typename Y::value_type>> value, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::fill", Space, Y);
  static const std::string label = "prumo::fill::elementwise";
  detail::run_elementwise("prumo::fill", label, space, fill_formula<compute_t<typename Y::value_type>>{value}, {"y"},
                          y);
}

/// y = x, every element, between views of any layouts in memory that the space can access.
template <context_or_instance Space, class X, class Y>
void copy(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::copy", Space, Y, X);
  static const std::string label = "prumo::copy::elementwise";
  detail::run_elementwise("prumo::copy", label, space, copy_formula<compute_t<typename Y::value_type>>{}, {"x", "y"}, y,
                          x);
}

}  // namespace prumo
