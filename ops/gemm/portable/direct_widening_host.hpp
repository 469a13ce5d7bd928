// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// 16-bit numbers as the tiles of direct_tiles_host.hpp multiply them: widened to floats.

#include "direct_blocks.hpp"
#include "direct_tiles_host.hpp"
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/detail/host/simd.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// to[i] = from[i] for i < count, in whole vectors. Where `there` elements lie in memory, the last vector reads and
/// writes beyond the end. Otherwise it is filled up with zeros.
template <class T>
void widen_run(const T* from, std::int64_t count, std::int64_t there, compute_t<T>* to) {
  using C = compute_t<T>;
  constexpr std::int64_t lanes = simd<C>::lanes;
  std::int64_t at = 0;
  for (; at + lanes <= count; at += lanes) prumo::detail::load_vector(from + at).store(to + at);
  if (at == count) return;
  if (at + lanes <= there) return prumo::detail::load_vector(from + at).store(to + at);
  prumo::detail::load_first(from + at, count - at).store(to + at);
}

/// Rows of A, for a tile at a time.
template <class T>
class direct_rows_of_a {
  using C = compute_t<T>;
  using operand_a = typename direct_tiles<C>::operand_a;
  static constexpr std::int64_t lanes = simd<C>::lanes;

 public:
  explicit direct_rows_of_a(const gemm_problem<T>& problem) : a_(problem.a), m_(problem.m), k_(problem.k) {}

  /// The rows that are widened together, as many as there is memory for. If k is at most widened_depth, these are more
  /// than twice as many as a tile of whole rows of C has.
  std::int64_t most_widened() const {
    const std::int64_t line = round_up(k_, lanes) + lanes;
    return direct_sizes<C>::widened_elements / line / lanes * lanes;
  }

  /// Some rows of a matrix of A, of a block of the depth. `widened` is memory for numbers that are widened.
  operand_a at(std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t p, std::int64_t depth,
               [[maybe_unused]] C* widened) const {
    const T* const from = a_.data + batch * a_.batch_stride + row * a_.row_stride + p * a_.column_stride;
    if constexpr (!widens_for_direct<T>) {
      return {from, a_.row_stride, a_.column_stride};
    } else {
      return widened_rows(from, row, rows, p, depth, widened);
    }
  }

 private:
  operand_a widened_rows(const T* from, std::int64_t row, std::int64_t rows, std::int64_t p, std::int64_t depth,
                         C* to) const {
    if (a_.row_stride == 1 && m_ > 1) {
      const std::int64_t width = (rows + lanes - 1) / lanes * lanes;
      for (std::int64_t i = 0; i < depth; ++i) widen_run(from + i * a_.column_stride, rows, m_ - row, to + i * width);
      return {to, 1, width};
    }
    const std::int64_t there = (m_ - row) * k_ - p;
    if (a_.column_stride == 1 && a_.row_stride == k_ && depth == k_) {
      widen_run(from, rows * k_, there, to);
      return {to, k_, 1};
    }
    // A little more than a vector apart, so that rows of a power of two elements do not meet in a cache.
    const std::int64_t stride = (depth + lanes - 1) / lanes * lanes + lanes;
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* const line = from + i * a_.row_stride;
      if (a_.column_stride == 1) {
        widen_run(line, depth, k_ - p, to + i * stride);
      } else {
        for (std::int64_t j = 0; j < depth; ++j) to[i * stride + j] = static_cast<C>(line[j * a_.column_stride]);
      }
    }
    return {to, stride, 1};
  }

  gemm_matrix<const T> a_;
  std::int64_t m_;
  std::int64_t k_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
