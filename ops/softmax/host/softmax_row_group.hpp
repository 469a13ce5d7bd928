// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of softmax of a few vectors each, as many at a time as a vector has lanes, on a host. Their maxima and sums are
/// found together, and so are the logarithms of the sums. A single row would wait for each of these.

#include "problem/softmax_problem.hpp"
#include "softmax_row_stretch.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/row_tree.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/math.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class T, class Formula>
class softmax_row_group {
  using C = compute_t<T>;

 public:
  /// Whether there are groups. Numbers that count their operations have none.
  static constexpr bool on_vectors = can_compute_vectors && std::is_floating_point_v<C>;

 private:
  using real_number = std::conditional_t<on_vectors, C, float>;
  using vector = simd<real_number>;
  using tree = row_tree<real_number, vector::lanes, real_number, simd_bytes>;

  /// With the exponentials of longer rows a group would leave the nearest cache. They wait less, too. With AVX-512 a
  /// group has sixteen rows, and rows of 172 to 300 elements took 10 to 30 % less time alone.
  static constexpr std::int64_t longest = simd_bytes == 64 ? 128 : 512;

 public:
  static constexpr std::int64_t rows = vector::lanes;
  /// Elements of a group, at most.
  static constexpr std::int64_t most_elements = rows * longest;

  explicit softmax_row_group(const softmax_problem<T>& problem) : problem_(problem) {}

  static bool can_take(const softmax_problem<T>& problem) {
    return on_vectors && problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
           problem.columns >= vector::lanes && problem.columns <= longest;
  }

  /// The rows from `begin` on. `ahead`: whether as many follow. `far`: whether they go to memory that is not in a near
  /// cache.
  /// \param to where the first row goes
  /// \param stride from there to the next
  PRUMO_FLATTEN [[gnu::noinline]] void finish(std::int64_t begin, bool ahead, bool far, T* to,
                                              std::int64_t stride) const {
    if constexpr (on_vectors) {
      const std::int64_t columns = problem_.columns;
      const std::int64_t room = room_of(columns);
      alignas(streaming_unit) c_array<C, Formula::keeps_exponentials ? rows * most_room : 1> kept;
      alignas(streaming_unit) c_array<C, rows * vector::lanes> of_rows;
      alignas(streaming_unit) c_array<C, rows> shift, factor;
      for (std::int64_t row = 0; row < rows; ++row) {
        softmax_row_stretch<T>(source_of(begin + row), columns).maxima().store(of_rows + row * vector::lanes);
      }
      const vector maximum = joined(of_rows, softmax_larger_values{});
      prumo::select(maximum == vector(softmax_lowest<C>()), vector(C(0)), maximum).store(shift);
      for (std::int64_t row = 0; row < rows; ++row) {
        const T* const next = ahead ? source_of(begin + row + rows) : nullptr;
        const softmax_row_stretch<T> values(source_of(begin + row), columns);
        values
            .template sums_of_exponentials<Formula::keeps_exponentials>(
                shift[row], Formula::keeps_exponentials ? kept + row * room : nullptr,
                softmax_prefetch<T>{next, far ? to + row * stride : nullptr})
            .store(of_rows + row * vector::lanes);
      }
      Formula::row_factor(joined(of_rows, add_values{})).store(factor);
      for (std::int64_t row = 0; row < rows; ++row) {
        T* const target = to + row * stride;
        const vector of_row(shift[row]), by(factor[row]);
        if constexpr (Formula::keeps_exponentials) {
          write(static_cast<const C*>(kept) + row * room, columns, target,
                [=](vector x) PRUMO_ALWAYS_INLINE { return Formula::from_kept(x, of_row, by); });
        } else {
          write(source_of(begin + row), columns, target,
                [=](vector x) PRUMO_ALWAYS_INLINE { return Formula::from_value(x, of_row, by); });
        }
      }
    }
  }

 private:
  /// Of whole cache lines, so that vectors lie in one each.
  static constexpr std::int64_t room_of(std::int64_t columns) {
    return (columns + softmax_row_stretch<T>::most_added + vector::lanes - 1) / vector::lanes * vector::lanes;
  }
  static constexpr std::int64_t most_room = room_of(longest);

  const T* source_of(std::int64_t row) const { return problem_.source + row * problem_.source_row_stride; }

  template <class Join>
  static vector joined(const C* of_rows, const Join& join) {
    const auto address = [=](int row) PRUMO_ALWAYS_INLINE { return of_rows + row * vector::lanes; };
    return vector(tree::joined(
        [=](auto which) PRUMO_ALWAYS_INLINE { return tree::template pieces<decltype(which)::value>(address, 0); },
        [=](auto a, auto b) PRUMO_ALWAYS_INLINE { return join(vector(a), vector(b)).value(); }));
  }

  /// target[i] = formula(from[i]) for a vector or more. They may be one array: the last vector, which may overlap the
  /// one before it, is read first.
  template <class Element, class Last>
  static void write(const Element* from, std::int64_t columns, T* target, const Last& formula) {
    constexpr std::int64_t lanes = vector::lanes;
    const auto pair = [&](std::int64_t at) PRUMO_ALWAYS_INLINE {
      store_vectors(formula(load_vector(from + at)), formula(load_vector(from + at + lanes)), target + at);
    };
    std::int64_t at = 0;
    if (columns % (2 * lanes) == 0) {
      for (; at < columns; at += 2 * lanes) pair(at);
      return;
    }
    const vector last = formula(load_vector(from + columns - lanes));
    for (; at + 2 * lanes <= columns; at += 2 * lanes) pair(at);
    if (at + lanes < columns) store_vector(formula(load_vector(from + at)), target + at);
    store_vector(last, target + columns - lanes);
  }

  softmax_problem<T> problem_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
