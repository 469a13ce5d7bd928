// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// From a block of the generator to uniform and normal numbers. docs/random.md specifies both.

#include <prumo/detail/compiler.hpp>
#include <prumo/math.hpp>
#include <prumo/philox.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// The two 64-bit words of a block, or its four of 32 bits, as a type of `Bytes` bytes takes them.
template <int Bytes>
KOKKOS_FORCEINLINE_FUNCTION auto random_word(const random::philox_block& block, int lane) {
  if constexpr (Bytes == 8) {
    const int low = 2 * lane;
    return (static_cast<std::uint64_t>(block.words[low + 1]) << 32) | block.words[low];
  } else {
    return block.words[lane];
  }
}

/// low + (high - low) f for the f of 0, 1, ... 2^p - 1 times 2^-p; `highest` is the largest value of T below high.
template <class T, class C = compute_t<T>>
struct uniform_formula {
  using plain = plain_scalar_t<C>;
  /// Whether a number depends on one word alone.
  static constexpr bool word_by_word = true;
  plain low, range, highest;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION void values(const random::philox_block& block, C* out) const {
    PRUMO_UNROLL
    for (int lane = 0; lane < random::values_per_block<T>; ++lane)
      out[lane] = value(random_word<sizeof(T)>(block, lane));
  }

  /// The number that a word makes.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION C value(Word word) const {
    constexpr int bits = scalar_traits<T>::significand_bits;
    constexpr int width = static_cast<int>(8 * sizeof(Word));
    constexpr plain step = plain(1) / static_cast<plain>(std::uint64_t{1} << bits);
    // Exact, so no operation of the formula. Devices convert integers of 32 bits faster.
    using integer = std::make_signed_t<Word>;
    const C fraction(static_cast<plain>(static_cast<integer>(word >> (width - bits))) * step);
    // Rounded twice, everywhere: prumo's sources are compiled without contraction.
    const C number = C(range) * fraction + C(low);
    return prumo::minimum(number, C(highest));
  }
};

/// (sin(pi x) - pi x) / x^3 for z = x^2 and |x| <= 1/4. Coefficients: core/tools/fit_polynomials.py; they stand in the
/// functions because devices have no static members.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C sine_tail(C z) {
  if constexpr (sizeof(plain_scalar_t<C>) == 8) {
    constexpr double tail[] = {-0x1.4abbce625be53p+2, 0x1.466bc6775aadcp+1,  -0x1.32d2cce62afa8p-1,
                               0x1.5078348614d32p-4,  -0x1.e3074bb34cb53p-8, 0x1.e8ef155305055p-12,
                               -0x1.6c6e188d8a881p-16};
    return polynomial(tail, z);
  } else {
    constexpr float tail[] = {-0x1.4abbcep+2f, 0x1.466bbcp+1f, -0x1.32cb54p-1f, 0x1.4bf282p-4f};
    return polynomial(tail, z);
  }
}

/// (cos(pi x) - 1) / x^2, likewise.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C cosine_tail(C z) {
  if constexpr (sizeof(plain_scalar_t<C>) == 8) {
    constexpr double tail[] = {-0x1.3bd3cc9be45dep+2, 0x1.03c1f081b5ab3p+2,  -0x1.55d3c7e3c9a7fp+0,
                               0x1.e1f506841b353p-3,  -0x1.a6d1ecff5820bp-6, 0x1.f9cc9d3459de8p-10,
                               -0x1.b27dd475671d5p-14};
    return polynomial(tail, z);
  } else {
    constexpr float tail[] = {-0x1.3bd3ccp+2f, 0x1.03c1e0p+2f, -0x1.55c6bap+0f, 0x1.da0c9ep-3f};
    return polynomial(tail, z);
  }
}

/// mean + deviation n for pairs n = sqrt(-2 log u) (cos 2 pi v, sin 2 pi v), u in (0, 1] of one word, v of the next
/// one.
template <class T, class C = compute_t<T>>
struct normal_formula {
  using plain = plain_scalar_t<C>;
  static constexpr bool word_by_word = false;
  plain mean, deviation;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION void values(const random::philox_block& block, C* out) const {
    PRUMO_UNROLL
    for (int lane = 0; lane < random::values_per_block<T>; lane += 2) {
      pair(random_word<sizeof(T)>(block, lane), random_word<sizeof(T)>(block, lane + 1), out[lane], out[lane + 1]);
    }
  }

  /// The two numbers that two words make.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION void pair(Word u, Word v, C& first, C& second) const {
    C cosine, sine;
    direction(v, cosine, sine);
    const C radius = radius_of(u);
    first = prumo::fma(C(deviation), radius * cosine, C(mean));
    second = prumo::fma(C(deviation), radius * sine, C(mean));
  }

 private:
  /// sqrt(-2 log u): u is the word's middle between its neighbours, rounded to the type.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION static C radius_of(Word word) {
    constexpr plain step = sizeof(Word) == 8 ? plain(0x1p-64) : plain(0x1p-32);
    const C u(static_cast<plain>(word) * step + step / 2);  // the product is exact
    return prumo::sqrt(C(-2) * prumo::log(u));
  }

  /// The word is a fraction of a turn: its nearest quarter, and what is left, at most an eighth of a turn, whose sine
  /// and cosine are within 2 units in the last place.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION static void direction(Word word, C& cosine, C& sine) {
    using integer = std::make_signed_t<Word>;
    constexpr int width = static_cast<int>(8 * sizeof(Word));
    constexpr plain half_turns = sizeof(Word) == 8 ? plain(0x1p-63) : plain(0x1p-31);
    const Word quarter = static_cast<Word>(word + (Word(1) << (width - 3))) >> (width - 2);
    const auto rest = static_cast<integer>(word - (quarter << (width - 2)));
    const C x(static_cast<plain>(rest) * half_turns);
    constexpr plain pi = static_cast<plain>(0x1.921fb54442d18p1);
    const C z = x * x;
    const C s = prumo::fma(x * z, sine_tail(z), C(pi) * x);
    const C c = prumo::fma(z, cosine_tail(z), C(1));
    const bool swapped = (quarter & 1) != 0;
    const C along = swapped ? s : c;
    const C across = swapped ? c : s;
    cosine = quarter == 1 || quarter == 2 ? -along : along;
    sine = quarter >= 2 ? -across : across;
  }
};

}  // namespace prumo::detail
