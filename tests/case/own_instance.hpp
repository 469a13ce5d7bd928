// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/spaces.hpp>

#include <type_traits>

namespace prumo::tests {

/// An instance that is not the space's default one, where the space can have another. On OpenMP it has one
/// thread more, by which its kernels can be known: Kokkos gives all OpenMP instances the same number in its
/// callbacks.
template <class Exec>
Exec make_own_instance() {
#if defined(KOKKOS_ENABLE_OPENMP)
  // Partitions of OpenMP are copies of the default instance unless nested parallelism is on.
  if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>) return Kokkos::OpenMP(concurrency_of(Kokkos::OpenMP()) + 1);
#endif
#if defined(KOKKOS_ENABLE_SERIAL)
  if constexpr (std::is_same_v<Exec, Kokkos::Serial>) return Kokkos::Serial(Kokkos::NewInstance{});
#endif
  return Kokkos::Experimental::partition_space(Exec(), 1)[0];
}

}  // namespace prumo::tests
