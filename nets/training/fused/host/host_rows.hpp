// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of numbers that the layers of a host load, sum and store with vectors.

#include "fused/layers/convolution_tiles.hpp"
#include "host_sums.hpp"
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/math_constants.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C>
[[gnu::always_inline]] inline simd<C> slopes_of(activation function, simd<C> y) {
  switch (function) {
    case activation::relu: return prumo::select(y > simd<C>(C(0)), simd<C>(C(1)), simd<C>(C(0)));
    case activation::sigmoid: return prumo::fma(-y, y, y);
    case activation::tanh: return prumo::fma(-y, y, simd<C>(C(1)));
    default: return simd<C>(C(1));
  }
}

/// Stores the first `count` lanes.
template <class C>
[[gnu::always_inline]] inline void store_lanes(simd<C> value, C* to, int count) {
  if (count >= simd<C>::lanes) {
    value.store(to);
    return;
  }
  C lanes[simd<C>::lanes];
  value.store(lanes);
  for (int i = 0; i < count; ++i) to[i] = lanes[i];
}

/// Stores the first `count` lanes of neighbouring vectors.
template <class C, std::size_t Vectors>
[[gnu::always_inline]] inline void store_row(const simd<C> (&values)[Vectors], C* to, int count) {
  constexpr int lanes = simd<C>::lanes;
  if (count >= static_cast<int>(Vectors) * lanes) {
    for (std::size_t v = 0; v < Vectors; ++v) values[v].store(to + v * lanes);
  } else {
    for (std::size_t v = 0; v < Vectors; ++v, to += lanes, count -= lanes) store_lanes(values[v], to, count);
  }
}

/// The first `count` lanes of the numbers at `from`, and zeros.
template <class C>
[[gnu::always_inline]] inline simd<C> load_lanes(const C* from, int count) {
  if (count >= simd<C>::lanes) return simd<C>::load(from);
  C lanes[simd<C>::lanes] = {};
  for (int i = 0; i < count; ++i) lanes[i] = from[i];
  return simd<C>::load(lanes);
}

/// The words of a mask of some lanes: as many zeros, ones and zeros again as a vector has lanes.
template <class C>
struct lane_masks {
  static constexpr int lanes = simd<C>::lanes;
  using word = typename detail::math_constants<C>::word;
  static constexpr std::array<word, std::size_t{3} * lanes> words = [] {
    std::array<word, std::size_t{3} * lanes> result{};
    for (int i = lanes; i < 2 * lanes; ++i) result[static_cast<std::size_t>(i)] = ~word{0};
    return result;
  }();
  [[gnu::always_inline]] static simd<C> keep(simd<C> value, int first_word) {
    typename simd<C>::words mask;
    std::memcpy(&mask, words.data() + first_word, sizeof(mask));
    return detail::from_bits(detail::bits_of(value) & mask);
  }
};

/// The first `count` lanes, fewer than there are, and zeros.
template <class C>
[[gnu::always_inline]] inline simd<C> first_lanes(simd<C> value, int count) {
  return lane_masks<C>::keep(value, 2 * simd<C>::lanes - count);
}
/// Zeros, and the last `count` lanes.
template <class C>
[[gnu::always_inline]] inline simd<C> last_lanes(simd<C> value, int count) {
  return lane_masks<C>::keep(value, count);
}

/// The first lanes, each `Times` times.
template <int Times, class C>
[[gnu::always_inline]] inline simd<C> repeated_lanes(simd<C> value) {
  using words = typename simd<C>::words;
  using word = typename detail::math_constants<C>::word;
  return [&]<std::size_t... At>(std::index_sequence<At...>) {
    const words all = detail::bits_of(value);
    return detail::from_bits(detail::shuffle<word>(all, all, std::index_sequence<(At / Times)...>()));
  }(std::make_index_sequence<static_cast<std::size_t>(simd<C>::lanes)>());
}

/// The first `count` lanes of the numbers at `from`, and zeros. A whole vector is read.
template <class C>
[[gnu::always_inline]] inline simd<C> load_first(const C* from, int count) {
  const simd<C> all = simd<C>::load(from);
  return count < simd<C>::lanes ? first_lanes(all, count) : all;
}

/// Copies neighbours. The last vector goes back to those before it.
template <class C>
[[gnu::always_inline]] inline void copy_row(const C* from, int count, C* to) {
  using vector = simd<C>;
  int i = 0;
  if (count < vector::lanes) {
    for (; i < count; ++i) to[i] = from[i];
    return;
  }
  for (; i + vector::lanes <= count; i += vector::lanes) vector::load(from + i).store(to + i);
  if (i < count) vector::load(from + count - vector::lanes).store(to + count - vector::lanes);
}

/// function(copy), where copy(from, to) is copy_row() of `count` neighbours. Short rows have a copy without a loop.
template <class C, class Function>
[[gnu::always_inline]] inline void with_copy_of_row(int count, const Function& function) {
  using vector = simd<C>;
  const auto copy_vectors = [&]<int Vectors>(std::integral_constant<int, Vectors>) PRUMO_ALWAYS_INLINE {
    const int last = count - vector::lanes;
    function([last](const C* from, C* to) PRUMO_ALWAYS_INLINE {
      PRUMO_UNROLL
      for (int v = 0; v + 1 < Vectors; ++v) vector::load(from + v * vector::lanes).store(to + v * vector::lanes);
      vector::load(from + last).store(to + last);
    });
  };
  switch (count < vector::lanes ? 0 : (count - 1) / vector::lanes + 1) {
    case 1: copy_vectors(std::integral_constant<int, 1>()); break;
    case 2: copy_vectors(std::integral_constant<int, 2>()); break;
    case 3: copy_vectors(std::integral_constant<int, 3>()); break;
    case 4: copy_vectors(std::integral_constant<int, 4>()); break;
    default: function([count](const C* from, C* to) PRUMO_ALWAYS_INLINE { copy_row(from, count, to); });
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
