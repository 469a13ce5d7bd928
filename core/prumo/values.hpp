// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Several values as one result, for formulas that have several outputs.

#include <Kokkos_Macros.hpp>

#include <cstddef>
#include <type_traits>

namespace prumo {

/// The values of a formula that has several outputs, in the order of the outputs. Such a formula ends with
/// `return prumo::values(mean, deviation);`. Unlike std::tuple, this also works on devices.
template <class... Types>
struct values;

template <>
struct values<> {};

template <class First, class... Rest>
struct values<First, Rest...> {
  First first;
  values<Rest...> rest;

  // NOLINTNEXTLINE(google-explicit-constructor): a formula may return {a, b}
  KOKKOS_FORCEINLINE_FUNCTION constexpr values(const First& first_value, const Rest&... other_values)
      : first(first_value), rest(other_values...) {}

  /// The value with this number; the first one is 0.
  template <std::size_t Which>
  KOKKOS_FORCEINLINE_FUNCTION constexpr const auto& get() const {
    static_assert(Which <= sizeof...(Rest), "prumo::values: the number of the value is too large");
    if constexpr (Which == 0) {
      return first;
    } else {
      return rest.template get<Which - 1>();
    }
  }
};

template <class... Types>
values(Types...) -> values<Types...>;

}  // namespace prumo
