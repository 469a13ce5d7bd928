// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Element-wise sums and products.
///
/// All take a context or a bare execution space instance and views of equal rank and extents, of any layout and
/// strides, of float, double, f16 or bf16 (computed in float, rounded once more on the way out). The output may be one
/// of the inputs; any other overlap throws alias_error, unequal extents throw shape_error. Asynchronous.

#include <prumo/detail/elementwise.hpp>
#include <prumo/math.hpp>

#include <type_traits>

namespace prumo {

template <class C>
struct add_formula {
  KOKKOS_FUNCTION C operator()(C x, C y) const { return x + y; }
};

template <class C>
struct mul_formula {
  KOKKOS_FUNCTION C operator()(C x, C y) const { return x * y; }
};

template <class C>
struct scale_formula {
  C alpha;
  KOKKOS_FUNCTION C operator()(C x) const { return alpha * x; }
};

/// z = x + y, element by element.
template <context_or_instance Space, class X, class Y, class Z>
void add(const Space& space, const X& x, const Y& y, const Z& z) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::add", Space, Z, X, Y);
  static const std::string label = "prumo::add::elementwise";
  detail::run_elementwise("prumo::add", label, space, add_formula<compute_t<typename Z::value_type>>{}, {"x", "y", "z"},
                          z, x, y);
}

/// z = x * y, element by element (the Hadamard product).
template <context_or_instance Space, class X, class Y, class Z>
void mul(const Space& space, const X& x, const Y& y, const Z& z) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::mul", Space, Z, X, Y);
  static const std::string label = "prumo::mul::elementwise";
  detail::run_elementwise("prumo::mul", label, space, mul_formula<compute_t<typename Z::value_type>>{}, {"x", "y", "z"},
                          z, x, y);
}

/// y = alpha x.
template <context_or_instance Space, class X, class Y>
void scale(const Space& space, std::type_identity_t<compute_t<typename Y::value_type>> alpha, const X& x, const Y& y) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::scale", Space, Y, X);
  static const std::string label = "prumo::scale::elementwise";
  detail::run_elementwise("prumo::scale", label, space, scale_formula<compute_t<typename Y::value_type>>{alpha},
                          {"x", "y"}, y, x);
}

}  // namespace prumo
