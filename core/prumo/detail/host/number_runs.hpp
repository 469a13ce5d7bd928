// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies of short runs of numbers on hosts, which convert them. The last vector repeats numbers of the one before it,
/// so that none is left for a loop of single numbers.

#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// to[i] = from[i] for i < count.
template <class T, class C>
void copy_run(const T* from, std::int64_t count, C* to) {
  constexpr std::int64_t lanes = simd<C>::lanes;
  if (count < lanes) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<C>(from[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; i += lanes) {
    const std::int64_t at = std::min(i, count - lanes);
    load_vector(from + at).store(to + at);
  }
}

/// The same of numbers that are rounded, two vectors at a time where there are so many.
template <class C, class T>
void round_run(const C* from, std::int64_t count, T* to) {
  constexpr std::int64_t lanes = simd<C>::lanes;
  if (count < lanes) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
    return;
  }
  if (count < 2 * lanes) {
    for (const std::int64_t at : {std::int64_t{0}, count - lanes}) store_vector(simd<C>::load(from + at), to + at);
    return;
  }
  for (std::int64_t i = 0; i < count; i += 2 * lanes) {
    const std::int64_t at = std::min(i, count - 2 * lanes);
    store_vectors(simd<C>::load(from + at), simd<C>::load(from + at + lanes), to + at);
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
