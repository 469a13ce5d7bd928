// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Numbers that a host computes with one instruction. A formula that is a template over its type of numbers is computed
/// on them by the same source as on single numbers, and no compiler has to find out that its loop can be vectorised.
///
/// GCC, Clang and nvcc have vectors of any width as types of the language, with operators. Fused multiply-adds and
/// square roots are functions that are built into compilers: users' programs include this file, and the header of
/// intrinsics would bring them two thousand macros.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/math_constants.hpp>
#include <prumo/types.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_fma) && __has_builtin(__builtin_elementwise_sqrt)
#define PRUMO_HAS_ELEMENTWISE_BUILTINS
#endif
#endif

PRUMO_BEGIN_PRECISE

namespace prumo {
inline namespace PRUMO_INSTRUCTION_SET {

/// Bytes of a vector register.
#if defined(__AVX512F__)
inline constexpr std::size_t simd_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t simd_bytes = 32;
#else
inline constexpr std::size_t simd_bytes = 16;
#endif

/// Whether loops may keep more than sixteen registers.
#if defined(__AVX512F__) || (defined(__ARM_NEON) && defined(__aarch64__))
inline constexpr bool simd_has_many_registers = true;
#else
inline constexpr bool simd_has_many_registers = false;
#endif

/// Neighbouring numbers of T in a vector register. Of `float` and `double` these fill the register. Of any other type
/// there is one.
template <class T>
class simd {
 public:
  static constexpr int lanes = 1;

  simd() = default;
  simd(const T& single) : value_(single) {}  // NOLINT(google-explicit-constructor): as for vectors below

  static simd load(const T* from) { return *from; }
  void store(T* to) const { *to = value_; }

  friend simd fma(const simd& a, const simd& b, const simd& c) { return fma(a.value_, b.value_, c.value_); }

 private:
  T value_;
};

/// What a comparison says of each lane. select() takes it.
template <class T>
struct simd_mask {
  using native = decltype(detail::vector_of<T, simd_bytes>{} < detail::vector_of<T, simd_bytes>{});
  native value;

  friend simd_mask operator&&(simd_mask a, simd_mask b) { return {a.value & b.value}; }
  friend simd_mask operator||(simd_mask a, simd_mask b) { return {a.value | b.value}; }
  friend simd_mask operator!(simd_mask a) { return {~a.value}; }
};

template <class T>
  requires std::is_floating_point_v<T>
class simd<T> {
 public:
  using native = detail::vector_of<T, simd_bytes>;
  using words = detail::vector_of<typename detail::math_constants<T>::word, simd_bytes>;
  using mask = simd_mask<T>;
  static constexpr int lanes = static_cast<int>(simd_bytes / sizeof(T));

  simd() = default;
  /// The number in every lane. Formulas mix numbers and vectors. The difference to a zero keeps the sign of -0.
  simd(T single) : value_(single - native{}) {}  // NOLINT(google-explicit-constructor)
  explicit simd(native value) : value_(value) {}

  native value() const { return value_; }

  /// Loads and stores from anywhere; half_conversions.hpp has those of 16-bit numbers.
  static simd load(const T* from) {
    simd result;
    std::memcpy(&result.value_, from, sizeof(native));
    return result;
  }
  void store(T* to) const { std::memcpy(to, &value_, sizeof(native)); }

  friend simd operator+(simd a, simd b) { return simd(a.value_ + b.value_); }
  friend simd operator-(simd a, simd b) { return simd(a.value_ - b.value_); }
  friend simd operator*(simd a, simd b) { return simd(a.value_ * b.value_); }
  friend simd operator/(simd a, simd b) { return simd(a.value_ / b.value_); }
  friend simd operator-(simd a) { return simd(-a.value_); }
  simd& operator+=(simd other) { return *this = *this + other; }
  simd& operator-=(simd other) { return *this = *this - other; }
  simd& operator*=(simd other) { return *this = *this * other; }
  simd& operator/=(simd other) { return *this = *this / other; }

  friend mask operator<(simd a, simd b) { return {a.value_ < b.value_}; }
  friend mask operator>(simd a, simd b) { return {a.value_ > b.value_}; }
  friend mask operator<=(simd a, simd b) { return {a.value_ <= b.value_}; }
  friend mask operator>=(simd a, simd b) { return {a.value_ >= b.value_}; }
  friend mask operator==(simd a, simd b) { return {a.value_ == b.value_}; }
  friend mask operator!=(simd a, simd b) { return {a.value_ != b.value_}; }

 private:
  native value_;
};

/// The lanes of `a` where the condition holds, and those of `b` elsewhere.
template <class T>
[[gnu::always_inline]] inline simd<T> select(simd_mask<T> condition, std::type_identity_t<simd<T>> a,
                                             std::type_identity_t<simd<T>> b) {
  return simd<T>(condition.value ? a.value() : b.value());
}

/// The lanes First, First + 2, ... of `a`, and those of `b` behind them.
template <int First, class T>
[[gnu::always_inline]] inline simd<T> every_second_lane(simd<T> a, simd<T> b) {
  using words = typename simd<T>::words;
  using word = typename detail::math_constants<T>::word;
  return [&]<std::size_t... At>(std::index_sequence<At...>) {
    const words chosen = detail::shuffle<word>(std::bit_cast<words>(a.value()), std::bit_cast<words>(b.value()),
                                               std::index_sequence<(2 * At + First)...>());
    return simd<T>(std::bit_cast<typename simd<T>::native>(chosen));
  }(std::make_index_sequence<static_cast<std::size_t>(simd<T>::lanes)>());
}

/// `a` where it is less, or greater, than `b`, and `b` elsewhere: also where one of them is a NaN. Processors have an
/// instruction for it. GCC does not find it, and takes two instead of a built-in function for it.
#if defined(__clang__) || !defined(__SSE2__)
#define PRUMO_SIMD_CHOICE(instruction, comparison) \
  return simd<T>(a.value() comparison b.value() ? a.value() : b.value())
#elif defined(__AVX__)
#define PRUMO_SIMD_CHOICE(instruction, comparison)                                                     \
  typename simd<T>::native chosen;                                                                     \
  if constexpr (std::is_same_v<T, float>) {                                                            \
    asm("v" instruction "ps {%2, %1, %0|%0, %1, %2}" : "=v"(chosen) : "v"(a.value()), "v"(b.value())); \
  } else {                                                                                             \
    asm("v" instruction "pd {%2, %1, %0|%0, %1, %2}" : "=v"(chosen) : "v"(a.value()), "v"(b.value())); \
  }                                                                                                    \
  return simd<T>(chosen)
#else
#define PRUMO_SIMD_CHOICE(instruction, comparison)                         \
  typename simd<T>::native chosen = a.value();                             \
  if constexpr (std::is_same_v<T, float>) {                                \
    asm(instruction "ps {%1, %0|%0, %1}" : "+x"(chosen) : "x"(b.value())); \
  } else {                                                                 \
    asm(instruction "pd {%1, %0|%0, %1}" : "+x"(chosen) : "x"(b.value())); \
  }                                                                        \
  return simd<T>(chosen)
#endif
template <class T>
[[gnu::always_inline]] inline simd<T> lesser_or_second(simd<T> a, simd<T> b) {
  PRUMO_SIMD_CHOICE("min", <);
}
template <class T>
[[gnu::always_inline]] inline simd<T> greater_or_second(simd<T> a, simd<T> b) {
  PRUMO_SIMD_CHOICE("max", >);
}
#undef PRUMO_SIMD_CHOICE

// Built-in functions of GCC and old versions of Clang for a register of each width.
#if defined(PRUMO_HAS_ELEMENTWISE_BUILTINS)
#define PRUMO_SIMD_FMA(type, ...) __builtin_elementwise_fma(__VA_ARGS__)
#define PRUMO_SIMD_SQRT(type, x) __builtin_elementwise_sqrt(x)
#elif defined(__AVX512F__)
#define PRUMO_SIMD_FMA(type, ...) \
  __builtin_ia32_vfmaddp##type##512_mask(__VA_ARGS__, all_lanes_##type, current_rounding)
#if defined(__clang__)
#define PRUMO_SIMD_SQRT(type, x) __builtin_ia32_sqrtp##type##512(x, current_rounding)
#else
#define PRUMO_SIMD_SQRT(type, x) __builtin_ia32_sqrtp##type##512_mask(x, x, all_lanes, current_rounding)
#endif
#elif defined(__AVX__)
#define PRUMO_SIMD_FMA(type, ...) __builtin_ia32_vfmaddp##type##256(__VA_ARGS__)
#define PRUMO_SIMD_SQRT(type, x) __builtin_ia32_sqrtp##type##256(x)
#elif defined(__SSE2__)
#define PRUMO_SIMD_SQRT(type, x) __builtin_ia32_sqrtp##type(x)
#endif
#if defined(__AVX512F__)
inline constexpr int all_lanes = -1, current_rounding = 4;
inline constexpr int all_lanes_s = -1;  // nvcc takes this mask for signed, and the next one for unsigned
inline constexpr unsigned char all_lanes_d = 0xff;
#endif

/// a * b + c. It is rounded once if the processor has a fused multiply-add, and twice otherwise.
template <class T>
  requires std::is_floating_point_v<T>
[[gnu::always_inline]] inline simd<T> fma(simd<T> a, simd<T> b, simd<T> c) {
#if defined(__FMA__) || (defined(__aarch64__) && defined(PRUMO_HAS_ELEMENTWISE_BUILTINS))
  if constexpr (std::is_same_v<T, float>) {
    return simd<T>(PRUMO_SIMD_FMA(s, a.value(), b.value(), c.value()));
  } else {
    return simd<T>(PRUMO_SIMD_FMA(d, a.value(), b.value(), c.value()));
  }
#elif defined(__aarch64__)
  typename simd<T>::native sum = c.value();
  if constexpr (std::is_same_v<T, float>) {
    asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(a.value()), "w"(b.value()));
  } else {
    asm("fmla %0.2d, %1.2d, %2.2d" : "+w"(sum) : "w"(a.value()), "w"(b.value()));
  }
  return simd<T>(sum);
#else
  return a * b + c;
#endif
}

/// The square root, correctly rounded.
template <class T>
  requires std::is_floating_point_v<T>
[[gnu::always_inline]] inline simd<T> sqrt(simd<T> x) {
#if defined(PRUMO_SIMD_SQRT)
  if constexpr (std::is_same_v<T, float>) {
    return simd<T>(PRUMO_SIMD_SQRT(s, x.value()));
  } else {
    return simd<T>(PRUMO_SIMD_SQRT(d, x.value()));
  }
#elif defined(__aarch64__)
  typename simd<T>::native root;
  if constexpr (std::is_same_v<T, float>) {
    asm("fsqrt %0.4s, %1.4s" : "=w"(root) : "w"(x.value()));
  } else {
    asm("fsqrt %0.2d, %1.2d" : "=w"(root) : "w"(x.value()));
  }
  return simd<T>(root);
#else
  typename simd<T>::native root = x.value();
  for (int lane = 0; lane < simd<T>::lanes; ++lane) root[lane] = std::sqrt(root[lane]);
  return simd<T>(root);
#endif
}

/// a / b, with an error of at most a unit in the last place. This holds where b and 1 / b are normal numbers, and the
/// quotient is not subnormal. Intel's processors take 16 cycles for a division of sixteen floats. An approximate
/// reciprocal, a step of Newton's method and a correction take half of that. AMD's processors divide as fast as they do
/// this.
[[gnu::always_inline]] inline simd<float> close_quotient(simd<float> a, simd<float> b) {
#if defined(__AVX512F__)
  if constexpr (!detail::compiled_for_zen) {
    constexpr unsigned short every_lane = 0xffff;
    const simd<float> start(__builtin_ia32_rcp14ps512_mask(b.value(), simd<float>::native{}, every_lane));
    const simd<float> inverse = start * fma(-b, start, simd<float>(2)), quotient = a * inverse;
    // What is too much is subtracted: what is too little, added, would make +0 of a quotient of -0.
    return fma(-fma(b, quotient, -a), inverse, quotient);
  }
#endif
  return a / b;
}
[[gnu::always_inline]] inline float close_quotient(float a, float b) { return a / b; }

#undef PRUMO_SIMD_FMA
#undef PRUMO_SIMD_SQRT
#undef PRUMO_HAS_ELEMENTWISE_BUILTINS

}  // namespace PRUMO_INSTRUCTION_SET

