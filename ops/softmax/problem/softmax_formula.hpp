// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What softmax and log_softmax differ in: the last step, from a value (or its exponential, where that was kept) and
/// what is known of its row to the result. Everything before, the maximum and the sum of exponentials, they share.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/math.hpp>

#include <Kokkos_NumericTraits.hpp>

#include <string>

namespace prumo::detail {

/// The maximum of nothing.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION constexpr C softmax_lowest() {
  return C(-Kokkos::Experimental::infinity_v<plain_scalar_t<C>>);
}

/// The maximum to subtract; 0 for a row of -infinity, from which nothing else can be subtracted.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C softmax_shift(C maximum) {
  return maximum == softmax_lowest<C>() ? C(0) : maximum;
}

/// The maximum and the sum of exponentials of a stretch of a row. The maximum of nothing, and of -infinity alone, is
/// -infinity.
template <class C>
struct softmax_statistics {
  C maximum;
  C total;
};

/// exp(x - shift) / total.
struct softmax_formula {
  /// Kernels that hold a row keep its exponentials, not its values.
  static constexpr bool keeps_exponentials = true;
  static constexpr const char* name = "softmax";
  /// The result of a number that is alone in its row.
  static constexpr double of_one = 1;

  /// What the total of a row is turned into, once a row.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION static C row_factor(C total) {
    return C(1) / total;
  }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION static C from_kept(C exponential, C /*shift*/, C factor) {
    return exponential * factor;
  }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION static C from_value(C x, C shift, C factor) {
    return exp_of_nonpositive(x - shift) * factor;
  }
};

/// (x - shift) - log(total).
struct log_softmax_formula {
  static constexpr bool keeps_exponentials = false;
  static constexpr const char* name = "log_softmax";
  static constexpr double of_one = 0;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION static C row_factor(C total) {
    return prumo::log(total);
  }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION static C from_kept(C x, C shift, C factor) {
    return (x - shift) - factor;
  }
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION static C from_value(C x, C shift, C factor) {
    return from_kept(x, shift, factor);
  }
};

/// A kernel's label, `prumo::softmax::rows`, made once.
template <class Formula>
std::string softmax_label(const char* kernel) {
  return std::string("prumo::") + Formula::name + "::" + kernel;
}

}  // namespace prumo::detail
