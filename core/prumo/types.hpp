// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The scalar types of prumo: `float`, `double`, and the storage types `f16` and `bf16`. These have 16 bits on every
/// backend and are computed in `float`. `f8_e4m3` has 8 bits and is for the inputs of matrix products.

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

namespace prumo {

namespace detail {

template <class To, class From>
KOKKOS_FORCEINLINE_FUNCTION To bit_cast(const From& from) {
  return Kokkos::bit_cast<To>(from);
}

// The conversions below are free of branches and tables so that compilers vectorise them. GPUs have an instruction for
// each, but their compilers do not see it in this arithmetic.

/// IEEE binary16 to binary32; exact.
KOKKOS_FORCEINLINE_FUNCTION float f16_bits_to_float(std::uint16_t half) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#elif defined(__HIP_DEVICE_COMPILE__)
  return static_cast<float>(bit_cast<_Float16>(half));
#else
  const std::uint32_t magnitude = (half & 0x7fffu) << 13;
  const std::uint32_t sign = (half & 0x8000u) << 16;
  // Multiplying by 2^112 moves the exponent's bias from 15 to 127 and makes subnormal numbers normal.
  const float scaled = bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t infinite_or_nan = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  return bit_cast<float>(bit_cast<std::uint32_t>(scaled) | infinite_or_nan | sign);
#endif
}

/// IEEE binary32 to binary16, to nearest even.
KOKKOS_FORCEINLINE_FUNCTION std::uint16_t float_to_f16_bits(float value) {
#if defined(__CUDA_ARCH__)
  std::uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#elif defined(__HIP_DEVICE_COMPILE__)
  return bit_cast<std::uint16_t>(static_cast<_Float16>(value));
#else
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal range: re-bias the exponent and round the 13 bits that fall away.
  const std::uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Subnormal range: adding 0.5 lets the addition itself round to the grid of 2^-24.
  const std::uint32_t subnormal = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t half = magnitude < 0x38800000u ? subnormal : rounded;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return static_cast<std::uint16_t>(half | sign);
#endif
}

/// bfloat16 to binary32; exact.
KOKKOS_FORCEINLINE_FUNCTION float bf16_bits_to_float(std::uint16_t half) {
  return bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// IEEE binary32 to bfloat16, to nearest even.
KOKKOS_FORCEINLINE_FUNCTION std::uint16_t float_to_bf16_bits(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint16_t half;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#else
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x0040u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
#endif
}

/// E4M3 to binary32; exact.
KOKKOS_FORCEINLINE_FUNCTION float f8_e4m3_bits_to_float(std::uint8_t code) {
  const std::uint32_t magnitude = (code & 0x7fu) << 20;
  const std::uint32_t sign = (code & 0x80u) << 24;
  // Multiplying by 2^120 moves the exponent's bias from 7 to 127 and makes subnormal numbers normal.
  const float scaled = bit_cast<float>(magnitude) * 0x1p120f;
  const std::uint32_t nan = magnitude == 0x07f00000u ? 0x7fc00000u : 0u;
  return bit_cast<float>(bit_cast<std::uint32_t>(scaled) | nan | sign);
}

/// Binary32 to E4M3, to nearest even, saturating.
KOKKOS_FORCEINLINE_FUNCTION std::uint8_t float_to_f8_e4m3_bits(float value) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal range: re-bias the exponent and round the 20 bits that fall away.
  const std::uint32_t rounded = (magnitude + 0x7ffffu + ((magnitude >> 20) & 1u) - 0x3c000000u) >> 20;
  // Subnormal range: adding 2^14 lets the addition itself round to the grid of 2^-9.
  const std::uint32_t subnormal = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + 0x1p14f) - 0x46800000u;
  const std::uint32_t nearest = magnitude < 0x3c800000u ? subnormal : rounded;
  const std::uint32_t finite = (nearest < 0x7eu ? nearest : 0x7eu) | sign;
  return static_cast<std::uint8_t>(magnitude > 0x7f800000u ? 0x7fu : finite);
}

}  // namespace detail

/// IEEE binary16 as it lies in memory. Arithmetic happens in `float`: convert, compute, convert back.
struct f16 {
  std::uint16_t bits = 0;

  f16() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit f16(float value) : bits(detail::float_to_f16_bits(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION operator float() const { return detail::f16_bits_to_float(bits); }
};

/// bfloat16 (the upper half of a binary32) as it lies in memory. Arithmetic happens in `float`.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit bf16(float value) : bits(detail::float_to_bf16_bits(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION operator float() const { return detail::bf16_bits_to_float(bits); }
};

/// E4M3 of the OCP 8-bit Floating Point Specification (OFP8, revision 1.0) as it lies in memory: 4 bits of exponent and
/// 3 of fraction. It has no infinities, its NaNs are 0x7f and 0xff, and its largest number is 448. Only matrix products
/// take it. A `float` is rounded to nearest even in the specification's saturating mode, as the conversions of GPUs do:
/// larger numbers and infinity become 448 with their sign, and NaN becomes 0x7f.
struct f8_e4m3 {
  std::uint8_t bits = 0;