namespace detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The bits of each lane, and the lanes with these bits.
template <class T>
[[gnu::always_inline]] inline typename simd<T>::words bits_of(simd<T> x) {
  return reinterpret_cast<typename simd<T>::words>(x.value());
}
[[gnu::always_inline]] inline simd<float> from_bits(simd<float>::words bits) {
  return simd<float>(reinterpret_cast<simd<float>::native>(bits));
}
[[gnu::always_inline]] inline simd<double> from_bits(simd<double>::words bits) {
  return simd<double>(reinterpret_cast<simd<double>::native>(bits));
}

/// The magnitude, which is not negative, with the sign of x.
template <class T>
[[gnu::always_inline]] inline simd<T> with_sign_of(simd<T> x, simd<T> magnitude) {
  return from_bits(bits_of(magnitude) | (bits_of(x) & bits_of(simd<T>(T(-0.0)))));
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace detail

/// |x|.
template <class T>
[[gnu::always_inline]] inline simd<T> abs(simd<T> x) {
  return detail::from_bits(detail::bits_of(x) & ~detail::bits_of(simd<T>(T(-0.0))));
}

template <class T>
struct plain_scalar<simd<T>> {
  using type = T;
};

namespace detail {
template <class V>
inline constexpr bool is_simd = false;
template <class T>
inline constexpr bool is_simd<simd<T>> = true;

/// Whether functions that are for devices, too, can be called with vectors: not while code of devices is compiled,
/// because nvcc refuses vectors in it.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
inline constexpr bool can_compute_vectors = false;
#else
inline constexpr bool can_compute_vectors = true;
#endif

/// Numbers in vector registers.
template <class V>
concept vector = is_simd<V>;
/// `float`, `double`, or a vector of them.
template <class V>
concept real = std::is_floating_point_v<V> || is_simd<V>;
}  // namespace detail

}  // namespace prumo

PRUMO_END_PRECISE
