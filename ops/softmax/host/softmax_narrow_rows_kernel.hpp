// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host kernel of softmax for rows of at most a few vectors, of which the last one may be a part. It takes as many
/// rows at a time as a vector has lanes. Their maxima and sums are found together, and so are the logarithms of the
/// sums.

#include "problem/softmax_formula.hpp"
#include "problem/softmax_problem.hpp"
#include "softmax_row_stretch.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/group_conversions.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/first_lanes.hpp>
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
class softmax_narrow_rows_kernel {
  using C = compute_t<T>;
  static constexpr bool on_vectors = has_first_lanes && can_compute_vectors && std::is_floating_point_v<C>;
  using real_number = std::conditional_t<std::is_floating_point_v<C>, C, float>;
  using vector = simd<real_number>;
  static constexpr std::int64_t lanes = vector::lanes;
  static constexpr std::int64_t rows = lanes;  ///< of a group
  using tree = row_tree<real_number, vector::lanes, real_number, simd_bytes>;

 public:
  /// Rows of at most half a vector are better side by side in the lanes of vectors. Measured on Emerald Rapids.
  static bool can_take(const softmax_problem<T>& problem) {
    return on_vectors && problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
           problem.columns > lanes / 2 && problem.columns <= most_vectors * lanes;
  }

  softmax_narrow_rows_kernel(const softmax_problem<T>& problem, std::int64_t workers)
      : problem_(problem), far_(problem.is_far()) {
    constexpr std::int64_t blocks_per_worker = 16, most_elements = 65536;
    const std::int64_t groups = problem.rows / (rows * workers * blocks_per_worker);
    rows_per_block_ = rows * std::clamp<std::int64_t>(groups, 1, most_elements / (rows * problem.columns));
  }

  std::int64_t blocks() const { return (problem_.rows + rows_per_block_ - 1) / rows_per_block_; }

  void operator()(std::int64_t block) const {
    const std::int64_t begin = block * rows_per_block_, end = std::min(problem_.rows, begin + rows_per_block_);
    switch ((problem_.columns + lanes - 1) / lanes) {
      case 1: return finish<1>(begin, end);
      case 2: return finish<2>(begin, end);
      case 3: return finish<3>(begin, end);
      default: return finish<most_vectors>(begin, end);
    }
  }

 private:
  static constexpr int most_vectors = 4;

  template <int Vectors>
  void finish(std::int64_t begin, std::int64_t end) const {
    if constexpr (on_vectors) {
      const std::int64_t columns = problem_.columns;
      for (; begin + rows <= end; begin += rows) {
        finish_group<Vectors>(source_of(begin), problem_.source_row_stride, target_of(begin),
                              problem_.target_row_stride, begin + 2 * rows <= problem_.rows);
      }
      if (begin == end) return;
      // Zeros take the place of rows that are not there.
      T held[rows * most_vectors * lanes];
      const std::int64_t count = end - begin;
      for (std::int64_t r = 0; r < count; ++r) std::copy_n(source_of(begin + r), columns, held + r * columns);
      std::fill_n(held + count * columns, (rows - count) * columns, T(0.0f));
      finish_group<Vectors>(held, columns, held, columns, false);
      for (std::int64_t r = 0; r < count; ++r) std::copy_n(held + r * columns, columns, target_of(begin + r));
    }
  }

