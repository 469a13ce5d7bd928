// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution as the direct kernel for devices sees it.

#include "convolution_problem.hpp"
#include "convolution_rows.hpp"
#include <prumo/detail/instruction_set.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The problem as the kernel sees it: the pointers are to elements of T, whatever C is.
template <class T>
convolution_problem<compute_t<T>> direct_device_problem(const convolution_problem<T>& problem) {
  using C = compute_t<T>;
  const auto as_read = [](const image_array<const T>& array) {
    return image_array<const C>{reinterpret_cast<const C*>(array.data), array.image_stride, array.channel_stride,
                                array.row_stride, array.column_stride};
  };
  convolution_problem<C> result;
  result.x = as_read(problem.x);
  result.w = as_read(problem.w);
  result.bias = reinterpret_cast<const C*>(problem.bias);
  result.bias_stride = problem.bias_stride;
  result.y = {reinterpret_cast<C*>(problem.y.data), problem.y.image_stride, problem.y.channel_stride,
              problem.y.row_stride, problem.y.column_stride};
  result.images = problem.images;
  result.in_channels = problem.in_channels;
  result.height = problem.height;
  result.width = problem.width;
  result.out_channels = problem.out_channels;
  result.filter_rows = problem.filter_rows;
  result.filter_columns = problem.filter_columns;
  result.row_stride = problem.row_stride;
  result.column_stride = problem.column_stride;
  result.row_padding = problem.row_padding;
  result.column_padding = problem.column_padding;
  result.rows = problem.rows;
  result.columns = problem.columns;
  result.activation = problem.activation;
  result.pooling = problem.pooling;
  result.window = problem.window;
  result.y_rows = problem.y_rows;
  result.y_columns = problem.y_columns;
  return result;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