  f8_e4m3() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit f8_e4m3(float value) : bits(detail::float_to_f8_e4m3_bits(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION operator float() const { return detail::f8_e4m3_bits_to_float(bits); }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2 && sizeof(f8_e4m3) == 1);

/// The types of elements, for code that chooses one at run time. i32 and i64 are indices. u8 are the pixels of images,
/// which convert_images() reads; no other operation takes them.
enum class dtype : std::uint8_t { f32, f64, f16, bf16, f8_e4m3, i32, i64, u8 };

/// Facts of a scalar type that an array may hold.
template <class T>
struct scalar_traits;

template <>
struct scalar_traits<float> {
  static constexpr dtype type = dtype::f32;
  static constexpr std::string_view name = "f32";
  static constexpr int significand_bits = 24;
  using compute_type = float;
};
template <>
struct scalar_traits<double> {
  static constexpr dtype type = dtype::f64;
  static constexpr std::string_view name = "f64";
  static constexpr int significand_bits = 53;
  using compute_type = double;
};
template <>
struct scalar_traits<f16> {
  static constexpr dtype type = dtype::f16;
  static constexpr std::string_view name = "f16";
  static constexpr int significand_bits = 11;
  using compute_type = float;
};
template <>
struct scalar_traits<bf16> {
  static constexpr dtype type = dtype::bf16;
  static constexpr std::string_view name = "bf16";
  static constexpr int significand_bits = 8;
  using compute_type = float;
};
template <>
struct scalar_traits<f8_e4m3> {
  static constexpr dtype type = dtype::f8_e4m3;
  static constexpr std::string_view name = "f8_e4m3";
  static constexpr int significand_bits = 4;
  using compute_type = float;
};

/// The type in which values of T are computed: T itself, or `float` for types of 16 bits or fewer.
template <class T>
using compute_t = typename scalar_traits<std::remove_cv_t<T>>::compute_type;

/// Whether at least one operation takes arrays of T.
template <class T>
concept stored_scalar = requires { typename scalar_traits<std::remove_cv_t<T>>::compute_type; };

/// Whether T is one of the types that every operation takes.
template <class T>
concept scalar = stored_scalar<T> && !std::is_same_v<std::remove_cv_t<T>, f8_e4m3>;

/// The type of a product's result for inputs of T: T itself, and bf16 for f8, because four digits are too few for a
/// sum. bf16 has the range of f32, in which sums are computed, and half its bytes.
template <class T>
struct product_result {
  using type = T;
};
template <>
struct product_result<f8_e4m3> {
  using type = bf16;
};
template <class T>
using product_result_t = typename product_result<T>::type;

constexpr dtype product_result_type(dtype type) { return type == dtype::f8_e4m3 ? dtype::bf16 : type; }

/// Whether T is a type of indices: a signed integer of 4 or 8 bytes.
template <class T>
concept index_scalar = std::is_integral_v<T> && std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// Whether T is the type of pixels: a byte.
template <class T>
concept pixel_scalar = std::is_same_v<std::remove_cv_t<T>, std::uint8_t>;

/// Whether an array can have elements of T: numbers, indices, or pixels.
template <class T>
concept array_element = stored_scalar<T> || index_scalar<std::remove_cv_t<T>> || pixel_scalar<T>;

/// The name of a C++ type.
template <array_element T>
constexpr dtype dtype_of() {
  if constexpr (stored_scalar<T>) {
    return scalar_traits<std::remove_cv_t<T>>::type;
  } else if constexpr (pixel_scalar<T>) {
    return dtype::u8;
  } else {
    return sizeof(T) == 8 ? dtype::i64 : dtype::i32;
  }
}

/// Whether every operation takes arrays of the type: it is f32, f64, f16 or bf16.
constexpr bool is_scalar_type(dtype type) { return type <= dtype::bf16; }

/// The name of a type in results and options: `f32`, `f64`, `f16`, `bf16`, `f8_e4m3`, `i32`, `i64`, `u8`.
constexpr std::string_view dtype_name(dtype type) {
  switch (type) {
    case dtype::f32: return "f32";
    case dtype::f64: return "f64";
    case dtype::f16: return "f16";
    case dtype::bf16: return "bf16";
    case dtype::f8_e4m3: return "f8_e4m3";
    case dtype::i32: return "i32";
    case dtype::i64: return "i64";
    case dtype::u8: return "u8";
  }
  return "?";
}

/// Bytes of one value.
constexpr std::size_t dtype_size(dtype type) {
  switch (type) {
    case dtype::f64:
    case dtype::i64: return 8;
    case dtype::f32:
    case dtype::i32: return 4;
    case dtype::f16:
    case dtype::bf16: return 2;
    case dtype::f8_e4m3:
    case dtype::u8: break;
  }
  return 1;
}

/// Half the distance from 1 to the next value of T: the largest relative error of one rounding.
template <class T>
constexpr double unit_roundoff() {
  double value = 1;
  for (int bit = 0; bit < scalar_traits<std::remove_cv_t<T>>::significand_bits; ++bit) value /= 2;
  return value;
}

}  // namespace prumo
