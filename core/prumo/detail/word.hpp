// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Elements as words: what only moves them is compiled once a size, not once a type, and keeps every bit, also of NaN.

#include <prumo/array.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// The unsigned integer of as many bytes as a T has.
template <class T>
using word_of =
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

/// The same elements as words.
template <class T>
auto words_of(const array<T>& elements) {
  using word = std::conditional_t<std::is_const_v<T>, const word_of<T>, word_of<T>>;
  array<word> words;
  words.data = reinterpret_cast<word*>(elements.data);
  words.rank = elements.rank;
  for (int dimension = 0; dimension < elements.rank; ++dimension) {
    words.extents[dimension] = elements.extents[dimension];
    words.strides[dimension] = elements.strides[dimension];
  }
  return words;
}

}  // namespace prumo::detail