  /// The rows from `source` on, which may be `target`. `ahead`: whether as many follow.
  template <int Vectors>
  PRUMO_FLATTEN [[gnu::noinline]] void finish_group(const T* source, std::int64_t source_stride, T* target,
                                                    std::int64_t target_stride, bool ahead) const {
    constexpr int last = Vectors - 1;
    constexpr int rows_together = std::max(1, group_registers / Vectors);
    using group = simd_group<C, rows_together * Vectors>;
    const first_lanes<T> end(problem_.columns - last * lanes);
    const vector lowest(softmax_lowest<C>());
    const auto values_of = [&](const T* row, int which) PRUMO_ALWAYS_INLINE {
      return which == last ? end.load(row + which * lanes, lowest) : load_vector(row + which * lanes);
    };
    alignas(streaming_unit) c_array<C, rows * Vectors * lanes> kept;
    alignas(streaming_unit) c_array<C, rows * lanes> sums;
    alignas(streaming_unit) c_array<C, rows> shift, factor;

    const vector maximum = joined(
        [&](std::int64_t row) PRUMO_ALWAYS_INLINE {
          vector largest = values_of(source + row * source_stride, last);
          PRUMO_UNROLL
          for (int k = 0; k < last; ++k) {
            largest = greater_or_second(values_of(source + row * source_stride, k), largest);
          }
          return largest;
        },
        softmax_larger_values{});
    prumo::select(maximum == lowest, vector(C(0)), maximum).store(shift);

    for (std::int64_t first = 0; first < rows; first += rows_together) {
      group values, shifted;
      PRUMO_UNROLL
      for (int which = 0; which < group::registers; ++which) {
        const std::int64_t row = first + which / Vectors;
        values.of[which] = values_of(source + row * source_stride, which % Vectors);
        shifted.of[which] = values.of[which] - vector(shift[row]);
      }
      if (ahead) prefetch<rows_together, Vectors, 0>(source + (first + rows) * source_stride, source_stride);
      if (far_) prefetch<rows_together, Vectors, 1>(target + first * target_stride, target_stride);
      const group exponentials = exp_of_nonpositive(shifted);
      const group& keep = Formula::keeps_exponentials ? exponentials : values;
      PRUMO_UNROLL
      for (int which = 0; which < group::registers; ++which) {
        keep.of[which].store(kept + (first * Vectors + which) * lanes);
      }
      PRUMO_UNROLL
      for (int r = 0; r < rows_together; ++r) {
        vector sum = exponentials.of[r * Vectors];
        PRUMO_UNROLL
        for (int k = 1; k < Vectors; ++k) sum += exponentials.of[r * Vectors + k];
        sum.store(sums + (first + r) * lanes);
      }
    }
    Formula::row_factor(
        joined([&](std::int64_t row) PRUMO_ALWAYS_INLINE { return vector::load(sums + row * lanes); }, add_values{}))
        .store(factor);

    for (std::int64_t row = 0; row < rows; ++row) {
      T* const to = target + row * target_stride;
      PRUMO_UNROLL
      for (int k = 0; k < Vectors; ++k) {
        const vector result = Formula::from_kept(vector::load(kept + (row * Vectors + k) * lanes), vector(shift[row]),
                                                 vector(factor[row]));
        if (k == last) {
          end.store(result, to + k * lanes);
        } else {
          store_vector(result, to + k * lanes);
        }
      }
    }
  }

  /// One lane for each row of a group, from a vector for each.
  template <class Load, class Join>
  [[gnu::always_inline]] static vector joined(const Load& load, const Join& join) {
    return vector(tree::joined(
        [&](auto which) PRUMO_ALWAYS_INLINE { return load(tree::row_of(decltype(which)::value, 0)).value(); },
        [&](auto a, auto b) PRUMO_ALWAYS_INLINE { return join(vector(a), vector(b)).value(); }));
  }

  template <int Rows, int Vectors, int ToWrite>
  [[gnu::always_inline]] static void prefetch([[maybe_unused]] const T* row, [[maybe_unused]] std::int64_t stride) {
#if defined(__GNUC__)
    constexpr auto line = static_cast<std::int64_t>(streaming_unit / sizeof(T));
    PRUMO_UNROLL
    for (int r = 0; r < Rows; ++r) {
      PRUMO_UNROLL
      for (std::int64_t at = 0; at < Vectors * lanes; at += line) __builtin_prefetch(row + r * stride + at, ToWrite);
    }
#endif
  }

  T* target_of(std::int64_t row) const { return problem_.target + row * problem_.target_row_stride; }
  const T* source_of(std::int64_t row) const { return problem_.source + row * problem_.source_row_stride; }

  softmax_problem<T> problem_;
  std::int64_t rows_per_block_;
  bool far_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
