// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of windows over images on hosts.

#include "pooling_kernel.hpp"
#include "pooling_problem.hpp"
#include "windows_in_vectors.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/lane_choice.hpp>
#include <prumo/detail/host/number_runs.hpp>
#include <prumo/detail/host/prefetch.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether the rows of all planes follow each other.
template <class T>
bool follow_each_other(const image_array<T>& array, std::int64_t channels, std::int64_t rows) {
  return array.channel_stride == rows * array.row_stride && array.image_stride == channels * array.channel_stride;
}

/// Planes that follow each other in memory as one high plane, if no window would reach from one into the next.
template <class X, class T>
pooling_problem<X, T> with_high_planes(pooling_problem<X, T> problem) {
  const pooling_window& window = problem.window;
  if (window.row_padding == 0 && window.height <= window.row_stride &&
      problem.rows * window.row_stride == problem.height &&
      follow_each_other(problem.x, problem.channels, problem.height) &&
      follow_each_other(problem.y, problem.channels, problem.rows)) {
    problem.height *= problem.images * problem.channels;
    problem.rows *= problem.images * problem.channels;
    problem.images = problem.channels = 1;
  }
  return problem;
}

/// A block computes some rows of y, of one plane or of several, a stretch of columns at a time.
template <pooling_kind Kind, class X, class T>
class pooling_host_kernel {
  using C = compute_t<T>;
  using windows_type = windows_in_vectors<Kind, X, C>;
  /// The windows in vectors that are stored at once.
  static constexpr std::int64_t most_values = 512;

 public:
  explicit pooling_host_kernel(const pooling_problem<X, T>& problem)
      : problem_(with_high_planes(problem)), all_rows_(problem.images * problem.channels * problem.rows) {
    if constexpr (can_have_vectors) {
      in_vectors_ = all_rows_ > 0 && problem.x.column_stride == 1 &&
                    std::min({problem.x.image_stride, problem.x.channel_stride, problem.x.row_stride}) >= 0 &&
                    windows_type::can_compute(problem.window, problem.width, problem.columns);
    }
    const auto& y = problem.y;
    y_is_dense_ =
        y.column_stride == 1 && y.row_stride == problem.columns && follow_each_other(y, problem.channels, problem.rows);
    // The blocks of a small problem are smaller, so that each thread gets some, and all are equal.
    const std::int64_t work = problem.columns * problem.window.height + 1;
    const std::int64_t elements_per_block = std::clamp<std::int64_t>(all_rows_ * work / 64, 4096, 16384);
    const std::int64_t most_rows = std::max<std::int64_t>(1, elements_per_block / work);
    blocks_ = (all_rows_ + most_rows - 1) / most_rows;
    if (blocks_ > 0) rows_per_block_ = (all_rows_ + blocks_ - 1) / blocks_;
  }

  std::int64_t blocks() const { return blocks_; }

  void operator()(std::int64_t block) const {
    const std::int64_t first = block * rows_per_block_, last = std::min(all_rows_, first + rows_per_block_);
    if constexpr (can_have_vectors) {
      if (in_vectors_) return compute_in_vectors(first, last);
    }
    for (planes_of_rows it(problem_, first, last); it.has_rows(); it.next()) compute_rows(it);
  }

 private:
  static constexpr bool can_have_vectors = has_lane_choice && std::is_floating_point_v<C>;

  /// The rows [begin, end) of all planes, plane by plane.
  class planes_of_rows {
   public:
    planes_of_rows(const pooling_problem<X, T>& problem, std::int64_t begin, std::int64_t end)
        : problem_(problem), left_(end - begin) {
      const std::int64_t plane = begin / problem.rows;
      image_ = plane / problem.channels;
      channel_ = plane % problem.channels;
      first_ = begin - plane * problem.rows;
    }

    bool has_rows() const { return left_ > 0; }
    const X* x() const { return problem_.x.plane(image_, channel_); }
    T* y() const { return problem_.y.plane(image_, channel_); }
    /// The rows first() ... first() + count() - 1 of this plane.
    std::int64_t first() const { return first_; }
    std::int64_t count() const { return std::min(problem_.rows - first_, left_); }

