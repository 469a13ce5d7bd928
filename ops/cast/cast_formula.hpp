// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of cast compute for each element.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/rounded_to_odd.hpp>
#include <prumo/types.hpp>

#include <type_traits>

namespace prumo {

template <class From, class To>
struct cast_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class C>
  KOKKOS_FUNCTION auto operator()(C x) const {
    if constexpr (std::is_same_v<From, double> && sizeof(To) < sizeof(float)) {
      return detail::rounded_to_odd(x);
    } else {
      return x;
    }
  }
};

}  // namespace prumo
