// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of add, mul, scale and axpby compute for each element, in the compute type C.

#include <prumo/math.hpp>

namespace prumo {

template <class C>
struct add_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x, V y) const {
    return x + y;
  }
};

template <class C>
struct mul_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x, V y) const {
    return x * y;
  }
};

template <class C>
struct scale_formula {
  static constexpr double host_nanoseconds = 0;
  C alpha;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return V(alpha) * x;
  }
};

template <class C>
struct axpby_formula {
  static constexpr double host_nanoseconds = 0.05;
  C alpha, beta;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x, V y) const {
    return prumo::fma(V(alpha), x, V(beta) * y);
  }
};

}  // namespace prumo
