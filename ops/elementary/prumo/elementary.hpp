// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Element-wise elementary functions. Arguments, aliasing and errors as in <prumo/arithmetic.hpp>; largest errors as in
/// <prumo/math.hpp>. NaN gives NaN; subnormal numbers are taken and given as they are.

#include <prumo/detail/elementwise.hpp>
#include <prumo/math.hpp>

namespace prumo {

template <class C>
struct exp_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::exp(x); }
};

template <class C>
struct log_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::log(x); }
};

template <class C>
struct sqrt_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::sqrt(x); }
};

template <class C>
struct rsqrt_formula {
  KOKKOS_FUNCTION C operator()(C x) const { return prumo::rsqrt(x); }
};

/// y = e^x, element by element: 0 at -infinity and below the range of the type, infinity above it, 1 at both zeros.
template <context_or_instance Space, class X, class Y>
void exp(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::exp", Space, Y, X);
  static const std::string label = "prumo::exp::elementwise";
  detail::run_elementwise("prumo::exp", label, space, exp_formula<compute_t<typename Y::value_type>>{}, {"x", "y"}, y,
                          x);
}

/// y = ln x, element by element: -infinity at both zeros, NaN below, infinity at infinity, 0 at 1.
template <context_or_instance Space, class X, class Y>
void log(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::log", Space, Y, X);
  static const std::string label = "prumo::log::elementwise";
  detail::run_elementwise("prumo::log", label, space, log_formula<compute_t<typename Y::value_type>>{}, {"x", "y"}, y,
                          x);
}

/// y = sqrt(x), element by element, rounded once: -0 at -0, NaN below, infinity at infinity.
template <context_or_instance Space, class X, class Y>
void sqrt(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::sqrt", Space, Y, X);
  static const std::string label = "prumo::sqrt::elementwise";
  detail::run_elementwise("prumo::sqrt", label, space, sqrt_formula<compute_t<typename Y::value_type>>{}, {"x", "y"}, y,
                          x);
}

/// y = 1 / sqrt(x), element by element: infinity at 0 and -infinity at -0 (as IEEE 754 has it), NaN below, 0 at
/// infinity.
template <context_or_instance Space, class X, class Y>
void rsqrt(const Space& space, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::rsqrt", Space, Y, X);
  static const std::string label = "prumo::rsqrt::elementwise";
  detail::run_elementwise("prumo::rsqrt", label, space, rsqrt_formula<compute_t<typename Y::value_type>>{}, {"x", "y"},
                          y, x);
}

}  // namespace prumo