    void next() { skip(count()); }
    /// Goes on by `rows` rows of this plane.
    void skip(std::int64_t rows) {
      left_ -= rows;
      first_ += rows;
      if (first_ < problem_.rows) return;
      first_ = 0;
      if (++channel_ < problem_.channels) return;
      channel_ = 0;
      ++image_;
    }

   private:
    const pooling_problem<X, T>& problem_;
    std::int64_t left_, image_, channel_, first_;
  };

  void compute_rows(const planes_of_rows& rows) const {
    const pooled_row<Kind, X, C> row_of(problem_.window, problem_.height, problem_.width);
    const std::int64_t stretch = windows_at_once(problem_.window), last = rows.first() + rows.count();
    C values[most_windows_at_once];
    for (std::int64_t begin = 0; begin < problem_.columns; begin += stretch) {
      const std::int64_t end = std::min(problem_.columns, begin + stretch);
      for (std::int64_t row = rows.first(); row < last; ++row) {
        row_of.compute(rows.x(), problem_.x.row_stride, problem_.x.column_stride, row, begin, end, values);
        store(values, end - begin, rows.y() + row * problem_.y.row_stride + begin * problem_.y.column_stride);
      }
    }
  }

  void compute_in_vectors(std::int64_t first, std::int64_t last) const {
    const X* const end_of_x = problem_.x.plane(problem_.images - 1, problem_.channels - 1) +
                              (problem_.height - 1) * problem_.x.row_stride + problem_.width;
    const windows_type windows(problem_.window, problem_.height, problem_.width, problem_.columns,
                               problem_.x.row_stride, end_of_x);
    if (y_is_dense_ && problem_.columns <= most_values) {
      compute_runs(windows, first, last);
    } else {
      compute_stretches(windows, first, last);
    }
  }

  /// The rows of y, also of several planes, follow each other: as many as `values` has room for are stored as one run.
  void compute_runs(const windows_type& windows, std::int64_t first, std::int64_t last) const {
    const std::int64_t columns = problem_.columns, most_rows = most_values / columns;
    C values[most_values + windows_type::values_behind];
    planes_of_rows it(problem_, first, last);
    while (first < last) {
      const std::int64_t rows = std::min(most_rows, last - first);
      T* const to = problem_.y.data + first * columns;
      prefetch_bytes<prefetch_for::writing>(to, static_cast<std::size_t>(rows * columns) * sizeof(T));
      for (std::int64_t row = 0; row < rows;) {
        const std::int64_t count = std::min(rows - row, it.count());
        windows.compute(it.x(), it.first(), it.first() + count, 0, columns, values + row * columns);
        it.skip(count);
        row += count;
      }
      round_run(values, rows * columns, to);
      first += rows;
    }
  }

  /// Rows that do not follow each other, or very long ones. The stretches of a row have equal lengths, so that none has
  /// fewer windows than a vector.
  void compute_stretches(const windows_type& windows, std::int64_t first, std::int64_t last) const {
    const std::int64_t columns = problem_.columns, stretches = (columns + most_values - 1) / most_values;
    const std::int64_t stretch = (columns + stretches - 1) / stretches, most_rows = most_values / stretch;
    C values[most_values + windows_type::values_behind];
    planes_of_rows it(problem_, first, last);
    while (it.has_rows()) {
      const std::int64_t rows = std::min(most_rows, it.count());
      T* const to = it.y() + it.first() * problem_.y.row_stride;
      for (std::int64_t begin = 0; begin < columns; begin += stretch) {
        const std::int64_t count = std::min(columns - begin, stretch);
        windows.compute(it.x(), it.first(), it.first() + rows, begin, begin + count, values);
        for (std::int64_t row = 0; row < rows; ++row) {
          store(values + row * count, count, to + row * problem_.y.row_stride + begin * problem_.y.column_stride);
        }
      }
      it.skip(rows);
    }
  }

  void store(const C* values, std::int64_t count, T* to) const {
    const std::int64_t step = problem_.y.column_stride;
    if (step == 1) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<T>(values[j]);
    } else {
      for (std::int64_t j = 0; j < count; ++j) to[j * step] = static_cast<T>(values[j]);
    }
  }

  pooling_problem<X, T> problem_;
  std::int64_t all_rows_;  ///< of the windows of all planes
  std::int64_t rows_per_block_ = 1;
  std::int64_t blocks_ = 0;
  bool in_vectors_ = false;
  bool y_is_dense_ = false;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
