// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Sums of the lanes of vectors, for several vectors at once.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/math_constants.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// The sums of neighbouring units of `a`, and those of `b` behind them, within each part of a vector. `b` may be the
/// same vector.
/// \tparam Unit,Part lanes of a unit and of a part
template <std::size_t Unit, std::size_t Part, class C>
[[gnu::always_inline]] inline simd<C> add_neighbouring_units(simd<C> a, simd<C> b) {
  using words = typename simd<C>::words;
  using word = typename detail::math_constants<C>::word;
  constexpr std::size_t lanes = static_cast<std::size_t>(simd<C>::lanes);
  const auto every_second = [&]<std::size_t First, std::size_t... At>(std::integral_constant<std::size_t, First>,
                                                                      std::index_sequence<At...>) {
    constexpr auto which = [](std::size_t at) {
      const std::size_t part = at / Part * Part, pair = 2 * (at % Part / Unit * Unit),
                        within = First * Unit + at % Unit;
      return pair < Part ? part + pair + within : lanes + part + pair - Part + within;
    };
    const words chosen =
        detail::shuffle<word>(detail::bits_of(a), detail::bits_of(b), std::index_sequence<which(At)...>());
    return detail::from_bits(chosen);
  };
  constexpr auto all = std::make_index_sequence<lanes>();
  return every_second(std::integral_constant<std::size_t, 0>(), all) +
         every_second(std::integral_constant<std::size_t, 1>(), all);
}

/// The sums of neighbouring lanes, within each 16 bytes of a vector.
template <class C>
[[gnu::always_inline]] inline simd<C> add_neighbouring_lanes(simd<C> a, simd<C> b) {
  return add_neighbouring_units<1, detail::vector_lane / sizeof(C)>(a, b);
}

/// The sums of neighbouring blocks of 16 bytes.
template <class C>
[[gnu::always_inline]] inline simd<C> add_neighbouring_blocks(simd<C> a, simd<C> b) {
  return add_neighbouring_units<detail::vector_lane / sizeof(C), static_cast<std::size_t>(simd<C>::lanes)>(a, b);
}

/// Adds parts of sums until each sum is one number. The vectors of `values` have `Parts` parts of each sum.
template <int Parts, int Count, class C>
[[gnu::always_inline]] inline void store_sums_of_parts(const simd<C> (&values)[Count], C* to) {
  constexpr int lanes = simd<C>::lanes;
  if constexpr (Parts == 1) {
    PRUMO_UNROLL
    for (int i = 0; i < Count; ++i) values[i].store(to + i * lanes);
  } else {
    // Within 16 bytes shuffles are fast, so what is left to add between such blocks comes last.
    constexpr bool has_parts_in_block = Parts * static_cast<int>(detail::vector_lane) > static_cast<int>(simd_bytes);
    constexpr int half = (Count + 1) / 2;
    simd<C> joined[half];
    PRUMO_UNROLL
    for (int i = 0; i < half; ++i) {
      const simd<C> low = values[2 * i], high = values[2 * i + 1 < Count ? 2 * i + 1 : 2 * i];
      joined[i] = has_parts_in_block ? add_neighbouring_lanes(low, high) : add_neighbouring_blocks(low, high);
    }
    store_sums_of_parts<Parts / 2>(joined, to);
  }
}

/// The sum of the lanes of each of several vectors. There must be room for whole vectors of sums. All vectors have the
/// same order of additions: neighbours first, then their sums.
template <int Count, class C>
[[gnu::always_inline]] inline void store_sums(const simd<C> (&values)[Count], C* to) {
  store_sums_of_parts<simd<C>::lanes>(values, to);
}

/// The sums of each four neighbouring lanes, of four vectors.
template <class C>
[[gnu::always_inline]] inline simd<C> sums_of_fours(const simd<C> (&values)[4]) {
  constexpr std::size_t lanes = static_cast<std::size_t>(simd<C>::lanes), in_block = detail::vector_lane / sizeof(C);
  const simd<C> low = add_neighbouring_lanes(values[0], values[1]), high = add_neighbouring_lanes(values[2], values[3]);
  // Four lanes are a block of 16 bytes, or two. The sums come in the order of places within a vector.
  const simd<C> sums = in_block == 4 ? add_neighbouring_lanes(low, high) : add_neighbouring_blocks(low, high);
  constexpr std::size_t of_vector = lanes / 4, together = in_block == 4 ? 4 : 2;
  return [&]<std::size_t... At>(std::index_sequence<At...>) {
    using words = typename simd<C>::words;
    using word = typename detail::math_constants<C>::word;
    constexpr auto which = [](std::size_t at) {
      const std::size_t vector = at / of_vector, place = at % of_vector;
      return vector / together * together * of_vector + place * together + vector % together;
    };
    const words all = detail::bits_of(sums);
    return detail::from_bits(detail::shuffle<word>(all, all, std::index_sequence<which(At)...>()));
  }(std::make_index_sequence<lanes>());
}

template <class C>
[[gnu::always_inline]] inline C sum_of(simd<C> value) {
  const simd<C> one[1] = {value};
  C sums[simd<C>::lanes];
  store_sums(one, sums);
  return sums[0];
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
