// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of the activation functions compute for each element, in the compute type C.

#include <prumo/math.hpp>

namespace prumo {

template <class C>
struct sigmoid_formula {
  static constexpr double host_nanoseconds = 0.25;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::sigmoid(x);
  }
};

/// \tparam Stored the type that results are rounded to
template <class C, class Stored = C>
struct tanh_formula {
  static constexpr bool is_rounded = sizeof(Stored) < sizeof(C);
  static constexpr double host_nanoseconds = is_rounded ? 0.2 : 0.35;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    if constexpr (is_rounded) {
      return detail::tanh_for_halves(x);
    } else {
      return prumo::tanh(x);
    }
  }
};

template <class C>
struct relu_formula {
  static constexpr double host_nanoseconds = 0;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::maximum(x, V(0));
  }
};

template <class C>
struct gelu_formula {
  static constexpr double host_nanoseconds = 0.5;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::gelu(x);
  }
};

template <class C>
struct gelu_by_tanh_formula {
  static constexpr double host_nanoseconds = 0.5;
  static constexpr bool takes_vectors = true;
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION V operator()(V x) const {
    return prumo::gelu_by_tanh(x);
  }
};

}  // namespace prumo
