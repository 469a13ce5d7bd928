// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Converts stretches of 16-bit numbers to float and back on a host, with the conversion instructions of its vector
/// units. Compilers use the instructions for f16 for single numbers only. For stretches they vectorise the arithmetic
/// of <prumo/types.hpp>, some twenty operations a number, and 16-bit arrays would take longer than arrays of twice
/// their size. Compilers widen bf16 well. To round to bf16, masks need half the operations of what compilers make.
///
/// The instructions of AVX512_BF16 make zeros of subnormal numbers. Only group_conversions.hpp uses them, for groups
/// without such a number.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd_group.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether stretches of T are widened to floats or narrowed from them here, a vector at a time. What compilers make of
/// the conversions of single numbers is as good for the other types.
#if (defined(__AVX2__) && defined(__F16C__)) || defined(__aarch64__)
template <class T>
inline constexpr bool has_vector_widening = std::is_same_v<T, f16>;
#else
template <class T>
inline constexpr bool has_vector_widening = false;
#endif
template <class T>
inline constexpr bool has_vector_narrowing = has_vector_widening<T>;
#if defined(__AVX512F__)
template <>
inline constexpr bool has_vector_narrowing<bf16> = true;
#endif

/// 16-bit numbers as they lie in memory: one for each float of a vector.
using halves = vector_of<std::uint16_t, simd_bytes / 2>;

/// Words of 16 bits as words of 32, and the lower halves of words. GCC 12 takes five instructions for either.
[[gnu::always_inline]] inline simd<float>::words widened(halves narrow) {
#if defined(__AVX512F__) && !defined(__clang__)
  constexpr unsigned short all = 0xffff;
  return reinterpret_cast<simd<float>::words>(__builtin_ia32_pmovzxwd512_mask(
      reinterpret_cast<vector_of<short, simd_bytes / 2>>(narrow), vector_of<int, simd_bytes>{}, all));
#elif defined(__AVX2__) && !defined(__clang__)
  return reinterpret_cast<simd<float>::words>(
      __builtin_ia32_pmovzxwd256(reinterpret_cast<vector_of<short, simd_bytes / 2>>(narrow)));
#else
  return __builtin_convertvector(narrow, simd<float>::words);
#endif
}
[[gnu::always_inline]] inline halves narrowed(simd<float>::words wide) {
#if defined(__AVX512F__) && !defined(__clang__)
  constexpr unsigned short all = 0xffff;
  return reinterpret_cast<halves>(__builtin_ia32_pmovdw512_mask(reinterpret_cast<vector_of<int, simd_bytes>>(wide),
                                                                vector_of<short, simd_bytes / 2>{}, all));
#else
  return __builtin_convertvector(wide, halves);
#endif
}

/// A vector of neighbouring elements, from anywhere.
template <class T>
[[gnu::always_inline]] inline simd<compute_t<T>> load_vector(const T* from) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    return simd<T>::load(from);
  } else if constexpr (std::is_same_v<T, bf16>) {
    halves narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    return from_bits(widened(narrow) << 16);
  } else if constexpr (has_vector_widening<T>) {
#if defined(__AVX2__) && defined(__F16C__)
    vector_of<short, simd_bytes / 2> narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
#if defined(__AVX512F__)
#if defined(__clang__)
    constexpr unsigned short all = 0xFFFF;
#else
    constexpr int all = -1;  // GCC's mask is signed
#endif
    constexpr int current_rounding = 4;
    simd<float>::native wide = __builtin_ia32_vcvtph2ps512_mask(narrow, simd<float>::native{}, all, current_rounding);
#else
    simd<float>::native wide = __builtin_ia32_vcvtph2ps256(narrow);
#endif
#if defined(__clang__)
    // Clang would compare or select the numbers before they are widened, which takes more instructions: up to version
    // 20 one by one, later with masks that it narrows.
    __asm__("" : "+v"(wide));
#endif
    return simd<float>(wide);
#elif defined(__aarch64__)
    halves narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    simd<float>::native wide;
    asm("fcvtl %0.4s, %1.4h" : "=w"(wide) : "w"(narrow));
    return simd<float>(wide);
#endif
  } else {
    float each[simd<float>::lanes];
    std::copy_n(from, simd<float>::lanes, each);
    return simd<float>::load(each);
  }
}

