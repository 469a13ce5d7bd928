// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of activate_backward compute for each element, in the compute type C, of y and dy.

#include <prumo/math.hpp>

namespace prumo {

template <class C>
struct none_backward_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V, V dy) const {
    return dy;
  }
};

template <class C>
struct relu_backward_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V y, V dy) const {
    return prumo::select(y > V(0), dy, V(0));
  }
};

template <class C>
struct sigmoid_backward_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V y, V dy) const {
    return dy * (y * (V(1) - y));
  }
};

template <class C>
struct tanh_backward_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V y, V dy) const {
    return dy * prumo::fma(-y, y, V(1));
  }
};

}  // namespace prumo
