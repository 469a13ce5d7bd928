// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of add, mul, scale and axpby compute for each element, in the compute type C.

#include <prumo/math.hpp>

namespace prumo {

template <class C>
struct add_formula {
  static constexpr double host_nanoseconds = 0;
  KOKKOS_FUNCTION C operator()(C x, C y) const { return x + y; }
};

template <class C>
struct mul_formula {
  static constexpr double host_nanoseconds = 0;
  KOKKOS_FUNCTION C operator()(C x, C y) const { return x * y; }
};

template <class C>
struct scale_formula {
  static constexpr double host_nanoseconds = 0;
  C alpha;
  KOKKOS_FUNCTION C operator()(C x) const { return alpha * x; }
};

template <class C>
struct axpby_formula {
  static constexpr double host_nanoseconds = 0.05;
  C alpha, beta;
  KOKKOS_FUNCTION C operator()(C x, C y) const { return prumo::fma(alpha, x, beta * y); }
};

}  // namespace prumo
