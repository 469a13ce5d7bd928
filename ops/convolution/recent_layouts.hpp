// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Layouts that were chosen before. A choice compares many layouts, which takes longer than a small convolution.

#include "convolution_problem.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace prumo::backend {

/// All that a layout may depend on. Of addresses it is their alignment.
using layout_key = std::array<std::int64_t, 41>;

/// \param device the number of the device
template <class T>
layout_key layout_key_of(const convolution_problem<T>& problem, int device) {
  const auto alignment = [](const void* data) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % 256);
  };
  const pooling_window& window = problem.window;
  return {problem.images,
          problem.in_channels,
          problem.height,
          problem.width,
          problem.out_channels,
          problem.filter_rows,
          problem.filter_columns,
          problem.row_stride,
          problem.column_stride,
          problem.row_padding,
          problem.column_padding,
          problem.rows,
          problem.columns,
          problem.y_rows,
          problem.y_columns,
          problem.x.image_stride,
          problem.x.channel_stride,
          problem.x.row_stride,
          problem.x.column_stride,
          problem.w.image_stride,
          problem.w.channel_stride,
          problem.w.row_stride,
          problem.w.column_stride,
          problem.y.image_stride,
          problem.y.channel_stride,
          problem.y.row_stride,
          problem.y.column_stride,
          alignment(problem.x.data),
          alignment(problem.w.data),
          alignment(problem.y.data),
          problem.bias != nullptr,
          static_cast<std::int64_t>(problem.mode),
          static_cast<std::int64_t>(problem.activation),
          static_cast<std::int64_t>(problem.pooling),
          window.height,
          window.width,
          window.row_stride,
          window.column_stride,
          window.row_padding,
          window.column_padding,
          2 * device + (window.rounding == window_rounding::up ? 1 : 0)};
}

/// The layouts that were chosen last, those of one thread.
template <class Layout>
class recent_layouts {
 public:
  /// The layout that choose() returned for this key, which is called if that was too long ago.
  template <class Choose>
  const Layout& find(const layout_key& key, const Choose& choose) {
    for (const entry& each : entries_) {
      if (each.is_set && each.key == key) return each.layout;
    }
    entry& oldest = entries_[next_];
    next_ = (next_ + 1) % entries_.size();
    oldest = {key, choose(), true};
    return oldest.layout;
  }

 private:
  struct entry {
    layout_key key = {};
    Layout layout;
    bool is_set = false;
  };
  std::array<entry, 16> entries_;
  std::size_t next_ = 0;
};

}  // namespace prumo::backend
