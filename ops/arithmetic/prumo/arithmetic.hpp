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
#include <prumo/memory.hpp>

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

template <class C>
struct axpby_formula {
  C alpha, beta;
  KOKKOS_FUNCTION C operator()(C x, C y) const { return prumo::fma(alpha, x, beta * y); }
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

/// z = alpha x + beta y, element by element: beta y is rounded, and the sum, where the processor has a fused
/// multiply-add. `alpha == 0` never reads x and `beta == 0` never reads y, as in the BLAS: what they hold, NaN too,
/// does not matter, and bandwidth is saved. z may be x, or y, or both: y = alpha x + beta y is axpby(space, alpha, x,
/// beta, y, y).
template <context_or_instance Space, class X, class Y, class Z>
void axpby(const Space& space, std::type_identity_t<compute_t<typename Z::value_type>> alpha, const X& x,
           std::type_identity_t<compute_t<typename Z::value_type>> beta, const Y& y, const Z& z) {
  PRUMO_ASSERT_ELEMENTWISE("prumo::axpby", Space, Z, X, Y);
  static const std::string label = "prumo::axpby::elementwise";
  using T = typename Z::non_const_value_type;
  using C = compute_t<T>;
  const auto problem =
      detail::make_elementwise_problem("prumo::axpby", space, axpby_formula<C>{alpha, beta}, {"x", "y", "z"}, z, x, y);
  const auto& instance = detail::instance_of(space);
  const auto& [read_x, read_y] = problem.inputs;
  if (alpha == C(0) && beta == C(0)) {
    detail::launch_fill(instance, label, T(C(0)), problem.output, problem.working_set);
  } else if (alpha == C(0) || beta == C(0)) {
    const bool is_x = beta == C(0);
    detail::launch_elementwise(
        instance, label,
        detail::elementwise_problem<scale_formula<C>, T, T>{
            {is_x ? alpha : beta}, problem.output, {is_x ? read_x : read_y}, problem.working_set});
  } else {
    detail::launch_elementwise(instance, label, problem);
  }
}

}  // namespace prumo
