// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Convolutions for tests of the kernel for matrix units.

#include "convolution_problem.hpp"
#include "team_resources.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prumo::backend {

/// A device such as an H200.
inline team_resources device_with_matrix_units() {
  team_resources resources;
  resources.multiprocessors = 132;
  resources.threads_of_team = 256;
  resources.bytes_of_team = std::int64_t{227} * 1024;
  resources.bytes_of_multiprocessor = std::int64_t{228} * 1024;
  return resources;
}

struct filter_extents {
  std::int64_t images = 1, in_channels = 1, height = 1, width = 1, out_channels = 1, filter_rows = 1,
               filter_columns = 1, row_stride = 1, column_stride = 1, row_padding = 0, column_padding = 0;
  std::int64_t window = 1;  ///< the side of the windows whose maxima are taken
  std::int64_t gap = 0;     ///< elements behind each row, channel and image of x; with 3, between columns, too

  std::string described() const {
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    return number(images) + " images, channels " + number(in_channels) + " to " + number(out_channels) + ", " +
           number(height) + " x " + number(width) + ", filter " + number(filter_rows) + " x " + number(filter_columns) +
           ", strides " + number(row_stride) + " and " + number(column_stride) + ", padding " + number(row_padding) +
           " and " + number(column_padding) + ", window " + number(window) + ", gap " + number(gap);
  }
};

/// A problem without arrays.
template <class T>
convolution_problem<T> problem_of(const filter_extents& given) {
  convolution_problem<T> problem;
  problem.images = given.images;
  problem.in_channels = given.in_channels;
  problem.height = given.height;
  problem.width = given.width;
  problem.out_channels = given.out_channels;
  problem.filter_rows = given.filter_rows;
  problem.filter_columns = given.filter_columns;
  problem.row_stride = given.row_stride;
  problem.column_stride = given.column_stride;
  problem.row_padding = given.row_padding;
  problem.column_padding = given.column_padding;
  problem.rows = (given.height + 2 * given.row_padding - given.filter_rows) / given.row_stride + 1;
  problem.columns = (given.width + 2 * given.column_padding - given.filter_columns) / given.column_stride + 1;
  problem.y_rows = (problem.rows + given.window - 1) / given.window;
  problem.y_columns = (problem.columns + given.window - 1) / given.window;
  if (given.window > 1) {
    problem.pooling = convolution_pooling::maximum;
    problem.window = {given.window, given.window, given.window, given.window, 0, 0, window_rounding::up};
  }
  const std::int64_t step = given.gap == 3 ? 2 : 1, row = given.width * step + given.gap;
  const std::int64_t plane = given.height * row + given.gap, y_plane = problem.y_rows * problem.y_columns;
  const std::int64_t filter = given.filter_rows * given.filter_columns;
  problem.x = {nullptr, given.in_channels * plane + given.gap, plane, row, step};
  problem.w = {nullptr, given.in_channels * filter, filter, given.filter_columns, 1};
  problem.y = {nullptr, given.out_channels * y_plane, y_plane, problem.y_columns, 1};
  return problem;
}

/// A problem with images and weights of small integers.
template <class T>
struct filter_problem {
  std::vector<T> x;
  std::vector<T> w;
  convolution_problem<T> problem;

  explicit filter_problem(const filter_extents& given) : problem(problem_of<T>(given)) {
    x.resize(static_cast<std::size_t>(given.images * problem.x.image_stride));
    w.resize(static_cast<std::size_t>(given.out_channels * problem.w.image_stride));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(static_cast<float>(i * 7 % 11) - 5.0f);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = T(static_cast<float>(i * 5 % 7) - 3.0f);
    problem.x.data = x.data();
    problem.w.data = w.data();
  }
  filter_problem(const filter_problem&) = delete;
  filter_problem& operator=(const filter_problem&) = delete;
};

}  // namespace prumo::backend
