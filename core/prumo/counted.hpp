// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scalars that count. A kernel instantiated with `counted<T>` computes the same as with T. It also counts its
/// floating-point operations by kind, in the tally of the calling thread. Counting runs on the host, on one thread.
///
/// A call of a special function is one operation of its kind, however a device expands it. Negation, conversion,
/// absolute value, selection and moves are free. A division is one `div`, whatever it costs.

#include <prumo/types.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace prumo {

/// The kinds of operations. `compare` and `minmax` are counted, but are no flops.
enum class flop_kind : std::uint8_t { add, mul, fma, div, sqrt, exp, log, tanh, erf, sin, cos, pow, compare, minmax };

/// The number of kinds.
inline constexpr std::size_t flop_kind_count = 14;

/// The name of a kind in results. Subtraction counts as `add`.
constexpr std::string_view flop_kind_name(flop_kind kind) {
  constexpr std::string_view names[flop_kind_count] = {"add",  "mul", "fma", "div", "sqrt", "exp",     "log",
                                                       "tanh", "erf", "sin", "cos", "pow",  "compare", "minmax"};
  return names[static_cast<std::size_t>(kind)];
}

/// A tally of operations by kind.
struct flop_counts {
  std::array<std::uint64_t, flop_kind_count> tally{};

  constexpr std::uint64_t& operator[](flop_kind kind) { return tally[static_cast<std::size_t>(kind)]; }
  constexpr std::uint64_t operator[](flop_kind kind) const { return tally[static_cast<std::size_t>(kind)]; }

  /// Floating-point operations: add + mul + 2 fma + each division, square root and special function once.
  constexpr std::uint64_t total() const {
    std::uint64_t sum = (*this)[flop_kind::fma];
    for (std::size_t kind = 0; kind < flop_kind_count; ++kind) sum += tally[kind];
    return sum - (*this)[flop_kind::compare] - (*this)[flop_kind::minmax];
  }

  constexpr flop_counts& operator+=(const flop_counts& other) {
    for (std::size_t kind = 0; kind < flop_kind_count; ++kind) tally[kind] += other.tally[kind];
    return *this;
  }

  /// The tally of the same work done `times` times.
  constexpr flop_counts operator*(std::uint64_t times) const {
    flop_counts product = *this;
    for (std::uint64_t& count : product.tally) count *= times;
    return product;
  }

  friend constexpr bool operator==(const flop_counts&, const flop_counts&) = default;
};

namespace detail {
inline thread_local flop_counts* active_tally = nullptr;

inline void count(flop_kind kind) {
  if (active_tally != nullptr) ++(*active_tally)[kind];
}
}  // namespace detail

/// While it lives, operations on counted scalars in this thread are added to `counts`. Scopes nest.
class counting_scope {
 public:
  explicit counting_scope(flop_counts& counts) : previous_(detail::active_tally) { detail::active_tally = &counts; }
  ~counting_scope() { detail::active_tally = previous_; }
  counting_scope(const counting_scope&) = delete;
  counting_scope& operator=(const counting_scope&) = delete;

 private:
  flop_counts* previous_;
};

/// A scalar that behaves as T and counts.
template <class T>
class counted {
 public:
  counted() = default;
  constexpr counted(T initial) : value_(initial) {}  // implicit: kernels write C(1) and mix literals of type T
  template <class Number>
    requires std::is_arithmetic_v<Number>
  constexpr explicit counted(Number initial) : value_(static_cast<T>(initial)) {}

  /// The plain value.
  constexpr T value() const { return value_; }

  friend counted operator+(counted a, counted b) { return tallied(flop_kind::add, a.value_ + b.value_); }
  friend counted operator-(counted a, counted b) { return tallied(flop_kind::add, a.value_ - b.value_); }
  friend counted operator*(counted a, counted b) { return tallied(flop_kind::mul, a.value_ * b.value_); }
  friend counted operator/(counted a, counted b) { return tallied(flop_kind::div, a.value_ / b.value_); }
  counted& operator+=(counted other) { return *this = *this + other; }
  counted& operator-=(counted other) { return *this = *this - other; }
  counted& operator*=(counted other) { return *this = *this * other; }
  counted& operator/=(counted other) { return *this = *this / other; }
  friend counted operator-(counted a) { return counted(-a.value_); }

  friend bool operator<(counted a, counted b) { return compared(a.value_ < b.value_); }
  friend bool operator>(counted a, counted b) { return compared(a.value_ > b.value_); }
  friend bool operator<=(counted a, counted b) { return compared(a.value_ <= b.value_); }
  friend bool operator>=(counted a, counted b) { return compared(a.value_ >= b.value_); }
  friend bool operator==(counted a, counted b) { return compared(a.value_ == b.value_); }
  friend bool operator!=(counted a, counted b) { return compared(a.value_ != b.value_); }

  /// The result of one operation of `kind`.
  static counted tallied(flop_kind kind, T result) {
    detail::count(kind);
    return counted(result);
  }

 private:
  static bool compared(bool result) {
    detail::count(flop_kind::compare);
    return result;
  }

  T value_{};
};

template <class T>
struct scalar_traits<counted<T>> : scalar_traits<T> {
  using compute_type = counted<T>;
};

/// The plain type behind a scalar: T for counted<T>, and other types themselves.
template <class T>
struct plain_scalar {
  using type = T;
};
template <class T>
struct plain_scalar<counted<T>> {
  using type = T;
};
template <class T>
using plain_scalar_t = typename plain_scalar<T>::type;

}  // namespace prumo
