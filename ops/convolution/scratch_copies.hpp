// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies from a device's memory to the scratch memory of a team. Where the device can, they go on while the thread
/// computes: after commit_copies(), wait_for_copies(n) waits for all commits but the last n. Elsewhere they are done at
/// once. Other threads see them after the next barrier.

#include <prumo/detail/team_kernel.hpp>

#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <int Bytes>
__device__ __forceinline__ void begin_copy(const void* from, void* to, int bytes_there) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes_there)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(Bytes), "r"(bytes_there)
                 : "memory");
  }
}
#endif

/// Copies as many neighbouring elements as C has in 16 bytes.
template <class C, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_pack_to_scratch(const T* from, C* to) {
  constexpr int elements = prumo::detail::device_pack_elements<C>;
  using source_pack = prumo::detail::device_pack<T, elements>;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, C>) {
    begin_copy<16>(from, to, 16);
    return;
  }
#endif
  const source_pack loaded = *reinterpret_cast<const source_pack*>(from);
  prumo::detail::device_pack<C> converted;
  PRUMO_UNROLL
  for (int i = 0; i < elements; ++i) converted.values[i] = static_cast<C>(loaded.values[i]);
  *reinterpret_cast<prumo::detail::device_pack<C>*>(to) = converted;
}

/// Copies an element, or sets zero. `from` can be read in any case.
template <class C, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_element_to_scratch(const T* from, bool is_there, C* to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, C>) {
    begin_copy<sizeof(C)>(from, to, is_there ? static_cast<int>(sizeof(C)) : 0);
    return;
  }
#endif
  *to = is_there ? static_cast<C>(*from) : C(0);
}

KOKKOS_FORCEINLINE_FUNCTION void commit_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// \param under_way 0 or 1
KOKKOS_FORCEINLINE_FUNCTION void wait_for_copies([[maybe_unused]] int under_way) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if (under_way == 0) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  } else {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  }
#endif
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
