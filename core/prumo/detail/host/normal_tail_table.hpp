// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The upper tail of the normal distribution from a table, on processors that look up a lane of two registers with one
/// instruction (AVX-512). A polynomial with an exponential and a quotient takes three times as many instructions.
/// Coefficients: core/tools/fit_polynomials.py.

#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/host/simd_group.hpp>
#include <prumo/detail/host_math.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// Q(y) = 1 - Phi(y) for 0 <= y < end, as a polynomial of (y - center) around the nearest of 32 centers. The relative
/// error is at most 6e-7. It grows with y, because so does the relative change of Q within a piece.
struct normal_tail_table {
  static constexpr int pieces = 32, terms = 5;
  static constexpr float pieces_of_unit = 7.5f;   ///< centers from 0 to 1
  static constexpr float width = 0x1.111112p-3f;  ///< of a piece: 1 / pieces_of_unit, rounded
  static constexpr float end = 4.2f;              ///< half a piece behind the last center
  alignas(64) static constexpr float coefficients[terms][pieces] = {
      {0x1p-1f,         0x1.c9b12ap-2f,  0x1.9456fp-2f,   0x1.60d91ep-2f,  0x1.3006ecp-2f,  0x1.028d66p-2f,
       0x1.b1e13cp-3f,  0x1.67103cp-3f,  0x1.24fd42p-3f,  0x1.d75348p-4f,  0x1.7599e2p-4f,  0x1.23c59ap-4f,
       0x1.c0ea6cp-5f,  0x1.541ep-5f,    0x1.fb7aaap-6f,  0x1.74bcf2p-6f,  0x1.0d7edp-6f,   0x1.7f8f2p-7f,
       0x1.0c9de4p-7f,  0x1.72395cp-8f,  0x1.f60e3p-9f,   0x1.4ee7e8p-9f,  0x1.b78a9ap-10f, 0x1.1bb7eap-10f,
       0x1.68420ap-11f, 0x1.c1e6eep-12f, 0x1.1446a4p-12f, 0x1.4dacb6p-13f, 0x1.8c484p-14f,  0x1.cec52p-15f,
       0x1.09ad68p-15f, 0x1.2becf6p-16f},
      {-0x1.988452p-2f,  -0x1.94e6d4p-2f,  -0x1.8a3f3ap-2f,  -0x1.791bccp-2f,  -0x1.625bf2p-2f,  -0x1.471d6p-2f,
       -0x1.28a4e6p-2f,  -0x1.08458ep-2f,  -0x1.ce912ep-3f,  -0x1.8db16ep-3f,  -0x1.4fe486p-3f,  -0x1.16b26cp-3f,
       -0x1.c654f2p-4f,  -0x1.6bccecp-4f,  -0x1.1e2cf2p-4f,  -0x1.ba4b44p-5f,  -0x1.4fc48p-5f,   -0x1.f4d026p-6f,
       -0x1.6ee96ep-6f,  -0x1.081328p-6f,  -0x1.756c6p-7f,   -0x1.035f88p-7f,  -0x1.61f688p-8f,  -0x1.da8968p-9f,
       -0x1.387c7ep-9f,  -0x1.944c38p-10f, -0x1.00eefcp-10f, -0x1.40cfa4p-11f, -0x1.8982e2p-12f, -0x1.da2e54p-13f,
       -0x1.18a8e8p-13f, -0x1.4661a4p-14f},
      {-0x1.389daep-19f, 0x1.afe572p-6f, 0x1.a487d4p-5f,  0x1.2dafep-4f,   0x1.79fbaep-4f,  0x1.b42724p-4f,
       0x1.daa162p-4f,   0x1.ed4e8cp-4f, 0x1.ed678ap-4f,  0x1.dd3b3p-4f,   0x1.bfdb3cp-4f,  0x1.98c14ap-4f,
       0x1.6b770ap-4f,   0x1.3b4b1ap-4f, 0x1.0b18dp-4f,   0x1.ba4b2ep-5f,  0x1.6626e6p-5f,  0x1.1bcb4cp-5f,
       0x1.b84b6ap-6f,   0x1.4e7edp-6f,  0x1.f1e632p-7f,  0x1.6b1fbcp-7f,  0x1.03930ap-7f,  0x1.6bd076p-8f,
       0x1.f3fba8p-9f,   0x1.50eb42p-9f, 0x1.bd5bbap-10f, 0x1.20bc44p-10f, 0x1.6f4914p-11f, 0x1.ca632p-12f,
       0x1.18ab2cp-12f,  0x1.5145f2p-13f},
      {0x1.10be5ap-4f,   0x1.08eb36p-4f,  0x1.e7e7ecp-5f,   0x1.a612c2p-5f,   0x1.51e792p-5f,   0x1.e47c5ap-6f,
       0x1.1cdf52p-6f,   0x1.6c789ap-8f,  -0x1.522b5cp-8f,  -0x1.d193eap-7f,  -0x1.5bc604p-6f,  -0x1.ab3444p-6f,
       -0x1.d8046ep-6f,  -0x1.e5bdd8p-6f, -0x1.d9afb8p-6f,  -0x1.ba16e8p-6f,  -0x1.8d567p-6f,   -0x1.5957a2p-6f,
       -0x1.231c52p-6f,  -0x1.dd09b4p-7f, -0x1.7c86cp-7f,   -0x1.27e4dep-7f,  -0x1.c107ccp-8f,  -0x1.4cbc26p-8f,
       -0x1.e1e5fep-9f,  -0x1.553756p-9f, -0x1.d8b306p-10f, -0x1.406e86p-10f, -0x1.a94b9ap-11f, -0x1.14636p-11f,
       -0x1.5fe158p-12f, -0x1.b6eba8p-13f},
      {-0x1.b46fe2p-10f, -0x1.ae02ap-8f,  -0x1.9aa12ep-7f, -0x1.1d7e54p-6f, -0x1.55e9c6p-6f, -0x1.7332a6p-6f,
       -0x1.74f492p-6f,  -0x1.5d988cp-6f, -0x1.31cb06p-6f, -0x1.ef643ep-7f, -0x1.6c15b4p-7f, -0x1.cd4084p-8f,
       -0x1.a851fcp-9f,  0x1.4c33f2p-15f, 0x1.59d4e6p-9f,  0x1.26f3a2p-8f,  0x1.7231c6p-8f,  0x1.941bbep-8f,
       0x1.9497b2p-8f,   0x1.7c8752p-8f,  0x1.5495b8p-8f,  0x1.245ed6p-8f,  0x1.e3ea82p-9f,  0x1.837476p-9f,
       0x1.2ce956p-9f,   0x1.c64022p-10f, 0x1.4db86p-10f,  0x1.ddd508p-11f, 0x1.4dadfep-11f, 0x1.c6eea4p-12f,
       0x1.2eef7ap-12f,  0x1.8a4faap-13f}};
};

