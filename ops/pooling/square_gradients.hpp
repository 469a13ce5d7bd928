// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of a row of squares of two by two, which most nets have, on a host. Vectors hold neighbouring squares.

#include "pooling_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/number_runs.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/math_constants.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The two rows of x and of dx that a row of squares covers, and its gradients. In each row numbers lie side by side.
/// The rows of x are not read for means, and may be any.
template <class T>
struct square_row {
  const T *above, *below, *dy;
  T *upper, *lower;

  square_row from(std::int64_t square) const {
    const std::int64_t place = 2 * square;
    return {above + place, below + place, dy + square, upper + place, lower + place};
  }
};

/// As many squares as a vector of `Bytes` bytes has lanes. The vector may be a part of a register, because the rows of
/// many nets are shorter than a register.
template <pooling_kind Kind, class C, std::size_t Bytes>
class squares_of_vector {
  using word = typename math_constants<C>::word;
  using numbers = vector_of<C, Bytes>;
  using words = vector_of<word, Bytes>;

 public:
  static constexpr std::int64_t lanes = static_cast<std::int64_t>(Bytes / sizeof(C));

  [[gnu::always_inline]] static void hand_out(const square_row<C>& row) {
    if constexpr (Kind == pooling_kind::maximum) {
      const auto gradients = std::bit_cast<words>(load(row.dy));
      const numbers of_above[2] = {load(row.above), load(row.above + lanes)};
      const numbers of_below[2] = {load(row.below), load(row.below + lanes)};
      // The first of the largest values has its gradient, and the others have 0.
      numbers largest = every_second<0>(of_above);
      const words second = take_larger(every_second<1>(of_above), largest);
      const words third = take_larger(every_second<0>(of_below), largest);
      const words fourth = take_larger(every_second<1>(of_below), largest);
      const words of_three = gradients & ~fourth, of_two = of_three & ~third;
      store_in_turns(of_two & ~second, of_two & second, row.upper);
      store_in_turns(of_three & third, gradients & fourth, row.lower);
    } else {
      const numbers means = load(row.dy) / C(4);
      const auto parts = std::bit_cast<words>(means);
      store_in_turns(parts, parts, row.upper);
      store_in_turns(parts, parts, row.lower);
    }
  }

 private:
  [[gnu::always_inline]] static numbers load(const C* from) {
    numbers result;
    std::memcpy(&result, from, Bytes);
    return result;
  }

  template <std::size_t First>
  [[gnu::always_inline]] static numbers every_second(const numbers (&neighbours)[2]) {
    return [&]<std::size_t... At>(std::index_sequence<At...>) {
      const words chosen = shuffle<word>(std::bit_cast<words>(neighbours[0]), std::bit_cast<words>(neighbours[1]),
                                         std::index_sequence<(2 * At + First)...>());
      return std::bit_cast<numbers>(chosen);
    }(std::make_index_sequence<static_cast<std::size_t>(lanes)>());
  }

  /// is_larger_or_nan() of each lane, as words of ones or zeros. Where it holds the value becomes the largest one.
  [[gnu::always_inline]] static words take_larger(numbers values, numbers& largest) {
    const auto takes = ~(values <= largest) & (largest == largest);  // NOLINT(misc-redundant-expression)
    largest = takes ? values : largest;
    return std::bit_cast<words>(takes);
  }

  /// A word of `first`, one of `second`, and so on.
  [[gnu::always_inline]] static void store_in_turns(words first, words second, C* to) {
    constexpr auto count = static_cast<std::size_t>(lanes);
    [&]<std::size_t... At>(std::index_sequence<At...>) {
      const words begin = shuffle<word>(first, second, std::index_sequence<(At / 2 + At % 2 * count)...>());
      const words end = shuffle<word>(first, second, std::index_sequence<(count / 2 + At / 2 + At % 2 * count)...>());
      std::memcpy(to, &begin, Bytes);
      std::memcpy(to + lanes, &end, Bytes);
    }(std::make_index_sequence<count>());
  }
};

/// The gradients of `count` squares. The last vector repeats squares of the one before it. Rows that are shorter than
/// the smallest vector are copied.
template <pooling_kind Kind, class C, std::size_t Bytes = simd_bytes>
  requires(std::is_floating_point_v<C>)
void hand_out_in_vectors(const square_row<C>& row, std::int64_t count) {
  using squares = squares_of_vector<Kind, C, Bytes>;
  constexpr std::int64_t lanes = squares::lanes;
  constexpr std::size_t smallest = 16;
  if (count >= lanes) {
    for (std::int64_t j = 0; j < count; j += lanes) squares::hand_out(row.from(std::min(j, count - lanes)));
  } else if constexpr (Bytes > smallest) {
    hand_out_in_vectors<Kind, C, Bytes / 2>(row, count);
  } else {
    C above[2 * lanes] = {}, below[2 * lanes] = {}, dy[lanes] = {}, upper[2 * lanes], lower[2 * lanes];
    std::copy_n(row.dy, count, dy);
    if constexpr (Kind == pooling_kind::maximum) {
      std::copy_n(row.above, 2 * count, above);
      std::copy_n(row.below, 2 * count, below);
    }
    squares::hand_out({above, below, dy, upper, lower});
    std::copy_n(upper, 2 * count, row.upper);
    std::copy_n(lower, 2 * count, row.lower);
  }
}

/// The same of 16-bit numbers, which are computed as floats.
template <pooling_kind Kind, class T>
  requires(!std::is_floating_point_v<T>)
void hand_out_in_vectors(const square_row<T>& row, std::int64_t count) {
  constexpr std::int64_t at_once = 64;
  float above[2 * at_once], below[2 * at_once], dy[at_once], upper[2 * at_once], lower[2 * at_once];
  for (std::int64_t begin = 0; begin < count; begin += at_once) {
    const square_row<T> some = row.from(begin);
    const std::int64_t squares = std::min(at_once, count - begin);
    copy_run(some.dy, squares, dy);
    if constexpr (Kind == pooling_kind::maximum) {
      copy_run(some.above, 2 * squares, above);
      copy_run(some.below, 2 * squares, below);
    }
    hand_out_in_vectors<Kind, float>({above, below, dy, upper, lower}, squares);
    round_run(upper, 2 * squares, some.upper);
    round_run(lower, 2 * squares, some.lower);
  }
}

/// The gradients of `count` squares. Compilers make good code of a short row of means.
template <pooling_kind Kind, class T>
void hand_out_squares(const square_row<T>& row, std::int64_t count) {
  if constexpr (Kind == pooling_kind::maximum) {
    hand_out_in_vectors<Kind>(row, count);
  } else {
    using C = compute_t<T>;
    if (count >= simd<C>::lanes) return hand_out_in_vectors<Kind>(row, count);
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t j = 0; j < count; ++j) {
      const T part = static_cast<T>(static_cast<C>(row.dy[j]) / C(4));
      row.upper[2 * j] = row.upper[2 * j + 1] = row.lower[2 * j] = row.lower[2 * j + 1] = part;
    }
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
