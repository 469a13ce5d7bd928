// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The position of the first of the largest elements, found by one thread of a host in two passes over a stretch that
/// stays in the nearest cache.

#include "reduction_host_extremes.hpp"
#include "reduction_host_lanes.hpp"
#include <prumo/detail/word.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The first index with that key among 0 ... count - 1, of which there is one.
template <class Element>
std::int64_t find_key(Element wanted, std::int64_t count, const Element* keys) {
  constexpr std::int64_t at_once = 64, few = 8 * at_once;
  if (count < few) {
    // Without a branch that the data decide, and in a form that compilers vectorise.
    const auto length = static_cast<Element>(count);
    Element first = length;
    for (Element index = 0; index < length; ++index) {
      const Element candidate = keys[index] == wanted ? index : length;
      first = candidate < first ? candidate : first;
    }
    return first;
  }
  std::int64_t at = 0;
  for (; at + at_once <= count; at += at_once) {
    Element differing = 1;
    for (std::int64_t index = 0; index < at_once; ++index) {
      differing = static_cast<Element>(differing & (keys[at + index] != wanted ? 1 : 0));
    }
    if (differing == 0) break;
  }
  while (keys[at] != wanted) ++at;
  return at;
}

/// The first of the largest among 0 ... count - 1, in stretches that stay in the nearest cache: where a stretch holds a
/// larger one than those before, it is looked through once more. A load that has no address, `first`, is asked once for
/// each element.
template <class Joining, class Load>
typename Joining::accumulator find_in_stretches(const Joining& joining, std::int64_t count, const Load& load) {
  using element = typename Joining::element;
  constexpr std::int64_t stretch = 4096;
  typename Joining::accumulator found = joining.identity();
  if (count < short_rows::chained) {
    for (std::int64_t index = 0; index < count; ++index) {
      const element key = load(index);
      const bool is_larger = index == 0 || key > found.key;
      found.key = is_larger ? key : found.key;
      found.position = is_larger ? index : found.position;
    }
    return found;
  }
  for (std::int64_t begin = 0; begin < count; begin += stretch) {
    const std::int64_t length = std::min(stretch, count - begin);
    const auto find_largest = [&](const element* keys) {
      const element largest = reduce_in_lanes(largest_key<element>{}, length, neighbours<element>{keys});
      if (begin == 0 || largest > found.key) found = {largest, begin + find_key(largest, length, keys)};
    };
    if constexpr (requires { load.first; }) {
      find_largest(load.first + begin);
    } else {
      element keys[stretch];
      for (std::int64_t index = 0; index < length; ++index) keys[index] = load(begin + index);
      find_largest(keys);
    }
  }
  return found;
}

/// The elements that one value stands for, as words of memory: those with some bits, or all NaN.
template <class T>
struct equal_words {
  using word = word_of<T>;
  word mask, bits;

  /// Those equal to this one, zeros of either sign being equal.
  explicit equal_words(word of) {
    mask = static_cast<word>(of & magnitude) == 0 ? magnitude : static_cast<word>(~word{0});
    bits = static_cast<word>(of & mask);
  }
  bool contains(word other) const { return static_cast<word>(other & mask) == bits; }
  static bool nan(word other) { return static_cast<word>(other & magnitude) > number_extremes<T>::infinity; }

 private:
  static constexpr auto magnitude = static_cast<word>(~number_extremes<T>::sign);
};

/// The first word of which `wanted` is true among 0 ... count - 1, of which there is one.
template <class Word, class Wanted>
std::int64_t find_word(const Word* words, std::int64_t count, const Wanted& wanted) {
  constexpr std::int64_t at_once = 256;
  std::int64_t at = 0;
  for (; at + at_once <= count; at += at_once) {
    Word found = 0;
    for (std::int64_t index = 0; index < at_once; ++index) {
      found = static_cast<Word>(found | (wanted(words[at + index]) ? 1 : 0));
    }
    if (found != 0) break;
  }
  // Without a branch that the data decide, and in a form that compilers vectorise.
  const auto length = static_cast<Word>(std::min(at_once, count - at));
  Word first = length;
  for (Word index = 0; index < length; ++index) {
    const Word candidate = wanted(words[at + index]) ? index : length;
    first = candidate < first ? candidate : first;
  }
  return at + first;
}

/// The first of the largest of elements that lie one behind the other. The first pass finds the largest, and the second
/// pass, where it is needed, only compares words.
/// \param count how many elements there are: as many as a vector has lanes, or more
template <class Policy>
typename Policy::accumulator find_in_memory(const Policy& policy, const typename Policy::stored* first,
                                            std::int64_t count) {
  using stored = typename Policy::stored;
  using extremes = number_extremes<stored>;
  using word = typename extremes::word;
  constexpr std::int64_t stretch = 4096;
  const auto* const words = reinterpret_cast<const word*>(first);
  typename Policy::accumulator found = policy.identity();
  for (std::int64_t begin = 0; begin < count;) {
    // No stretch is shorter than a vector.
    const std::int64_t length = count - begin < stretch + extremes::lanes ? count - begin : stretch;
    const word* const here = words + begin;
    const extremes of_stretch(here, length);
    const bool has_nan = of_stretch.has_nan();
    const word number = has_nan ? of_stretch.nan() : policy.flipped == 0 ? of_stretch.largest() : of_stretch.smallest();
    const auto key = policy.lift(Kokkos::bit_cast<stored>(number));
    if (begin == 0 || key > found.key) {
      const equal_words<stored> equal(number);
      const std::int64_t position =
          has_nan ? find_word(here, length, [](word other) { return equal_words<stored>::nan(other); })
                  : find_word(here, length, [equal](word other) { return equal.contains(other); });
      found = {key, begin + position};
    }
    begin += length;
  }
  return found;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
