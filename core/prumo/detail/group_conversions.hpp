// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loads and stores the numbers of several vector registers at a time, of any type, for formulas that are computed on a
/// host.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/simd_group.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Registers of a group: enough that a formula's steps need not wait for each other, and few enough that most of its
/// numbers stay in registers. With 16 registers, 4 are still faster than 2 by 5 to 15 % (Zen 3, GCC 16 and Clang 21).
inline constexpr int group_registers = 4;

/// Which elements the lanes of a group hold.
enum class lane_order : std::uint8_t {
  memory,           ///< neighbours in memory are neighbours
  lower_then_upper  ///< of bf16: the lower halves of a register's words, and then the upper halves
};

/// The order in which arrays of these types are converted fastest. To widen or to narrow bf16 takes half the
/// instructions if halves of words stay in their words.
template <class... T>
inline constexpr lane_order fastest_order =
    (std::is_same_v<T, bf16> && ...) ? lane_order::lower_then_upper : lane_order::memory;

/// Neighbouring elements, from anywhere.
template <lane_order Order, int Registers, class T>
[[gnu::always_inline]] inline simd_group<compute_t<T>, Registers> load_group(const T* from) {
  using vector = simd<compute_t<T>>;
  simd_group<compute_t<T>, Registers> group;
  if constexpr (Order == lane_order::lower_then_upper) {
    PRUMO_UNROLL
    for (int i = 0; i < Registers; i += 2) {
      typename vector::words both;
      std::memcpy(&both, from + i * vector::lanes, sizeof(both));
      group.of[i] = from_bits(both << 16);
      group.of[i + 1] = from_bits(both & 0xffff0000u);
    }
  } else {
    PRUMO_UNROLL
    for (int i = 0; i < Registers; ++i) group.of[i] = load_vector(from + i * vector::lanes);
  }
  return group;
}

/// finds_nans: whether the processor can compare the lanes of two registers for NaNs with one instruction.
/// nan_lanes(): one bit for each lane that is a NaN in either register.
#if defined(__AVX512F__)
inline constexpr bool finds_nans = true;
[[gnu::always_inline]] inline unsigned nan_lanes(simd<float> a, simd<float> b) {
  unsigned short lanes;
  asm("vcmpunordps {%2, %1, %0|%0, %1, %2}" : "=Yk"(lanes) : "v"(a.value()), "v"(b.value()));
  return lanes;
}
#elif defined(__AVX__)
inline constexpr bool finds_nans = true;
[[gnu::always_inline]] inline unsigned nan_lanes(simd<float> a, simd<float> b) {
  constexpr int unordered = 3;
  return static_cast<unsigned>(__builtin_ia32_movmskps256(__builtin_ia32_cmpps256(a.value(), b.value(), unordered)));
}
#else
inline constexpr bool finds_nans = false;
inline unsigned nan_lanes(simd<float>, simd<float>) { return 0; }
#endif

/// Whether `a` or `b`, results of nan_lanes(), has a bit that is set.
[[gnu::always_inline]] inline bool is_any(unsigned a, unsigned b) {
#if defined(__AVX512F__)
  // One instruction on masks. GCC 12 to 14 copy masks to general registers for an `or`.
  return __builtin_ia32_kortestzhi(static_cast<unsigned short>(a), static_cast<unsigned short>(b)) == 0;
#else
  return (a | b) != 0;
#endif
}

template <int Registers>
[[gnu::always_inline]] inline bool has_nan(const simd_group<float, Registers>& group) {
  static_assert(Registers == 2 || Registers == 4);
  const unsigned first = nan_lanes(group.of[0], group.of[1]);
  return is_any(first, Registers == 2 ? first : nan_lanes(group.of[Registers - 2], group.of[Registers - 1]));
}

/// rounds_by_instruction: whether T is bf16 and the processor has an instruction that rounds floats to it
/// (AVX512_BF16). The instruction makes zeros of subnormal numbers. Of a NaN it makes what rounded_to_bf16() makes of
/// it.
#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
template <class T>
inline constexpr bool rounds_by_instruction = std::is_same_v<T, bf16>;

/// Whether the group has a subnormal number.
template <int Registers>
[[gnu::always_inline]] inline bool has_subnormal(const simd_group<float, Registers>& group) {
  unsigned lanes = 0;
  PRUMO_UNROLL
  for (int i = 0; i < Registers; ++i) {
    unsigned short of_register;
    asm("vfpclassps $0x20, %1, %0" : "=Yk"(of_register) : "v"(group.of[i].value()));
    lanes |= of_register;
  }
  return lanes != 0;
}

