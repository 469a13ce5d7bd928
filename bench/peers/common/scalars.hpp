// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The types of elements, as they lie in memory, and how results are rounded to them.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace prumo::peers {

enum class dtype : std::uint8_t { f32, f64, f16, bf16 };

inline constexpr dtype all_dtypes[] = {dtype::f32, dtype::f64, dtype::f16, dtype::bf16};

/// 16-bit numbers in memory; computation with them is in float.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};

/// Precision and range of a type.
struct number_format {
  int digits;    ///< of the significand, the hidden one included
  int smallest;  ///< exponent of the smallest normal number
};

constexpr number_format format_of(dtype type) {
  switch (type) {
    case dtype::f32: return {24, -126};
    case dtype::f64: return {53, -1022};
    case dtype::f16: return {11, -14};
    case dtype::bf16: break;
  }
  return {8, -126};
}

constexpr const char* name_of(dtype type) {
  constexpr const char* names[] = {"f32", "f64", "f16", "bf16"};
  return names[static_cast<std::size_t>(type)];
}

constexpr std::size_t bytes_of(dtype type) {
  constexpr std::size_t bytes[] = {4, 8, 2, 2};
  return bytes[static_cast<std::size_t>(type)];
}

/// The type that computation is in.
constexpr dtype compute_type(dtype type) { return type == dtype::f64 ? dtype::f64 : dtype::f32; }

constexpr std::optional<dtype> dtype_named(std::string_view name) {
  for (const dtype type : all_dtypes) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

template <class T>
inline constexpr dtype dtype_of = dtype::f32;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;
template <>
inline constexpr dtype dtype_of<f16> = dtype::f16;
template <>
inline constexpr dtype dtype_of<bf16> = dtype::bf16;

/// Calls a function with a value of the type.
template <class Function>
decltype(auto) with_type(dtype type, const Function& function) {
  switch (type) {
    case dtype::f32: return function(float{});
    case dtype::f64: return function(double{});
    case dtype::f16: return function(f16{});
    case dtype::bf16: break;
  }
  return function(bf16{});
}

constexpr float widened(float value) { return value; }
constexpr double widened(double value) { return value; }
inline float widened(bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }
inline float widened(f16 value) {
  const int exponent = value.bits >> 10 & 31;
  const auto significand = static_cast<float>(value.bits & 1023);
  const float magnitude = exponent == 31  ? (significand == 0 ? std::numeric_limits<float>::infinity()
                                                              : std::numeric_limits<float>::quiet_NaN())
                          : exponent == 0 ? std::ldexp(significand, -24)
                                          : std::ldexp(1024 + significand, exponent - 25);
  return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// The number of type T that equals `value`: a normal number of T, or NaN. Nothing is rounded.
template <class T, class Value>
T exactly(Value value) {
  if constexpr (sizeof(T) >= 4) {
    return static_cast<T>(value);
  } else {
    const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const auto upper = static_cast<std::uint16_t>(wide >> 16);
    if constexpr (dtype_of<T> == dtype::bf16) {
      return T{upper};
    } else {
      if (std::isnan(value)) return T{0x7e00};
      const std::uint32_t rebiased = ((wide >> 13 & 0x3ffff) - (std::uint32_t{127 - 15} << 10)) & 0x7fff;
      return T{static_cast<std::uint16_t>((upper & 0x8000) | rebiased)};
    }
  }
}

/// Half the distance from 1 to the next number.
inline long double unit_roundoff(dtype type) { return std::ldexp(1.0L, -format_of(type).digits); }

/// One unit in the last place of a value. Below the smallest normal number it is the unit of that number.
inline long double ulp(dtype type, long double value) {
  const number_format format = format_of(type);
  const int exponent = value == 0 ? format.smallest : std::ilogb(value);
  return std::ldexp(1.0L, (exponent < format.smallest ? format.smallest : exponent) - format.digits + 1);
}

/// (1 - u)^-n - 1: the largest relative error after n roundings, one after the other. Higham's n u / (1 - n u), which
/// is no less, means nothing where n u is 1 or more ("Accuracy and Stability of Numerical Algorithms", 2002,
/// lemma 3.1).
inline long double gamma(dtype type, long double roundings) {
  return std::expm1(-roundings * std::log1p(-unit_roundoff(type)));
}

/// The relative error of a sum of this many numbers of one sign, in whatever order: gamma of all additions, or what is
/// left of it where roundings vary in sign (Higham and Mary, SIAM J. Sci. Comput. 41, 2019, theorem 2.4): 8 sqrt(n) u,
/// but with a probability of 2 n exp(-32).
inline long double summation_growth(dtype type, std::int64_t count) {
  const auto additions = static_cast<long double>(count);
  return std::fmin(gamma(type, additions), 8 * std::sqrt(std::fmax(additions, 1.0L)) * unit_roundoff(type));
}

/// The bound of results that are within `absolute` of the exact ones before they are rounded to 16 bits in memory.
inline long double stored_bound(dtype type, long double value, long double absolute) {
  return compute_type(type) == type ? absolute : absolute + ulp(type, std::fabs(value) + absolute) / 2;
}

}  // namespace prumo::peers
