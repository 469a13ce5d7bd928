// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of fill and copy do with each element, which is a number or a word.

#include <Kokkos_Macros.hpp>

namespace prumo {

template <class Element>
struct fill_formula {
  static constexpr double host_nanoseconds = 0;
  Element value;
  KOKKOS_FUNCTION Element operator()() const { return value; }
};

template <class Element>
struct copy_formula {
  static constexpr double host_nanoseconds = 0;
  KOKKOS_FUNCTION Element operator()(Element x) const { return x; }
};

}  // namespace prumo
