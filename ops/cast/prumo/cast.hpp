// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Conversion between the types of arrays.

#include <prumo/detail/elementwise.hpp>

#include <type_traits>

namespace prumo {

namespace detail {

/// A float from which rounding to f16 or bf16 gives what rounding the double itself would: to odd, that is, truncated,
/// with the last bit set where anything was lost. Rounded to nearest, the float could be a tie that the double is not
/// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Comput. 57, 2008).
KOKKOS_FORCEINLINE_FUNCTION float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto widened = static_cast<double>(nearest);
  auto bits = bit_cast<std::uint32_t>(nearest);
  bits -= Kokkos::fabs(widened) > Kokkos::fabs(value) ? 1u : 0u;
  bits |= widened != value ? 1u : 0u;
  return bit_cast<float>(bits);
}

}  // namespace detail

template <class From, class To>
struct cast_formula {
  KOKKOS_FUNCTION auto operator()(compute_t<From> x) const {
    if constexpr (std::is_same_v<From, double> && sizeof(To) < sizeof(float)) {
      return detail::rounded_to_odd(x);
    } else {
      return x;
    }
  }
};

/// y = x in the type of y, element by element, rounded once to nearest, ties to even, whatever the two types are.
/// What the type of y cannot hold becomes infinity, or zero of the same sign; NaN gives a quiet NaN.
///
/// Takes a context or a bare execution space instance and views of equal rank and extents, of any layout and strides,
/// of float, double, f16 or bf16 each. The output may be the input where they have the same type (and then nothing
/// changes); any other overlap throws alias_error, unequal extents throw shape_error. Asynchronous.
template <context_or_instance Space, class X, class Y>
void cast(const Space& space, const X& x, const Y& y) {
  static_assert(detail::are_views<X, Y>, "prumo::cast: the arguments after the space are Kokkos views");
  static_assert(detail::have_one_rank<X, Y>, "prumo::cast: the views differ in rank");
  static_assert(scalar<typename X::value_type> && scalar<typename Y::value_type>,
                "prumo::cast: a value type is not float, double, prumo::f16 or prumo::bf16");
  static_assert(detail::are_accessible<detail::execution_space_of_t<Space>, X, Y>,
                "prumo::cast: a view cannot be accessed from the execution space");
  static_assert(!std::is_const_v<typename Y::value_type>, "prumo::cast: the output view is const");
  static const std::string label = "prumo::cast::elementwise";
  using formula = cast_formula<typename X::non_const_value_type, typename Y::non_const_value_type>;
  detail::run_elementwise("prumo::cast", label, space, formula{}, {"x", "y"}, y, x);
}

}  // namespace prumo
