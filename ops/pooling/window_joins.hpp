// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the elements of a window become one: single numbers on hosts and devices, and vectors of windows on hosts.

#include "pooling_problem.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <pooling_kind Kind, class C>
KOKKOS_FORCEINLINE_FUNCTION C joined_in_window(C before, C value) {
  if constexpr (Kind == pooling_kind::maximum) {
    return prumo::maximum(before, value);
  } else {
    return before + value;
  }
}

PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <pooling_kind Kind, class C>
KOKKOS_FORCEINLINE_FUNCTION C finished_window(C joined, std::int64_t elements) {
  if constexpr (Kind == pooling_kind::maximum) {
    return joined;
  } else {
    return joined / C(static_cast<plain_scalar_t<C>>(elements));
  }
}

/// The same of windows in the lanes of a vector, on a host. Code for devices may not have vectors.
template <pooling_kind Kind, class C>
simd<C> finished_windows(simd<C> joined, std::int64_t elements) {
  if constexpr (Kind == pooling_kind::mean) joined /= simd<C>(static_cast<C>(elements));
  return joined;
}

/// Turns neighbouring elements of windows into the columns of the windows.
template <class Vector>
void take_windows_apart(Vector (&columns)[2]) {
  const Vector even = every_second_lane<0>(columns[0], columns[1]);
  columns[1] = every_second_lane<1>(columns[0], columns[1]);
  columns[0] = even;
}
template <class Vector>
void take_windows_apart(Vector (&columns)[4]) {
  Vector lower[2] = {columns[0], columns[1]}, upper[2] = {columns[2], columns[3]};
  take_windows_apart(lower);
  take_windows_apart(upper);
  Vector even[2] = {lower[0], upper[0]}, odd[2] = {lower[1], upper[1]};
  take_windows_apart(even);
  take_windows_apart(odd);
  columns[0] = even[0];
  columns[1] = odd[0];
  columns[2] = even[1];
  columns[3] = odd[1];
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
