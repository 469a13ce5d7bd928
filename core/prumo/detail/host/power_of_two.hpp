// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products with powers of two on processors that have an instruction for them (AVX-512). Others make the power from
/// the bits of its exponent, and need two factors where a result may be subnormal.

#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/host/simd_group.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <type_traits>

namespace prumo::detail {

/// Whether times_power_of_two() can be called with vectors V.
template <class V>
inline constexpr bool has_times_power_of_two = false;

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

}  // namespace PRUMO_INSTRUCTION_SET

template <class T>
  requires std::is_floating_point_v<T>
inline constexpr bool has_times_power_of_two<simd<T>> = true;
template <class T, int Registers>
inline constexpr bool has_times_power_of_two<simd_group<T, Registers>> = true;

#endif

}  // namespace prumo::detail