/// Whether a host uses the table for numbers of type V. Single floats use it as vectors do. So an element has the same
/// bits whether it is computed alone or in a vector.
template <class V>
inline constexpr bool has_normal_tail_table = false;

inline namespace PRUMO_INSTRUCTION_SET {
#if defined(__AVX512F__)

/// table[index modulo 32] in each lane. The index is in the last bits of the lane.
[[gnu::always_inline]] inline simd<float> look_up(simd<float> index, const float (&table)[32]) {
  const auto lower = simd<float>::load(table).value(), upper = simd<float>::load(table + 16).value();
  auto found = index.value();
  asm("vpermi2ps {%2, %1, %0|%0, %1, %2}" : "+v"(found) : "v"(lower), "v"(upper));
  return simd<float>(found);
}
[[gnu::always_inline]] inline float look_up(float index, const float (&table)[32]) {
  return table[static_cast<std::size_t>(bit_cast<std::uint32_t>(index) % 32)];
}
template <int Registers>
[[gnu::always_inline]] inline simd_group<float, Registers> look_up(const simd_group<float, Registers>& index,
                                                                   const float (&table)[32]) {
  return for_each_member<Registers>([&](simd<float> each) PRUMO_ALWAYS_INLINE { return look_up(each, table); }, index);
}

/// Whether all magnitudes are less than the bound. A NaN is not. As integers, magnitudes have the order of their
/// values, and NaNs are above infinity.
[[gnu::always_inline]] inline bool all_words_below(simd<float>::words magnitudes, float bound) {
  unsigned short others;
  asm("vpcmpud {$5, %2, %1, %0|%0, %1, %2, 5}" : "=Yk"(others) : "v"(magnitudes), "v"(bits_of(simd<float>(bound))));
  return others == 0;
}
[[gnu::always_inline]] inline bool all_below(float magnitude, float bound) { return magnitude < bound; }
[[gnu::always_inline]] inline bool all_below(simd<float> magnitudes, float bound) {
  return all_words_below(bits_of(magnitudes), bound);
}
template <int Registers>
[[gnu::always_inline]] inline bool all_below(const simd_group<float, Registers>& magnitudes, float bound) {
  auto largest = bits_of(magnitudes.of[0]);
  PRUMO_UNROLL
  for (int i = 1; i < Registers; ++i) {
    const auto next = bits_of(magnitudes.of[i]);
    largest = next > largest ? next : largest;
  }
  return all_words_below(largest, bound);
}

/// Q(y) for lanes that are less than normal_tail_table::end. Others mean nothing.
template <class V>
[[gnu::always_inline]] inline V normal_tail_by_table(V y) {
  using table = normal_tail_table;
  // The sum holds the nearest center's index in its last bits.
  constexpr float magic = math_constants<float>::rounding_magic;
  const V index = prumo::fma(y, V(table::pieces_of_unit), V(magic));
  const V beyond_center = prumo::fma(index - magic, V(-table::width), y);
  V tail = look_up(index, table::coefficients[table::terms - 1]);
  PRUMO_UNROLL
  for (int term = table::terms - 2; term >= 0; --term) {
    tail = prumo::fma(tail, beyond_center, look_up(index, table::coefficients[term]));
  }
  return tail;
}

#endif
}  // namespace PRUMO_INSTRUCTION_SET

#if defined(__AVX512F__)
template <>
inline constexpr bool has_normal_tail_table<float> = true;
template <>
inline constexpr bool has_normal_tail_table<simd<float>> = true;
template <int Registers>
inline constexpr bool has_normal_tail_table<simd_group<float, Registers>> = true;
#endif

}  // namespace prumo::detail
