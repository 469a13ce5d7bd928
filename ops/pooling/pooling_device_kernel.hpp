// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of windows over images on devices: a thread computes one window.

#include "pooling_kernel.hpp"
#include "pooling_problem.hpp"
#include <prumo/types.hpp>

#include <cstdint>
#include <limits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// A thread computes one window. Neighbouring threads take neighbours in y: channels if they are next to each other in
/// memory, and columns otherwise.
template <pooling_kind Kind, class X, class T>
class pooling_device_kernel {
  using C = compute_t<T>;

 public:
  explicit pooling_device_kernel(const pooling_problem<X, T>& problem)
      : problem_(problem),
        channels_last_(problem.y.channel_stride == 1 && problem.y.column_stride != 1),
        is_short_(blocks() <= std::numeric_limits<std::uint32_t>::max()) {}

  std::int64_t blocks() const { return problem_.images * problem_.channels * problem_.rows * problem_.columns; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    // A division of 64 bits would take as long as the window.
    if (is_short_) {
      compute(static_cast<std::uint32_t>(index));
    } else {
      compute(static_cast<std::uint64_t>(index));
    }
  }

 private:
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t split_off(Index& rest, std::int64_t extent) {
    const auto divisor = static_cast<Index>(extent);
    const Index quotient = rest / divisor;
    const auto place = static_cast<std::int64_t>(rest - quotient * divisor);
    rest = quotient;
    return place;
  }

  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION void compute(Index rest) const {
    std::int64_t channel = 0;
    if (channels_last_) channel = split_off(rest, problem_.channels);
    const std::int64_t column = split_off(rest, problem_.columns);
    const std::int64_t row = split_off(rest, problem_.rows);
    if (!channels_last_) channel = split_off(rest, problem_.channels);
    const auto image = static_cast<std::int64_t>(rest);
    const pooling_window& window = problem_.window;
    const window_range rows(row, window.row_stride, window.row_padding, window.height, problem_.height);
    const window_range columns(column, window.column_stride, window.column_padding, window.width, problem_.width);
    const C value = pooled_window<Kind, C>(problem_.x.plane(image, channel), problem_.x.row_stride,
                                           problem_.x.column_stride, rows, columns);
    problem_.y.plane(image, channel)[row * problem_.y.row_stride + column * problem_.y.column_stride] =
        static_cast<T>(value);
  }

  pooling_problem<X, T> problem_;
  bool channels_last_;
  bool is_short_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