/// Whether the numbers that are narrowed may be NaNs. To round NaNs in their own way takes a quarter of all
/// instructions of a conversion. NaNs that come `of_halves`, which are sums of products of the same 16-bit type, have
/// no bits that rounding would take away, so they need no way of their own, and keep their bits.
enum class nans : std::uint8_t { possible, of_halves, none };

/// The bits of floats that are not NaNs, rounded to nearest even, with those of bf16 in the upper halves.
[[gnu::always_inline]] inline simd<float>::words nearest_bf16(simd<float>::words bits) {
#if defined(__AVX512F__)
  // Compilers make a shift, a mask and an addition of the last line. One addition under a mask does the same.
  const auto none = bits & 0u, last_bit = none + 0x10000u, half = none + 0x8000u;
  auto nearest = bits + 0x7fffu;
  unsigned short odd;
  asm("vptestmd {%2, %1, %0|%0, %1, %2}" : "=Yk"(odd) : "v"(bits), "v"(last_bit));
  asm("vpaddd {%2, %1, %0%{%3%}|%0%{%3%}, %1, %2}" : "+v"(nearest) : "v"(bits), "v"(half), "Yk"(odd));
  return nearest;
#else
  return bits + 0x7fffu + ((bits >> 16) & 1u);
#endif
}

/// The bits of floats with those of bf16, rounded to nearest even, in the upper halves. A NaN stays the one that it is,
/// made quiet.
template <nans Nans = nans::possible>
[[gnu::always_inline]] inline simd<float>::words rounded_to_bf16(simd<float> values) {
  const auto bits = bits_of(values);
  const auto nearest = nearest_bf16(bits);
  if constexpr (Nans != nans::possible) {
    return nearest;
  } else {
    return (values != values).value ? bits | 0x400000u : nearest;
  }
}

#if defined(__AVX512BW__)
/// The upper halves of the words of two vectors.
[[gnu::always_inline]] inline auto upper_halves(simd<float>::words first, simd<float>::words second) {
  using both_halves = vector_of<short, simd_bytes>;
  return [&]<std::size_t... At>(std::index_sequence<At...>) {
    return shuffle<short>(reinterpret_cast<both_halves>(first), reinterpret_cast<both_halves>(second),
                          std::index_sequence<(2 * At + 1)...>());
  }(std::make_index_sequence<simd_bytes / 2>());
}
#endif

/// Rounds a vector to nearest even and stores it anywhere. A NaN becomes the one that f16 makes of every NaN, with its
/// sign.
template <nans Nans = nans::possible, class T>
[[gnu::always_inline]] inline void store_vector(simd<compute_t<T>> values, T* to) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    values.store(to);
  } else if constexpr (std::is_same_v<T, bf16>) {
    const halves narrow = narrowed(rounded_to_bf16<Nans>(values) >> 16);
    std::memcpy(static_cast<void*>(to), &narrow, sizeof(narrow));
  } else if constexpr (has_vector_narrowing<T>) {
    if constexpr (Nans == nans::possible) {
      const auto nan = from_bits((bits_of(values) & 0x80000000u) | 0x7fc00000u);
      values = prumo::select(values != values, nan, values);
    }
#if defined(__AVX2__) && defined(__F16C__)
    constexpr int to_nearest_without_exceptions = 8;
    using stored = vector_of<long long, simd_bytes / 2>;
#if defined(__AVX512F__)
    constexpr unsigned short every_lane = 0xffff;
    const auto narrow = __builtin_ia32_vcvtps2ph512_mask(values.value(), to_nearest_without_exceptions,
                                                         vector_of<short, simd_bytes / 2>{}, every_lane);
#else
    const auto narrow = __builtin_ia32_vcvtps2ph256(values.value(), to_nearest_without_exceptions);
#endif
    std::memcpy(static_cast<void*>(to), &narrow, sizeof(stored));
#elif defined(__aarch64__)
    halves narrow;
    asm("fcvtn %0.4h, %1.4s" : "=w"(narrow) : "w"(values.value()));
    std::memcpy(static_cast<void*>(to), &narrow, sizeof(narrow));
#endif
  } else {
    float each[simd<float>::lanes];
    values.store(each);
    for (int lane = 0; lane < simd<float>::lanes; ++lane) to[lane] = static_cast<T>(each[lane]);
  }
}

