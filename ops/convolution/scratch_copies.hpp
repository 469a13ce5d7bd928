// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies from a device's memory to the scratch memory of a team. Where the device can, they go on while the thread
/// computes, until wait_for_copies(). Elsewhere they are done at once. Other threads see them after the next barrier.

#include <prumo/detail/team_kernel.hpp>

#include <cstring>
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

/// Stores a pack to scratch memory at once. nvcc makes a store for each element of an assignment, even of a uint4, and
/// neighbouring threads then meet in the banks.
template <class C, class Pack>
KOKKOS_FORCEINLINE_FUNCTION void store_to_scratch(C* to, const Pack& pack) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Pack) == 16 || sizeof(Pack) == 8) {
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    unsigned words[sizeof(Pack) / sizeof(unsigned)];
    memcpy(words, &pack, sizeof(Pack));
    if constexpr (sizeof(Pack) == 16) {
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]),
                   "r"(words[2]), "r"(words[3])
                   : "memory");
    } else {
      asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(words[0]), "r"(words[1]) : "memory");
    }
    return;
  }
#endif
  *reinterpret_cast<Pack*>(to) = pack;
}

/// Copies packs of neighbouring elements, whose addresses are aligned for a whole pack. Those that have to be converted
/// are all loaded before the first one is stored, because a thread waits for what it converts.
/// \param distance from the first element of a pack to that of the next
template <class C, int Elements, int Packs, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_packs_to_scratch(const T* from, C* to, [[maybe_unused]] int distance) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, C>) {
    PRUMO_UNROLL
    for (int which = 0; which < Packs; ++which) {
      begin_copy<Elements * sizeof(C)>(from + which * distance, to + which * distance, Elements * sizeof(C));
    }
  } else
#endif
  {
    using source_pack = prumo::detail::device_pack<T, Elements>;
    source_pack loaded[Packs];
    PRUMO_UNROLL
    for (int which = 0; which < Packs; ++which) {
      loaded[which] = *reinterpret_cast<const source_pack*>(from + which * distance);
    }
    PRUMO_UNROLL
    for (int which = 0; which < Packs; ++which) {
      prumo::detail::device_pack<C, Elements> converted;
      PRUMO_UNROLL
      for (int i = 0; i < Elements; ++i) converted.values[i] = static_cast<C>(loaded[which].values[i]);
      store_to_scratch(to + which * distance, converted);
    }
  }
}

/// The same for one pack.
template <class C, int Elements, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_pack_to_scratch(const T* from, C* to) {
  copy_packs_to_scratch<C, Elements, 1>(from, to, 0);
}

/// Copies a pack of neighbouring elements, or sets zeros. Both addresses are aligned for the pack. `from` is read only
/// if the elements are there.
template <int Bytes, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_pack_or_zeros(const T* from, bool is_there, T* to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  begin_copy<Bytes>(from, to, is_there ? Bytes : 0);
#else
  for (int i = 0; i < Bytes / static_cast<int>(sizeof(T)); ++i) to[i] = is_there ? from[i] : T(0);
#endif
}

/// Copies an element, or sets zero. `from` is read only if the element is there.
template <class C, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_element_to_scratch(const T* from, bool is_there, C* to) {
  if constexpr (std::is_same_v<T, C>) {
    copy_pack_or_zeros<sizeof(C)>(from, is_there, to);
  } else {
    *to = is_there ? static_cast<C>(*from) : C(0);
  }
}

/// Stores neighbouring elements at once, to an address aligned for them. An assignment may become a store for each.
/// \tparam Streaming whether they will not be read soon. If threads fill the lines of several rows piece by piece, this
///                   halves the time of a convolution on an H100.
template <bool Streaming, class Pack, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_at_once(T* to, const Pack& pack) {
#if defined(__CUDA_ARCH__)
  // Longer packs are those of emulated teams, which a device never runs.
  if constexpr (sizeof(Pack) <= 16) {
    using small_bits = std::conditional_t<sizeof(Pack) == 2, unsigned short, unsigned>;
    using large_bits = std::conditional_t<sizeof(Pack) == 8, uint2, uint4>;
    std::conditional_t<sizeof(Pack) <= 4, small_bits, large_bits> bits;
    static_assert(sizeof(bits) == sizeof(Pack));
    memcpy(&bits, &pack, sizeof(bits));
    if constexpr (Streaming) {
      __stcs(reinterpret_cast<decltype(bits)*>(to), bits);
    } else {
      __stwb(reinterpret_cast<decltype(bits)*>(to), bits);
    }
    return;
  }
#endif
  *reinterpret_cast<Pack*>(to) = pack;
}

KOKKOS_FORCEINLINE_FUNCTION void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
