// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Exponents of numbers on processors that have instructions for them (AVX-512). On others, formulas read and write
/// exponents as bits. These have to treat subnormal numbers, infinities and NaNs separately.

#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/host/simd_group.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// Whether the functions of this file can be called with vectors V.
template <class V>
inline constexpr bool has_exponent_instructions = false;

#if defined(__AVX512F__)

inline namespace PRUMO_INSTRUCTION_SET {

/// x 2^n for integers n, rounded once, also if it is subnormal.
template <class T>
[[gnu::always_inline]] inline simd<T> times_power_of_two(simd<T> x, simd<T> n) {
  typename simd<T>::native product;
  if constexpr (std::is_same_v<T, float>) {
    asm("vscalefps {%2, %1, %0|%0, %1, %2}" : "=v"(product) : "v"(x.value()), "v"(n.value()));
  } else {
    asm("vscalefpd {%2, %1, %0|%0, %1, %2}" : "=v"(product) : "v"(x.value()), "v"(n.value()));
  }
  return simd<T>(product);
}
/// The same, and 0 where `of` is less than `least`. A product that is as small as that takes Intel's processors some
/// 250 cycles.
template <class T>
[[gnu::always_inline]] inline simd<T> times_power_of_two(simd<T> x, simd<T> n, simd<T> of, simd<T> least) {
  std::conditional_t<sizeof(T) == sizeof(float), unsigned short, unsigned char> wanted;
  typename simd<T>::native product;
  if constexpr (std::is_same_v<T, float>) {
    asm("vcmpnltps {%2, %1, %0|%0, %1, %2}" : "=Yk"(wanted) : "v"(of.value()), "v"(least.value()));
    asm("vscalefps {%2, %1, %0%{%3%}%{z%}|%0%{%3%}%{z%}, %1, %2}"
        : "=v"(product)
        : "v"(x.value()), "v"(n.value()), "Yk"(wanted));
  } else {
    asm("vcmpnltpd {%2, %1, %0|%0, %1, %2}" : "=Yk"(wanted) : "v"(of.value()), "v"(least.value()));
    asm("vscalefpd {%2, %1, %0%{%3%}%{z%}|%0%{%3%}%{z%}, %1, %2}"
        : "=v"(product)
        : "v"(x.value()), "v"(n.value()), "Yk"(wanted));
  }
  return simd<T>(product);
}
template <class T, int Registers, class... Bounded>
[[gnu::always_inline]] inline auto times_power_of_two(const simd_group<T, Registers>& x,
                                                      const simd_group<T, Registers>& n, const Bounded&... bounded) {
  return for_each_member<Registers>([](auto... each) PRUMO_ALWAYS_INLINE { return times_power_of_two(each...); }, x, n,
                                    bounded...);
}

/// The largest integer n for which 2^n is not above |x|, also of a subnormal number. It is -infinity for 0, and
/// infinity for infinities.
template <class T>
[[gnu::always_inline]] inline simd<T> binary_exponent(simd<T> x) {
  typename simd<T>::native exponent;
  if constexpr (std::is_same_v<T, float>) {
    asm("vgetexpps {%1, %0|%0, %1}" : "=v"(exponent) : "v"(x.value()));
  } else {
    asm("vgetexppd {%1, %0|%0, %1}" : "=v"(exponent) : "v"(x.value()));
  }
  return simd<T>(exponent);
}

/// x / 2^binary_exponent(x) of finite numbers but 0. It is 1 for 0 and infinities, with their sign.
template <class T>
[[gnu::always_inline]] inline simd<T> significand(simd<T> x) {
  typename simd<T>::native result;
  if constexpr (std::is_same_v<T, float>) {
    asm("vgetmantps {$0, %1, %0|%0, %1, 0}" : "=v"(result) : "v"(x.value()));
  } else {
    asm("vgetmantpd {$0, %1, %0|%0, %1, 0}" : "=v"(result) : "v"(x.value()));
  }
  return simd<T>(result);
}

/// `logarithm` where x is positive and finite. Elsewhere it is the logarithm's limit, or NaN if there is none.
template <class T>
[[gnu::always_inline]] inline simd<T> with_limits_of_logarithm(simd<T> logarithm, simd<T> x) {
  // Four bits select the result for each class of x. The classes are, from the lowest bits on: quiet and signalling
  // NaNs (2: x, quiet), zeros (4: -infinity), 1 (0: the logarithm), -infinity (3: NaN), infinity (5: infinity), other
  // negative numbers (3) and other positive ones (0).
  constexpr std::uint32_t results = 0x03530422;
  const auto table = typename simd<T>::words{} + results;
  auto result = logarithm.value();
  if constexpr (std::is_same_v<T, float>) {
    asm("vfixupimmps {$0, %2, %1, %0|%0, %1, %2, 0}" : "+v"(result) : "v"(x.value()), "v"(table));
  } else {
    asm("vfixupimmpd {$0, %2, %1, %0|%0, %1, %2, 0}" : "+v"(result) : "v"(x.value()), "v"(table));
  }
  return simd<T>(result);
}

template <class T, int Registers>
[[gnu::always_inline]] inline auto binary_exponent(const simd_group<T, Registers>& x) {
  return for_each_member<Registers>([](auto each) PRUMO_ALWAYS_INLINE { return binary_exponent(each); }, x);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto significand(const simd_group<T, Registers>& x) {
  return for_each_member<Registers>([](auto each) PRUMO_ALWAYS_INLINE { return significand(each); }, x);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto with_limits_of_logarithm(const simd_group<T, Registers>& logarithm,
                                                            const simd_group<T, Registers>& x) {
  return for_each_member<Registers>([](auto... each) PRUMO_ALWAYS_INLINE { return with_limits_of_logarithm(each...); },
                                    logarithm, x);
}

}  // namespace PRUMO_INSTRUCTION_SET

template <class T>
  requires std::is_floating_point_v<T>
inline constexpr bool has_exponent_instructions<simd<T>> = true;
template <class T, int Registers>
inline constexpr bool has_exponent_instructions<simd_group<T, Registers>> = true;

#endif

}  // namespace prumo::detail
