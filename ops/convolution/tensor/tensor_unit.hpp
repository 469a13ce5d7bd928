// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A product in the matrix unit of a multiprocessor: that of NVIDIA's devices from compute capability 8.0.

#include <prumo/types.hpp>

#include <Kokkos_Macros.hpp>

#include <cstdint>
#include <type_traits>

#if defined(KOKKOS_ENABLE_CUDA) && (defined(KOKKOS_ARCH_AMPERE) || defined(KOKKOS_ARCH_ADA89) || \
                                    defined(KOKKOS_ARCH_HOPPER) || defined(KOKKOS_ARCH_BLACKWELL))
#define PRUMO_HAS_TENSOR_UNITS
#endif

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The part of a tile of the left operand that a thread holds. With g = lane / 4 and q = lane % 4, word i is of row
/// g + 8 (i % 2). Of 16 x 16 elements of 16 bits it has the columns 2 q and 2 q + 1, and 8 columns further for i >= 2;
/// of 16 x 8 elements of f32 the column q, and 4 columns further for i >= 2.
struct alignas(16) tensor_operand {
  std::uint32_t words[4];
};

/// sums += left * right. Of the right operand, whose rows are the columns of the left one, a thread has column g in the
/// rows 2 q and 2 q + 1 (`upper`), and 8 rows further (`lower`); of f32 in row q, and 4 rows further. It gets the sums
/// of row g in the columns 2 q and 2 q + 1, then those of row g + 8. Elements of f32 are cut to TF32, and the sums are
/// in f32. All threads of a warp must call.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void add_product([[maybe_unused]] const tensor_operand& left,
                                             [[maybe_unused]] std::uint32_t upper, [[maybe_unused]] std::uint32_t lower,
                                             [[maybe_unused]] float (&sums)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, f16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.words[0]), "r"(left.words[1]), "r"(left.words[2]), "r"(left.words[3]), "r"(upper), "r"(lower));
  } else if constexpr (std::is_same_v<T, float>) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.words[0]), "r"(left.words[1]), "r"(left.words[2]), "r"(left.words[3]), "r"(upper), "r"(lower));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.words[0]), "r"(left.words[1]), "r"(left.words[2]), "r"(left.words[3]), "r"(upper), "r"(lower));
  }
#endif
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
