// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Convolutions of small whole numbers, whose sums are exact, by kernels for devices that run on the host.

#include "convolution_problem.hpp"
#include "emulated_team.hpp"
#include "pooling_kernel.hpp"
#include "stored_images.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace prumo::tests {

using namespace prumo::backend;

/// Small whole numbers.
template <class T>
void fill(std::vector<T>& memory, numbers& random) {
  for (T& each : memory) each = T(static_cast<float>(random(-2, 2)));
}

template <class T>
struct convolution_test_case {
  using C = compute_t<T>;
  convolution_problem<T> problem;
  stored_images<T> x, w, y;
  std::vector<T> bias;

  convolution_test_case(const convolution_problem<T>& shape, int order, std::int64_t gap, bool has_bias,
                        numbers& random)
      : problem(shape),
        x(shape.images, shape.in_channels, shape.height, shape.width, order, gap, T(-77.0f)),
        w(shape.out_channels, shape.in_channels, shape.filter_rows, shape.filter_columns, order, gap, T(-77.0f)),
        y(shape.images, shape.out_channels, shape.y_rows, shape.y_columns, order, gap, T(-77.0f)),
        bias(static_cast<std::size_t>(2 * shape.out_channels)) {
    fill(x.memory, random);
    fill(w.memory, random);
    fill(bias, random);
    problem.x = x.input();
    problem.w = w.input();
    problem.y = y.array;
    if (has_bias) {
      problem.bias = bias.data();
      problem.bias_stride = 2;
    }
  }

  /// Other weights, without gaps between them.
  void close_gaps_of_weights(numbers& random) {
    w = stored_images<T>(problem.out_channels, problem.in_channels, problem.filter_rows, problem.filter_columns, 0, 0,
                         T(-77.0f));
    fill(w.memory, random);
    problem.w = w.input();
  }

  C sum_at(std::int64_t n, std::int64_t m, std::int64_t row, std::int64_t column) {
    double sum = problem.bias != nullptr ? static_cast<double>(bias[static_cast<std::size_t>(2 * m)]) : 0;
    const window_range rows = problem.filter_rows_at(row), columns = problem.filter_columns_at(column);
    for (std::int64_t c = 0; c < problem.in_channels; ++c) {
      for (std::int64_t p = rows.begin; p < rows.end; ++p) {
        for (std::int64_t q = columns.begin; q < columns.end; ++q) {
          sum += static_cast<double>(w.at(m, c, p, q)) *
                 static_cast<double>(x.at(n, c, row * problem.row_stride - problem.row_padding + p,
                                          column * problem.column_stride - problem.column_padding + q));
        }
      }
    }
    return static_cast<C>(sum);
  }

  C expected_at(std::int64_t n, std::int64_t m, std::int64_t i, std::int64_t j) {
    if (!problem.is_pooled()) return activated(problem.activation, sum_at(n, m, i, j));
    // The kernel activates a maximum alone where the activation rises, and rounds it as often then.
    const auto before = problem.activates_maxima() ? activation_function::none : problem.activation;
    const auto after = problem.activates_maxima() ? problem.activation : activation_function::none;
    const pooling_window& window = problem.window;
    const window_range rows(i, window.row_stride, window.row_padding, window.height, problem.rows);
    const window_range columns(j, window.column_stride, window.column_padding, window.width, problem.columns);
    std::vector<C> plane;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t k = columns.begin; k < columns.end; ++k) {
        plane.push_back(activated(before, sum_at(n, m, r, k)));
      }
    }
    using prumo::detail::pooled_window;
    using prumo::detail::pooling_kind;
    const window_range all_rows(0, rows.length()), all_columns(0, columns.length());
    return activated(
        after, problem.pooling == convolution_pooling::maximum
                   ? pooled_window<pooling_kind::maximum, C>(plane.data(), columns.length(), 1, all_rows, all_columns)
                   : pooled_window<pooling_kind::mean, C>(plane.data(), columns.length(), 1, all_rows, all_columns));
  }

  /// Computes y and compares each element, and what lies between them.
  template <class Kernel>
  void expect_right(const Kernel& kernel, const std::string& what) {
    std::fill(y.memory.begin(), y.memory.end(), T(-77.0f));
    run_emulated_teams(kernel);
    std::vector<T> expected(y.memory.size(), T(-77.0f));
    for (std::int64_t n = 0; n < problem.images; ++n) {
      for (std::int64_t m = 0; m < problem.out_channels; ++m) {
        for (std::int64_t i = 0; i < problem.y_rows; ++i) {
          for (std::int64_t j = 0; j < problem.y_columns; ++j) {
            expected[static_cast<std::size_t>(&y.at(n, m, i, j) - y.memory.data())] =
                static_cast<T>(expected_at(n, m, i, j));
          }
        }
      }
    }
    std::int64_t wrong = 0;
    for (std::size_t at = 0; at < expected.size(); ++at) {
      const auto wanted = static_cast<double>(expected[at]), got = static_cast<double>(y.memory[at]);
      wrong += wanted == got || (std::isnan(wanted) && std::isnan(got)) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << what;
  }
};

}  // namespace prumo::tests
