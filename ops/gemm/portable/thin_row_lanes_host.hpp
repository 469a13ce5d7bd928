// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The lanes of vectors that multiply rows, for thin_row_products_host.hpp: their sums, and those behind the end of a
/// row.

#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/types.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The sum of the lanes of each of as many vectors as a vector has lanes. The lanes of a vector are added in pairs of
/// neighbours, and so are their sums.
template <class T>
[[gnu::always_inline]] inline simd<T> lane_sums(const simd<T>* vectors) {
  constexpr int lanes = simd<T>::lanes;
  simd<T> pairs[lanes / 2];
  for (int i = 0; i < lanes / 2; ++i) {
    pairs[i] = every_second_lane<0>(vectors[2 * i], vectors[2 * i + 1]) +
               every_second_lane<1>(vectors[2 * i], vectors[2 * i + 1]);
  }
  for (int count = lanes / 2; count > 1; count /= 2) {
    for (int i = 0; i < count / 2; ++i) {
      pairs[i] =
          every_second_lane<0>(pairs[2 * i], pairs[2 * i + 1]) + every_second_lane<1>(pairs[2 * i], pairs[2 * i + 1]);
    }
  }
  return pairs[0];
}

/// The elements of a row behind its last whole vector: a vector that ends where the row ends, and in which elements of
/// the vector before are cleared. Infinity times zero is NaN, so both factors are cleared.
template <class T>
class row_end {
  using C = compute_t<T>;
  using vector = simd<C>;

 public:
  /// \param count elements of the row, as many as a vector has or more
  explicit row_end(std::int64_t count) : begin_(count - vector::lanes), kept_(kept_lanes(count)) {}

  vector of_elements(const T* row) const {
    return prumo::select(kept_, prumo::detail::load_vector(row + begin_), vector(C(0)));
  }
  vector of_numbers(const C* numbers) const {
    return prumo::select(kept_, vector::load(numbers + begin_), vector(C(0)));
  }

 private:
  static simd_mask<C> kept_lanes(std::int64_t count) {
    C kept[vector::lanes];
    for (int lane = 0; lane < vector::lanes; ++lane) {
      kept[lane] = lane < vector::lanes - count % vector::lanes ? C(0) : C(1);
    }
    return vector::load(kept) != vector(C(0));
  }

  std::int64_t begin_;
  simd_mask<C> kept_;
};

/// Loads rows that are shorter than a vector. The first lanes hold the elements of a row, and the others hold zero.
template <class T>
class short_rows {
  using C = compute_t<T>;
  using vector = simd<C>;
  static constexpr int lanes = vector::lanes;

 public:
  explicit short_rows(std::int64_t count) : count_(count), first_(first_of(count)) {}

  /// \param there number of elements from the beginning of this row to the end of the last row. No element after them
  ///              is read.
  [[gnu::always_inline]] vector of_elements(const T* row, [[maybe_unused]] std::int64_t there) const {
    if constexpr (prumo::detail::has_first_lanes) {
      return first_.load(row, vector(C(0)));
    } else {
      if (there < lanes) return prumo::detail::load_first(row, count_);
      return prumo::select(first_, prumo::detail::load_vector(row), vector(C(0)));
    }
  }
  vector of_numbers(const C* numbers) const { return prumo::detail::load_first(numbers, count_); }

 private:
  static auto first_of(std::int64_t count) {
    if constexpr (prumo::detail::has_first_lanes) {
      return prumo::detail::first_lanes<T>(count);
    } else {
      C is_first[lanes];
      for (int lane = 0; lane < lanes; ++lane) is_first[lane] = lane < count ? C(1) : C(0);
      return vector::load(is_first) != vector(C(0));
    }
  }

  std::int64_t count_;
  decltype(first_of(0)) first_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