/// Rounds a group without subnormal numbers and stores it anywhere.
template <lane_order Order, int Registers>
[[gnu::always_inline]] inline void store_by_instruction(const simd_group<float, Registers>& group, bf16* to) {
  using both_halves = vector_of<short, simd_bytes>;
  PRUMO_UNROLL
  for (int i = 0; i < Registers; i += 2) {
    both_halves both;  // the numbers of the first register, and then those of the second one
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(group.of[i].value()), "v"(group.of[i + 1].value()));
    if constexpr (Order == lane_order::lower_then_upper) {
      both = [&]<std::size_t... At>(std::index_sequence<At...>) {
        return shuffle<short>(both, both, std::index_sequence<(At / 2 + At % 2 * (sizeof...(At) / 2))...>());
      }(std::make_index_sequence<simd_bytes / sizeof(short)>());
    }
    const std::ptrdiff_t first = i * std::ptrdiff_t{simd<float>::lanes};
    std::memcpy(static_cast<void*>(to + first), &both, sizeof(both));
  }
}
#else
template <class T>
inline constexpr bool rounds_by_instruction = false;
template <int Registers>
bool has_subnormal(const simd_group<float, Registers>&) {
  return false;
}
template <lane_order Order, int Registers>
void store_by_instruction(const simd_group<float, Registers>&, bf16*) {}
#endif

/// Whether the order in which registers of a group are stored matters. GCC chooses any order otherwise. When it stored
/// another line of a cache between the two halves of one, sums and products of arrays in a second-level cache took 1.5
/// times as long. Registers of 64 bytes are lines. Intel's servers of the Skylake generation take 7 to 16 % less time
/// for scale if lines follow each other, from arrays in the last-level cache.
inline constexpr bool stores_in_order = simd_bytes < 64 || compiled_for_skylake;

/// Stores the registers of a group in order, and finishes each line of a cache before it begins the next.
template <class T, int Registers>
[[gnu::always_inline]] inline void store_line_by_line(simd_group<T, Registers> group, T* to) {
  constexpr int lanes = simd<T>::lanes, of_line = static_cast<int>(64 / simd_bytes);
  using line = T[static_cast<std::size_t>(lanes * of_line)];
  PRUMO_UNROLL
  for (int i = 0; i < Registers; ++i) {
    if (i >= of_line) {
      const int line_before = i / of_line - 1;
      group.of[i] = after_store(group.of[i], *reinterpret_cast<const line*>(to + line_before * of_line * lanes));
    }
    group.of[i].store(to + i * lanes);
  }
}

/// Rounds a group to nearest even and stores it anywhere.
template <lane_order Order, nans Nans, int Registers, class T>
[[gnu::always_inline]] inline void store_group_of(const simd_group<compute_t<T>, Registers>& group, T* to) {
  using vector = simd<compute_t<T>>;
  PRUMO_UNROLL
  for (int i = 0; i < Registers; i += 2) {
    if constexpr (Order == lane_order::lower_then_upper) {
      const auto lower = rounded_to_bf16<Nans>(group.of[i]) >> 16;
      const auto both = lower | (rounded_to_bf16<Nans>(group.of[i + 1]) & 0xffff0000u);
      std::memcpy(static_cast<void*>(to + i * vector::lanes), &both, sizeof(both));
    } else if constexpr (Registers == 1) {
      store_vector<Nans>(group.of[i], to);
    } else {
      store_vectors<Nans>(group.of[i], group.of[i + 1], to + i * vector::lanes);
    }
  }
}

/// The same, with one test for the numbers that have to be rounded separately. Both ways are inlined: a call would
/// force the registers to memory.
template <lane_order Order, int Registers, class T>
[[gnu::always_inline]] inline void store_group(const simd_group<compute_t<T>, Registers>& group, T* to) {
  constexpr bool treats_nans = std::is_same_v<T, bf16> || (std::is_same_v<T, f16> && has_vector_narrowing<f16>);
  if constexpr (rounds_by_instruction<T> && Registers > 1) {
    if (has_subnormal(group)) [[unlikely]] {
      return store_group_of<Order, nans::possible>(group, to);
    }
    store_by_instruction<Order>(group, to);
  } else if constexpr (treats_nans && finds_nans && Registers > 1) {
    if (has_nan(group)) [[unlikely]] {
      return store_group_of<Order, nans::possible>(group, to);
    }
    store_group_of<Order, nans::none>(group, to);
  } else {
    store_group_of<Order, nans::possible>(group, to);
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
