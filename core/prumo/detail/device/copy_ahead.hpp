// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies into scratch memory that go on while the thread does something else. Without an instruction for them (CUDA
/// has one from compute capability 8.0 on) they are finished at once.

#include <Kokkos_Macros.hpp>

namespace prumo::detail {

/// Begins the copy of 4, 8 or 16 bytes. Only this thread may read them before the next barrier of the team.
template <class Pack>
KOKKOS_FORCEINLINE_FUNCTION void begin_copy(const Pack* from, Pack* scratch) {
  static_assert(sizeof(Pack) == 4 || sizeof(Pack) == 8 || sizeof(Pack) == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(scratch));
  if constexpr (sizeof(Pack) == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(to), "l"(from), "n"(sizeof(Pack)) : "memory");
  }
#else
  *scratch = *from;
#endif
}

/// The copies since the last call become a group.
KOKKOS_FORCEINLINE_FUNCTION void end_copy_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}

/// Waits for all of the thread's groups but the last `Left`.
template <int Left>
KOKKOS_FORCEINLINE_FUNCTION void wait_for_copy_groups() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(Left) : "memory");
#endif
}

}  // namespace prumo::detail
