// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Elements as words. Code that only moves elements is compiled once for each size instead of each type, and keeps
/// every bit, also of NaN. Sources that load or store such words are named by prumo_elements_as_words() in their
/// CMakeLists.txt, so that the compiler knows that elements of other types lie there. bit_cast turns a single element
/// into a word.

#include <prumo/context_ref.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// The unsigned integer that has the size of a T.
template <class T>
using word_of =
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

/// Calls `visit.template operator()<Word>()` for the word of elements of a type that every operation takes.
template <class Visitor>
void with_word(dtype type, const Visitor& visit) {
  switch (dtype_size(type)) {
    case 8: return visit.template operator()<std::uint64_t>();
    case 4: return visit.template operator()<std::uint32_t>();
    default: return visit.template operator()<std::uint16_t>();
  }
}

/// The bits of a number that is rounded to a type, if the type has the word's size and every operation takes it.
/// Otherwise 0.
template <class Word>
Word word_of_value(double value, dtype type) {
  Word word{};
  with_scalar(type, [&]<class T> {
    if constexpr (sizeof(T) == sizeof(Word)) word = Kokkos::bit_cast<Word>(T(static_cast<compute_t<T>>(value)));
  });
  return word;
}

}  // namespace prumo::detail
