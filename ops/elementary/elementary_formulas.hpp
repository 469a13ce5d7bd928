// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of the elementary functions compute for each element, in the compute type C.

#include <prumo/math.hpp>

namespace prumo {

template <class C>
struct exp_formula {
  static constexpr double host_nanoseconds = 0.2;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::exp(x);
  }
};

template <class C>
struct log_formula {
  static constexpr double host_nanoseconds = 0.3;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::log(x);
  }
};

template <class C>
struct sqrt_formula {
  static constexpr double host_nanoseconds = 0.1;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::sqrt(x);
  }
};

template <class C>
struct rsqrt_formula {
  static constexpr double host_nanoseconds = 0.2;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::rsqrt(x);
  }
};

}  // namespace prumo
