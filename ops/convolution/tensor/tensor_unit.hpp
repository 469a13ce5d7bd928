// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A product in the matrix unit of a multiprocessor: that of NVIDIA's devices from compute capability 8.0.

#include <prumo/detail/team_kernel.hpp>
#include <prumo/types.hpp>

#include <Kokkos_Macros.hpp>

#include <cstdint>
#include <cstring>
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

/// sums = before + left * right. Of the right operand, whose rows are the columns of the left one, a thread has column
/// g in the rows 2 q and 2 q + 1 (`upper`), and 8 rows further (`lower`); of f32 in row q, and 4 rows further. It gets
/// the sums of row g in the columns 2 q and 2 q + 1, then those of row g + 8. Elements of f32 are cut to TF32, and the
/// sums are in f32. All threads of a warp must call.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void add_product([[maybe_unused]] const tensor_operand& left,
                                             [[maybe_unused]] std::uint32_t upper, [[maybe_unused]] std::uint32_t lower,
                                             [[maybe_unused]] const float (&before)[4],
                                             [[maybe_unused]] float (&sums)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define PRUMO_MULTIPLY_IN_TENSOR_UNIT(form)                                                                     \
  asm("mma.sync.aligned." form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"           \
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])                                              \
      : "r"(left.words[0]), "r"(left.words[1]), "r"(left.words[2]), "r"(left.words[3]), "r"(upper), "r"(lower), \
        "f"(before[0]), "f"(before[1]), "f"(before[2]), "f"(before[3]))
  if constexpr (std::is_same_v<T, f16>) {
    PRUMO_MULTIPLY_IN_TENSOR_UNIT("m16n8k16.row.col.f32.f16.f16.f32");
  } else if constexpr (std::is_same_v<T, float>) {
    PRUMO_MULTIPLY_IN_TENSOR_UNIT("m16n8k8.row.col.f32.tf32.tf32.f32");
  } else {
    PRUMO_MULTIPLY_IN_TENSOR_UNIT("m16n8k16.row.col.f32.bf16.bf16.f32");
  }
#undef PRUMO_MULTIPLY_IN_TENSOR_UNIT
#endif
}

/// A place in a team's scratch memory. Devices address it by 32 bits, and compilers find no short way to add to an
/// address of 64 bits that they cut afterwards.
class scratch_place {
 public:
  KOKKOS_FORCEINLINE_FUNCTION explicit scratch_place(const void* place)
#if defined(__CUDA_ARCH__)
      : address_(static_cast<address_type>(__cvta_generic_to_shared(place))){}
#else
      : address_(reinterpret_cast<address_type>(place)) {
  }
#endif

        KOKKOS_FORCEINLINE_FUNCTION scratch_place operator+(int bytes) const {
    scratch_place moved = *this;
    moved.address_ += static_cast<address_type>(bytes);
    return moved;
  }

  /// Loads four words, whose address must be aligned for all of them.
  KOKKOS_FORCEINLINE_FUNCTION void load([[maybe_unused]] std::uint32_t (&words)[4]) const {
#if defined(__CUDA_ARCH__)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address_)
                 : "memory");
#endif
  }

  /// Loads four matrices of 8 rows of 16 bytes. Threads 8 i to 8 i + 7 tell where the rows of matrix i are, and word i
  /// of each thread is its word `lane % 4` in row `lane / 4`. All threads of a warp must call.
  KOKKOS_FORCEINLINE_FUNCTION void load_matrices([[maybe_unused]] std::uint32_t (&words)[4]) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address_)
                 : "memory");
#endif
  }

  /// Stores four words, whose address must be aligned for all of them. It does so on hosts, too, for tests.
  KOKKOS_FORCEINLINE_FUNCTION void store(const std::uint32_t (&words)[4]) const {
#if defined(__CUDA_ARCH__)
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address_), "r"(words[0]), "r"(words[1]),
                 "r"(words[2]), "r"(words[3])
                 : "memory");
#else
    memcpy(reinterpret_cast<void*>(address_), words, sizeof(words));  // NOLINT(performance-no-int-to-ptr)
#endif
  }

 private:
#if defined(__CUDA_ARCH__)
  using address_type = std::uint32_t;
#else
  using address_type = std::uintptr_t;
#endif
  address_type address_;
};

/// Neighbouring elements, rounded to T, as words: two of 16 bits are rounded by one instruction.
template <class T, int Count>
struct alignas(Count * sizeof(T)) rounded_words {
  std::uint32_t words[Count * sizeof(T) / 4];

  KOKKOS_FORCEINLINE_FUNCTION explicit rounded_words([[maybe_unused]] const float* values) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    PRUMO_UNROLL
    for (int i = 0; i < static_cast<int>(Count * sizeof(T) / 4); ++i) {
      if constexpr (std::is_same_v<T, f16>) {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(values[2 * i + 1]), "f"(values[2 * i]));
      } else if constexpr (std::is_same_v<T, float>) {
        words[i] = __float_as_uint(values[i]);
      } else {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(values[2 * i + 1]), "f"(values[2 * i]));
      }
    }
#endif
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
