// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The execution spaces of this Kokkos, for which prumo's kernels are compiled.

#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_SERIAL)
#define PRUMO_IF_SERIAL(...) __VA_ARGS__
#else
#define PRUMO_IF_SERIAL(...)
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
#define PRUMO_IF_OPENMP(...) __VA_ARGS__
#else
#define PRUMO_IF_OPENMP(...)
#endif
#if defined(KOKKOS_ENABLE_THREADS)
#define PRUMO_IF_THREADS(...) __VA_ARGS__
#else
#define PRUMO_IF_THREADS(...)
#endif
#if defined(KOKKOS_ENABLE_CUDA)
#define PRUMO_IF_CUDA(...) __VA_ARGS__
#else
#define PRUMO_IF_CUDA(...)
#endif
#if defined(KOKKOS_ENABLE_HIP)
#define PRUMO_IF_HIP(...) __VA_ARGS__
#else
#define PRUMO_IF_HIP(...)
#endif

/// Expands `macro(Space, ...)` for every enabled execution space.
#define PRUMO_FOR_EACH_SPACE(macro, ...)                                \
  PRUMO_IF_SERIAL(macro(::Kokkos::Serial __VA_OPT__(, ) __VA_ARGS__))   \
  PRUMO_IF_OPENMP(macro(::Kokkos::OpenMP __VA_OPT__(, ) __VA_ARGS__))   \
  PRUMO_IF_THREADS(macro(::Kokkos::Threads __VA_OPT__(, ) __VA_ARGS__)) \
  PRUMO_IF_CUDA(macro(::Kokkos::Cuda __VA_OPT__(, ) __VA_ARGS__))       \
  PRUMO_IF_HIP(macro(::Kokkos::HIP __VA_OPT__(, ) __VA_ARGS__))

namespace prumo {

/// Whether kernels of Exec run on the host's own cores.
template <class Exec>
inline constexpr bool is_host_space = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible &&
                                      std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// Whether Exec is CUDA's.
template <class Exec>
inline constexpr bool is_cuda_space = false;
PRUMO_IF_CUDA(template <> inline constexpr bool is_cuda_space<Kokkos::Cuda> = true;)

/// The number of threads of an instance. In Kokkos 4, `instance.concurrency()` may be that of the default instance.
template <class Exec>
int concurrency_of(const Exec& instance) {
  if constexpr (requires { Exec::concurrency(instance); }) {
    return Exec::concurrency(instance);
  } else {
    return instance.concurrency();
  }
}

}  // namespace prumo
