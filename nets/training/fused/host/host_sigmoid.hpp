// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The sigmoid of the layers of a step, on a host.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd_group.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>

#include <bit>
#include <cstdint>
#include <cstring>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// Magnitudes up to this one are certainly within the bounds that host_sigmoid() has.
inline constexpr double sigmoid_bound = 64;

/// 1 / (1 + e^-x) of each number.
/// \tparam IsBounded whether no |x| is beyond sigmoid_bound: the result is the same, and may take less time
template <bool IsBounded = false, class Numbers>
[[gnu::always_inline]] inline Numbers host_sigmoid(const Numbers& x) {
  return prumo::sigmoid(x);
}

/// Whether host_sigmoid() takes less time where numbers are bounded.
template <class C>
inline constexpr bool sigmoid_has_bounds = false;

#if defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
template <>
inline constexpr bool sigmoid_has_bounds<float> = true;

/// The same of floats, where a register has eight of them: within four units in the last place from -40 to 40, and six
/// from -80 to 80. Beyond these it is what it is there. A NaN stays one.
///
/// e^-x is 2^(k / 8) e^r, where k is the integer nearest to -8 x / ln 2. One instruction finds 2^(j / 8), where j = k
/// mod 8, among the eight numbers of a register, on a unit that multiplies nothing. r is so small that a polynomial of
/// degree 3 suffices. prumo::sigmoid() has one of degree 6, and takes a third more time.
template <bool IsBounded = false, int Registers>
[[gnu::always_inline]] inline simd_group<float, Registers> host_sigmoid(const simd_group<float, Registers>& x) {
  using words = simd<float>::words;
  using integers = detail::vector_of<int, simd_bytes>;
  constexpr int parts = 8, bias = 127, bits = 23, part_bits = bits - 3;
  // In the last places of the sum with this number there are k and the bias of exponents.
  constexpr float magic = 0x1.8p23F + parts * bias;
  constexpr float log2_e = 1.44269504F, ln_2 = 0.693147181F;
  // The minimax polynomial e^r = 1 + r + c2 r^2 + c3 r^3 for |r| < ln 2 / 16, of -r; its relative error is 2^-25.
  constexpr float c2 = 0x1.000894p-1F, c3 = -0x1.55625ap-3F;
  // The bits of 2^(j / 8), less those that k adds.
  constexpr auto of_part = [](float power, int j) {
    return std::bit_cast<std::int32_t>(power) - (bias << bits) - (j << part_bits);
  };
  constexpr std::int32_t powers[parts] = {of_part(1.0F, 0),        of_part(1.09050773F, 1), of_part(1.18920712F, 2),
                                          of_part(1.29683955F, 3), of_part(1.41421356F, 4), of_part(1.54221083F, 5),
                                          of_part(1.68179283F, 6), of_part(1.83400809F, 7)};
  integers all_powers;
  std::memcpy(&all_powers, powers, sizeof(powers));
  auto bounded = x;
  if constexpr (!IsBounded) {
    bounded = greater_or_second(simd_group<float, Registers>(-80.0F), x);
    bounded = lesser_or_second(simd_group<float, Registers>(80.0F), bounded);
  }
  const auto shifted =
      prumo::fma(bounded, simd_group<float, Registers>(-parts * log2_e), simd_group<float, Registers>(magic));
  const auto k = shifted - magic;
  const auto r = prumo::fma(k, simd_group<float, Registers>(ln_2 / parts), bounded);
  const auto power = detail::for_each_member<Registers>(
      [&](simd<float> each) PRUMO_ALWAYS_INLINE {
        const words whole = detail::bits_of(each);
        const auto part = __builtin_ia32_permvarsi256(all_powers, reinterpret_cast<integers>(whole));
        return detail::from_bits((whole << part_bits) + reinterpret_cast<words>(part));
      },
      shifted);
  auto growth = prumo::fma(r, simd_group<float, Registers>(c3), simd_group<float, Registers>(c2));
  growth = prumo::fma(growth, r, simd_group<float, Registers>(-1.0F));
  growth = prumo::fma(growth, r, simd_group<float, Registers>(1.0F));
  return 1.0F / prumo::fma(growth, power, simd_group<float, Registers>(1.0F));
}
#endif

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
