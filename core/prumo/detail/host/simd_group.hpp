// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Several vector registers that a formula computes on at once. Each step is done for all of them before the next one.
/// A processor finds independent instructions only among those that it has fetched and that still wait for operands: on
/// current Intel processors these are about a hundred. A formula of thirty instructions that each need the one before
/// fills this room with two or three vectors, and its arithmetic units are idle for half of the time. If the
/// instructions of several vectors take turns, neighbours in the program are independent. A constant is also loaded
/// once for all of them.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

PRUMO_BEGIN_PRECISE

namespace prumo {
inline namespace PRUMO_INSTRUCTION_SET {

/// One value for each of several registers: bits, or what a comparison says of the lanes.
template <class Each, int Registers>
struct register_group {
  static constexpr int registers = Registers;
  Each of[static_cast<std::size_t>(Registers)];
};

/// The numbers of several registers, which formulas treat like those of one.
template <class T, int Registers>
class simd_group {
 public:
  static constexpr int registers = Registers;
  static constexpr int lanes = Registers * simd<T>::lanes;

  simd_group() = default;
  /// The number in every lane. Formulas mix numbers and vectors.
  simd_group(T single) {  // NOLINT(google-explicit-constructor)
    for (auto& each : of) each = simd<T>(single);
  }
  template <class... Each>
    requires(sizeof...(Each) == static_cast<std::size_t>(Registers) && (std::is_same_v<Each, simd<T>> && ...))
  simd_group(Each... each) : of{each...} {}

  simd<T> of[static_cast<std::size_t>(Registers)];
};

}  // namespace PRUMO_INSTRUCTION_SET

namespace detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class Each, int Registers>
struct group_type {
  using type = register_group<Each, Registers>;
};
template <class T, int Registers>
struct group_type<simd<T>, Registers> {
  using type = simd_group<T, Registers>;
};

template <class G>
inline constexpr bool is_group = false;
template <class Each, int Registers>
inline constexpr bool is_group<register_group<Each, Registers>> = true;
template <class T, int Registers>
inline constexpr bool is_group<simd_group<T, Registers>> = true;

/// The member of a group for a register, or a number that is the same for all of them.
template <class G>
[[gnu::always_inline]] inline auto member(const G& group, int which) {
  if constexpr (is_group<G>) {
    return group.of[which];
  } else {
    return group;
  }
}

/// The group of function(members...) for each register.
template <int Registers, class Function, class... Groups>
[[gnu::always_inline]] inline auto for_each_member(const Function& function, const Groups&... groups) {
  using each = decltype(function(member(groups, 0)...));
  typename group_type<each, Registers>::type results;
  PRUMO_UNROLL
  for (int i = 0; i < Registers; ++i) results.of[i] = function(member(groups, i)...);
  return results;
}

template <class A, class B>
inline constexpr int registers_of_either = [] {
  if constexpr (is_group<A>) {
    return A::registers;
  } else {
    return B::registers;
  }
}();

#if defined(__AVX512F__)
#define PRUMO_VECTOR_OPERAND "+v"
#elif defined(__SSE2__)
#define PRUMO_VECTOR_OPERAND "+x"
#elif defined(__aarch64__)
#define PRUMO_VECTOR_OPERAND "+w"
#endif
/// The same group. It makes compilers finish a step for all registers before the next step begins. Otherwise they take
/// one register through several steps, then the next one, and load the constants again for each. With AVX2,
/// Clang 21 then takes 10 to 30 % more time for most formulas, GCC 16 up to 15 % more.
template <class T, int Registers>
[[gnu::always_inline]] inline simd_group<T, Registers> in_step(const simd_group<T, Registers>& group) {
#if defined(PRUMO_VECTOR_OPERAND)
  if constexpr (Registers == 2 || Registers == 4) {
    auto first = group.of[0].value(), second = group.of[1].value();
    if constexpr (Registers == 2) {
      asm("" : PRUMO_VECTOR_OPERAND(first), PRUMO_VECTOR_OPERAND(second));
      return {simd<T>(first), simd<T>(second)};
    } else {
      auto third = group.of[2].value(), fourth = group.of[3].value();
      asm(""
          : PRUMO_VECTOR_OPERAND(first), PRUMO_VECTOR_OPERAND(second), PRUMO_VECTOR_OPERAND(third),
            PRUMO_VECTOR_OPERAND(fourth));
      return {simd<T>(first), simd<T>(second), simd<T>(third), simd<T>(fourth)};
    }
  }
#endif
  return group;
}

/// The same numbers. Where two branches meet, GCC 16 puts a group into memory and reads it back. With this it does not.
template <class V>
[[gnu::always_inline]] inline V in_registers(const V& numbers) {
  if constexpr (is_group<V>) {
    return in_step(numbers);
  } else {
    return numbers;
  }
}

/// The same register. Compilers store to `before` ahead of what is made of it.
template <class T, class Memory>
[[gnu::always_inline]] inline simd<T> after_store(simd<T> x, [[maybe_unused]] const Memory& before) {
#if defined(PRUMO_VECTOR_OPERAND)
  auto value = x.value();
  asm("" : PRUMO_VECTOR_OPERAND(value) : "m"(before));
  return simd<T>(value);
#else
  return x;
#endif
}

#undef PRUMO_VECTOR_OPERAND

/// Two groups, or a group and a number.
template <class A, class B>
concept operands_of_group = (is_group<A> && is_group<B>) || (is_group<A> && std::is_arithmetic_v<B>) ||
                            (std::is_arithmetic_v<A> && is_group<B>);

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace detail

inline namespace PRUMO_INSTRUCTION_SET {

#define PRUMO_GROUP_OPERATOR(symbol)                                           \
  template <class A, class B>                                                  \
    requires detail::operands_of_group<A, B>                                   \
  [[gnu::always_inline]] inline auto operator symbol(const A& a, const B& b) { \
    return detail::for_each_member<detail::registers_of_either<A, B>>(         \
        [](auto x, auto y) PRUMO_ALWAYS_INLINE { return x symbol y; }, a, b);  \
  }
PRUMO_GROUP_OPERATOR(+)
PRUMO_GROUP_OPERATOR(-)
PRUMO_GROUP_OPERATOR(*)
PRUMO_GROUP_OPERATOR(/)
PRUMO_GROUP_OPERATOR(<)
PRUMO_GROUP_OPERATOR(>)
PRUMO_GROUP_OPERATOR(<=)
PRUMO_GROUP_OPERATOR(>=)
PRUMO_GROUP_OPERATOR(==)
PRUMO_GROUP_OPERATOR(!=)
PRUMO_GROUP_OPERATOR(&&)
PRUMO_GROUP_OPERATOR(||)
PRUMO_GROUP_OPERATOR(&)
PRUMO_GROUP_OPERATOR(|)
PRUMO_GROUP_OPERATOR(<<)
PRUMO_GROUP_OPERATOR(>>)
#undef PRUMO_GROUP_OPERATOR

#define PRUMO_GROUP_ASSIGNMENT(symbol)                                        \
  template <class T, int Registers, class B>                                  \
    requires detail::operands_of_group<simd_group<T, Registers>, B>           \
  [[gnu::always_inline]] inline simd_group<T, Registers>& operator symbol## = \
      (simd_group<T, Registers> & a, const B& b) {                            \
    return a = a symbol b;                                                    \
  }
PRUMO_GROUP_ASSIGNMENT(+)
PRUMO_GROUP_ASSIGNMENT(-)
PRUMO_GROUP_ASSIGNMENT(*)
PRUMO_GROUP_ASSIGNMENT(/)
#undef PRUMO_GROUP_ASSIGNMENT

template <class T, int Registers>
[[gnu::always_inline]] inline auto operator-(const simd_group<T, Registers>& a) {
  return detail::for_each_member<Registers>([](simd<T> x) PRUMO_ALWAYS_INLINE { return -x; }, a);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto operator!(const register_group<simd_mask<T>, Registers>& a) {
  return detail::for_each_member<Registers>([](simd_mask<T> x) PRUMO_ALWAYS_INLINE { return !x; }, a);
}

// The functions of simd.hpp.

template <class T, int Registers>
[[gnu::always_inline]] inline auto select(const register_group<simd_mask<T>, Registers>& condition,
                                          const std::type_identity_t<simd_group<T, Registers>>& a,
                                          const std::type_identity_t<simd_group<T, Registers>>& b) {
  return detail::for_each_member<Registers>([](simd_mask<T> is, simd<T> x, simd<T> y)
                                                PRUMO_ALWAYS_INLINE { return prumo::select(is, x, y); },
                                            condition, a, b);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto lesser_or_second(const simd_group<T, Registers>& a,
                                                    const simd_group<T, Registers>& b) {
  return detail::for_each_member<Registers>(
      [](simd<T> x, simd<T> y) PRUMO_ALWAYS_INLINE { return lesser_or_second(x, y); }, a, b);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto greater_or_second(const simd_group<T, Registers>& a,
                                                     const simd_group<T, Registers>& b) {
  return detail::for_each_member<Registers>(
      [](simd<T> x, simd<T> y) PRUMO_ALWAYS_INLINE { return greater_or_second(x, y); }, a, b);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto fma(const simd_group<T, Registers>& a, const simd_group<T, Registers>& b,
                                       const simd_group<T, Registers>& c) {
  return detail::in_step(detail::for_each_member<Registers>(
      [](simd<T> x, simd<T> y, simd<T> z) PRUMO_ALWAYS_INLINE { return fma(x, y, z); }, a, b, c));
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto sqrt(const simd_group<T, Registers>& x) {
  return detail::for_each_member<Registers>([](simd<T> each) PRUMO_ALWAYS_INLINE { return prumo::sqrt(each); }, x);
}
template <int Registers>
[[gnu::always_inline]] inline auto close_quotient(const simd_group<float, Registers>& a,
                                                  const simd_group<float, Registers>& b) {
  return detail::for_each_member<Registers>(
      [](simd<float> x, simd<float> y) PRUMO_ALWAYS_INLINE { return close_quotient(x, y); }, a, b);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto abs(const simd_group<T, Registers>& x) {
  return detail::for_each_member<Registers>([](simd<T> each) PRUMO_ALWAYS_INLINE { return prumo::abs(each); }, x);
}

}  // namespace PRUMO_INSTRUCTION_SET

template <class T, int Registers>
struct plain_scalar<simd_group<T, Registers>> {
  using type = T;
};

namespace detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class T, int Registers>
[[gnu::always_inline]] inline auto bits_of(const simd_group<T, Registers>& x) {
  return for_each_member<Registers>([](simd<T> each) PRUMO_ALWAYS_INLINE { return bits_of(each); }, x);
}
template <class Words, int Registers>
[[gnu::always_inline]] inline auto from_bits(const register_group<Words, Registers>& bits) {
  return for_each_member<Registers>([](Words each) PRUMO_ALWAYS_INLINE { return from_bits(each); }, bits);
}
template <class T, int Registers>
[[gnu::always_inline]] inline auto with_sign_of(const simd_group<T, Registers>& x,
                                                const simd_group<T, Registers>& magnitude) {
  return for_each_member<Registers>(
      [](simd<T> sign, simd<T> each) PRUMO_ALWAYS_INLINE { return with_sign_of(sign, each); }, x, magnitude);
}

}  // namespace PRUMO_INSTRUCTION_SET

template <class T, int Registers>
inline constexpr bool is_simd<simd_group<T, Registers>> = true;

}  // namespace detail
}  // namespace prumo

PRUMO_END_PRECISE
