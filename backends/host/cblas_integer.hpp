// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The types of the BLAS that prumo was built with: those of its arguments and of the arrays that it multiplies, and
/// whether numbers fit into its integers.

#include <cblas.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace prumo::backend {

/// The integer of this BLAS: the type of argument m.
template <class Function>
struct integer_of;
template <class Order, class Transpose, class Integer, class... Rest>
struct integer_of<void(Order, Transpose, Transpose, Integer, Rest...)> {
  using type = Integer;
};
using blas_integer = integer_of<decltype(cblas_sgemm)>::type;
// The enumerations' own names differ between libraries.
using blas_order = decltype(CblasRowMajor);
using blas_transpose = decltype(CblasNoTrans);

/// Whether this BLAS has products of arrays of T.
template <class T>
inline constexpr bool has_product = std::is_same_v<T, float> || std::is_same_v<T, double>;

inline blas_integer narrowed(std::int64_t value) { return static_cast<blas_integer>(value); }

/// Which of a form's integers is too large for the BLAS, in words; empty if all fit.
template <class Form>
std::string why_integers_do_not_fit(const Form& form) {
  for (const auto& [name, value] : form.integers()) {
    if (value <= std::numeric_limits<blas_integer>::max()) continue;
    return std::string(name) + " = " + std::to_string(value) + " exceeds the " +
           std::to_string(8 * sizeof(blas_integer)) + "-bit integers of the BLAS";
  }
  return {};
}

}  // namespace prumo::backend
