// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Converts stretches of 16-bit numbers to float and back on a host, with the conversion instructions of its vector
/// units. Compilers use the instructions for f16 for single numbers only. For stretches they vectorise the arithmetic
/// of <prumo/types.hpp>, some twenty operations a number, and 16-bit arrays would take longer than arrays of twice
/// their size. Compilers widen bf16 well. To round to bf16, masks need half the operations of what compilers make.
///
/// The instructions of AVX512_BF16 are not used, because they take subnormal numbers for zeros.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// `count` numbers of T to floats, convert(from, to). Defined for the types that are widened here.
template <class T>
struct vector_widening;
/// `count` floats to numbers of T, to nearest even, likewise.
template <class T>
struct vector_narrowing;

/// Whether stretches of T are widened or narrowed here; elsewhere there is no widen() or narrow() of them.
template <class T>
inline constexpr bool has_vector_widening = requires { vector_widening<T>::count; };
template <class T>
inline constexpr bool has_vector_narrowing = requires { vector_narrowing<T>::count; };

#if defined(__AVX2__) && defined(__F16C__)

/// Vectors and functions that are built into compilers: users' programs include this file, and the header of intrinsics
/// would bring them two thousand macros.
struct conversion_vectors {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  static constexpr int count = 16;
#else
  static constexpr int count = 8;
#endif
  typedef float floats __attribute__((vector_size(4 * count)));
  typedef std::int32_t words __attribute__((vector_size(4 * count)));
  typedef short halves __attribute__((vector_size(2 * count)));
  static constexpr unsigned short every_lane = 0xffff;

  static floats widened(halves from) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
    constexpr int all = -1, current_rounding = 4;  // the mask is signed here
    return __builtin_ia32_vcvtph2ps512_mask(from, floats{}, all, current_rounding);
#else
    return __builtin_ia32_vcvtph2ps256(from);
#endif
  }

  static halves narrowed(floats from) {
    constexpr int to_nearest_without_exceptions = 8;
#if defined(__AVX512F__) && defined(__AVX512BW__)
    return __builtin_ia32_vcvtps2ph512_mask(from, to_nearest_without_exceptions, halves{}, every_lane);
#else
    return __builtin_ia32_vcvtps2ph256(from, to_nearest_without_exceptions);
#endif
  }

  /// Floats from anywhere.
  static floats load(const float* from) {
    floats value;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // it takes the loop over whole vectors for one over their rest
#endif
    std::memcpy(&value, from, sizeof(value));
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
    return value;
  }
};

template <>
struct vector_widening<f16> : conversion_vectors {
  static void convert(const f16* from, float* to) {
    halves narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    const floats wide = widened(narrow);
    std::memcpy(to, &wide, sizeof(wide));
  }
};

/// A NaN becomes the one that f16 makes of every NaN, with its sign.
template <>
struct vector_narrowing<f16> : conversion_vectors {
  static void convert(const float* from, f16* to) {
    const floats values = load(from);
    const words nan = (reinterpret_cast<words>(values) & INT32_MIN) | 0x7fc00000;
    typedef long long stored __attribute__((vector_size(2 * count), aligned(2), may_alias));
    *reinterpret_cast<stored*>(to) =
        reinterpret_cast<stored>(narrowed(values != values ? reinterpret_cast<floats>(nan) : values));
  }
};

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// A NaN stays the one that it is, made quiet.
template <>
struct vector_narrowing<bf16> : conversion_vectors {
  static constexpr int count = 32;

  static void convert(const float* from, bf16* to) {
    // The upper half of every 32-bit word.
    const auto first = reinterpret_cast<both_halves>(rounded(from));
    const auto second = reinterpret_cast<both_halves>(rounded(from + count / 2));
    const both_halves upper = odd_ones(first, second, std::make_index_sequence<count>());
    std::memcpy(static_cast<void*>(to), &upper, sizeof(upper));
  }

 private:
  using both_halves = vector_of<short, 2 * count>;

  template <std::size_t... At>
  static both_halves odd_ones(both_halves a, both_halves b, std::index_sequence<At...>) {
    return shuffle<short>(a, b, std::index_sequence<(2 * At + 1)...>());
  }

  /// With the numbers in the upper halves.
  static words rounded(const float* from) {
    const floats values = load(from);
    const auto bits = reinterpret_cast<words>(values);
    const words down = bits + 0x7fff;
#if defined(__clang__) || defined(__CUDACC__)
    const words nearest = (bits & 0x10000) != 0 ? bits + 0x8000 : down;
#else
    // GCC takes two instructions more for the line above. nvcc's front end crashes on the lines below.
    const words last_bit = words{} + 0x10000, half = words{} + 0x8000;
    const auto odd = __builtin_ia32_ptestmd512(bits, last_bit, every_lane);
    const words nearest = __builtin_ia32_paddd512_mask(bits, half, down, odd);
#endif
    return values != values ? bits | 0x400000 : nearest;
  }
};

#endif
#endif

/// A multiple of every `count`.
inline constexpr std::int64_t most_converted_at_once = 32;

/// to[i] = from[i] for i < count. What is left of vectors goes through the same instructions, so that a number's result
/// does not depend on its place. Inlined by all means: a caller that knows the count keeps its vectors in registers.
template <class Conversion, class From, class To>
[[gnu::always_inline]] inline void convert_stretch(const From* from, To* to, std::int64_t count) {
  const std::int64_t whole = count / Conversion::count * Conversion::count;
  for (std::int64_t at = 0; at < whole; at += Conversion::count) Conversion::convert(from + at, to + at);
  if (whole < count) {
    From rest[Conversion::count] = {};
    To converted[Conversion::count];
    std::copy(from + whole, from + count, rest);
    Conversion::convert(rest, converted);
    std::copy_n(converted, count - whole, to + whole);
  }
}

/// to[i] = from[i] for i < count.
template <class T>
  requires has_vector_widening<T>
[[gnu::always_inline]] inline void widen(const T* from, float* to, std::int64_t count) {
  convert_stretch<vector_widening<T>>(from, to, count);
}
/// The same to nearest even.
template <class T>
  requires has_vector_narrowing<T>
[[gnu::always_inline]] inline void narrow(const float* from, T* to, std::int64_t count) {
  convert_stretch<vector_narrowing<T>>(from, to, count);
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
