// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the sums of a matrix product become entries of C.

#include "gemm_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>

namespace prumo::backend {

/// The forms of alpha S + beta C that cost different operations, in this order: S; alpha S; C + S; C + alpha
/// S; beta C + S; beta C + alpha S. The first two do not read C.
enum class scaled_form : std::uint8_t { store, scale, add, add_scaled, scale_add, scale_add_scaled };

constexpr scaled_form choose_form(double alpha, double beta) {
  if (beta == 0) return alpha == 1 ? scaled_form::store : scaled_form::scale;
  if (beta == 1) return alpha == 1 ? scaled_form::add : scaled_form::add_scaled;
  return alpha == 1 ? scaled_form::scale_add : scaled_form::scale_add_scaled;
}

inline namespace PRUMO_INSTRUCTION_SET {

/// alpha S + beta C for one entry of C.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <scaled_form Form, class T, class C = compute_t<T>>
KOKKOS_FORCEINLINE_FUNCTION C scaled_entry(C alpha, C beta, C sum, const T& entry) {
  if constexpr (Form == scaled_form::store) {
    return sum;
  } else if constexpr (Form == scaled_form::scale) {
    return alpha * sum;
  } else if constexpr (Form == scaled_form::add) {
    return static_cast<C>(entry) + sum;
  } else if constexpr (Form == scaled_form::add_scaled) {
    return prumo::fma(alpha, sum, static_cast<C>(entry));
  } else if constexpr (Form == scaled_form::scale_add) {
    return prumo::fma(beta, static_cast<C>(entry), sum);
  } else {
    return prumo::fma(beta, static_cast<C>(entry), alpha * sum);
  }
}

/// Writes one entry of C. The form is known at run time.
template <class T, class C = compute_t<T>>
KOKKOS_FORCEINLINE_FUNCTION void write_entry_by(scaled_form form, C alpha, C beta, C sum, T& entry) {
  using enum scaled_form;
  switch (form) {
    case store: entry = static_cast<T>(scaled_entry<store, T>(alpha, beta, sum, entry)); return;
    case scale: entry = static_cast<T>(scaled_entry<scale, T>(alpha, beta, sum, entry)); return;
    case add: entry = static_cast<T>(scaled_entry<add, T>(alpha, beta, sum, entry)); return;
    case add_scaled: entry = static_cast<T>(scaled_entry<add_scaled, T>(alpha, beta, sum, entry)); return;
    case scale_add: entry = static_cast<T>(scaled_entry<scale_add, T>(alpha, beta, sum, entry)); return;
    case scale_add_scaled: entry = static_cast<T>(scaled_entry<scale_add_scaled, T>(alpha, beta, sum, entry)); return;
  }
}

/// Calls `function` with the form as a constant. Host only.
template <class Function>
void with_form(scaled_form form, const Function& function) {
  using enum scaled_form;
  switch (form) {
    case store: return function(std::integral_constant<scaled_form, store>{});
    case scale: return function(std::integral_constant<scaled_form, scale>{});
    case add: return function(std::integral_constant<scaled_form, add>{});
    case add_scaled: return function(std::integral_constant<scaled_form, add_scaled>{});
    case scale_add: return function(std::integral_constant<scaled_form, scale_add>{});
    case scale_add_scaled: return function(std::integral_constant<scaled_form, scale_add_scaled>{});
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