/// Two vectors whose elements are neighbours. Of 16-bit numbers they fill one register, which takes fewer instructions
/// than two halves.
template <nans Nans = nans::possible, class T>
[[gnu::always_inline]] inline void store_vectors(simd<compute_t<T>> first, simd<compute_t<T>> second, T* to) {
#if defined(__AVX512BW__)
  if constexpr (std::is_same_v<T, bf16>) {
    const auto upper = upper_halves(rounded_to_bf16<Nans>(first), rounded_to_bf16<Nans>(second));
    std::memcpy(static_cast<void*>(to), &upper, sizeof(upper));
    return;
  }
#endif
  store_vector<Nans>(first, to);
  store_vector<Nans>(second, to + simd<compute_t<T>>::lanes);
}

/// Bytes that store_vectors() stores at a time. What is loaded from there soon after should not take more: it would
/// wait until all parts are in the cache.
template <class T>
inline constexpr std::size_t bytes_stored_at_once = sizeof(T) == 2 ? simd_bytes / 2 : simd_bytes;
#if defined(__AVX512BW__)
template <>
inline constexpr std::size_t bytes_stored_at_once<bf16> = simd_bytes;
#endif

/// to[i] = from[i] for i < count, and from[0] for others that are fewer than `size`. A function of its own, so that all
/// loops share it.
template <class T>
[[gnu::noinline]] void copy_rest(const T* from, std::int64_t count, T* to, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) to[i] = from[i < count ? i : 0];
}

/// A multiple of the elements that are converted or computed at a time, in every type.
inline constexpr std::int64_t most_converted_at_once = 32;

/// Calls convert(from, to) for every `Size` of `count` elements. What is left goes through the same instructions, so
/// that a number's result does not depend on its place. Inlined by all means: a caller that knows the count keeps its
/// vectors in registers.
template <int Size, class From, class To, class Convert>
[[gnu::always_inline]] inline void convert_stretch(const From* from, To* to, std::int64_t count,
                                                   const Convert& convert) {
  const std::int64_t whole = count / Size * Size;
  for (std::int64_t at = 0; at < whole; at += Size) convert(from + at, to + at);
  if (whole == count) return;
  constexpr auto size = static_cast<std::size_t>(Size);
  From some[size];
  To converted[size];
  copy_rest(from + whole, count - whole, some, Size);
  convert(some, converted);
  copy_rest(converted, count - whole, to + whole, count - whole);
}

/// to[i] = from[i] for i < count.
template <class T>
[[gnu::always_inline]] inline void widen(const T* from, float* to, std::int64_t count) {
  convert_stretch<simd<float>::lanes>(from, to, count,
                                      [](const T* narrow, float* wide) { load_vector(narrow).store(wide); });
}
/// The same to nearest even.
template <nans Nans = nans::possible, class T>
[[gnu::always_inline]] inline void narrow(const float* from, T* to, std::int64_t count) {
  constexpr int lanes = simd<float>::lanes;
  convert_stretch<2 * lanes>(from, to, count, [](const float* wide, T* narrow) {
    store_vectors<Nans>(load_vector(wide), load_vector(wide + lanes), narrow);
  });
}

/// to[i] = value(i), rounded to T, for i < count: `Most` at most where T is narrowed here. No iteration depends on
/// another. Inlined by all means, and with it the formulas in `value` by a caller that is PRUMO_FLATTEN.
template <std::int64_t Most, class T, class Count, class Value>
[[gnu::always_inline]] inline void compute_stretch(Count known_count, T* to, const Value& value) {
  const std::int64_t count = known_count;  // nvcc loses the pragma of a loop that compares with a class
  if constexpr (has_vector_narrowing<T>) {
    c_array<float, Most> results;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < count; ++i) results[i] = value(i);
    narrow(results, to, count);
  } else {
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(value(i));
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
