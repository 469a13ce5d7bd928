// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What element-wise kernels read.

#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// An element as formulas take it: a number in its compute type, a word that is only moved as it is.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION auto load(const T& stored) {
  if constexpr (stored_scalar<T>) {
    return static_cast<compute_t<T>>(stored);
  } else {
    return stored;
  }
}

/// Pointers to the inputs, with their types kept apart from the memory they take in a kernel.
template <class... In>
struct input_pointers {
  const void* base[sizeof...(In) == 0 ? 1 : sizeof...(In)] = {};

  template <std::size_t I>
  KOKKOS_FORCEINLINE_FUNCTION auto get() const {
    using type = std::tuple_element_t<I, std::tuple<In...>>;
    return static_cast<const type*>(base[I]);
  }

  /// Those of the elements from `begin` on.
  input_pointers from([[maybe_unused]] std::int64_t begin) const {
    input_pointers result;
    [[maybe_unused]] std::size_t which = 0;
    ((result.base[which] = static_cast<const In*>(base[which]) + begin, ++which), ...);
    return result;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
