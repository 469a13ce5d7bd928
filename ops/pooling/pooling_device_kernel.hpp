// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of windows over images on devices: a thread computes one window.

#include "plane_walk.hpp"
#include "pooling_kernel.hpp"
#include "pooling_problem.hpp"
#include <prumo/types.hpp>

#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <pooling_kind Kind, class X, class T>
class pooling_device_kernel {
  using C = compute_t<T>;

 public:
  explicit pooling_device_kernel(const pooling_problem<X, T>& problem)
      : problem_(problem),
        walk_(problem.images, problem.channels, problem.rows, problem.columns,
              problem.y.channel_stride == 1 && problem.y.column_stride != 1) {}

  std::int64_t blocks() const { return walk_.blocks(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto at = walk_.at(index);
    const pooling_window& window = problem_.window;
    const window_range rows(at.row, window.row_stride, window.row_padding, window.height, problem_.height);
    const window_range columns(at.column, window.column_stride, window.column_padding, window.width, problem_.width);
    const C value = pooled_window<Kind, C>(problem_.x.plane(at.image, at.channel), problem_.x.row_stride,
                                           problem_.x.column_stride, rows, columns);
    problem_.y.plane(at.image, at.channel)[at.row * problem_.y.row_stride + at.column * problem_.y.column_stride] =
        static_cast<T>(value);
  }

 private:
  pooling_problem<X, T> problem_;
  plane_walk walk_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
