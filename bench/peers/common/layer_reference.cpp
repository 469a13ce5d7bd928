// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exact results of nets' layers, and their bounds.

#include "layer_operations.hpp"
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace prumo::peers {
namespace {

/// The elements of a window that lie inside the image.
struct inside {
  std::int64_t begin, end;

  inside(const window_side& side, std::int64_t place)
      : begin(std::max<std::int64_t>(0, place * side.stride - side.padding)),
        end(std::min(side.extent, place * side.stride - side.padding + side.window)) {}
};

long double exact_activation(std::int64_t which, long double x) {
  switch (which) {
    case 1: return std::fmax(x, 0.0L);
    case 2: return 1 / (1 + std::exp(-x));
    case 3: return std::tanh(x);
    case 4: return 0.5L * x * std::erfc(-x * std::numbers::sqrt2_v<long double> / 2);
    case 5: {
      const long double inner = 2 * std::sqrt(2 * std::numbers::inv_pi_v<long double>) * x * (1 + 0.044715L * x * x);
      return x / (1 + std::exp(-inner));
    }
    default: return x;
  }
}

/// The maximum or the mean of a window. A maximum is off by the largest error at most; a mean by the mean of the errors
/// and one rounding for each element.
expected_entry joined(const std::vector<expected_entry>& window, bool is_maximum, dtype type) {
  expected_entry result = window.front();
  if (is_maximum) {
    for (const expected_entry& it : window) {
      result.value = std::fmax(result.value, it.value);
      result.bound = std::fmax(result.bound, it.bound);
    }
    return result;
  }
  long double total = 0, magnitude = 0, bounds = 0;
  for (const expected_entry& it : window) {
    total += it.value;
    magnitude += std::fabs(it.value) + it.bound;
    bounds += it.bound;
  }
  const auto count = static_cast<long double>(window.size());
  return {total / count, (bounds + gamma(compute_type(type), count + 1) * magnitude) / count};
}

}  // namespace

double reference::layer_cost() const {
  const layer_extents& it = it_.layer;
  const auto window = static_cast<double>(it.window * it.window);
  if (what_.shape == operation_shape::pooling) return 100 * window;
  const double sum = 200 * static_cast<double>(it.in_channels * it.filter_rows * it.filter_columns + 1);
  return it.pooling != 0 ? sum * window : sum;
}

/// The bound of act(total). No slope is above 1.13; the function itself is within `ulps` of its result, and gelu of x.
expected_entry reference::activated(long double total, long double bound) const {
  const std::int64_t which = it_.layer.activation;
  const long double value = exact_activation(which, total);
  if (which <= 1) return {value, bound};
  const long double scale = which >= 4 ? std::fabs(total) : std::fabs(value);
  return {value, 1.13L * bound + static_cast<long double>(how_.ulps) * ulp(compute_type(type_), scale)};
}

/// One sum with bias and activation. The bound is that of a product: each term reaches the sum through K additions at
/// most, and its own rounding.
expected_entry reference::convolved(std::int64_t image, std::int64_t channel, std::int64_t row,
                                    std::int64_t column) const {
  const layer_extents& it = it_.layer;
  const window_sides sides = filter_sides(it);
  const inside rows(sides.rows, row), columns(sides.columns, column);
  const std::int64_t top = row * it.stride - it.padding, left = column * it.stride - it.padding;
  long double total = it.bias != 0 ? input(2, channel) : 0, magnitude = std::fabs(total);
  for (std::int64_t c = 0; c < it.in_channels; ++c) {
    const std::int64_t plane = (image * it.in_channels + c) * it.height;
    const std::int64_t filter = (channel * it.in_channels + c) * it.filter_rows;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t q = columns.begin; q < columns.end; ++q) {
        const long double term =
            input(0, (plane + r) * it.width + q) * input(1, (filter + r - top) * it.filter_columns + q - left);
        total += term;
        magnitude += std::fabs(term);
      }
    }
  }
  const auto terms = static_cast<long double>(it.in_channels * it.filter_rows * it.filter_columns);
  return activated(total, gamma(compute_type(type_), terms + 3) * magnitude);
}

/// Between a convolution and its pooling a library stores the results, rounded to the type of the arrays.
expected_entry reference::convolution(std::int64_t index) const {
  const layer_extents& it = it_.layer;
  const window_sides stored = result_sides(what_, it);
  const std::int64_t of_plane = stored.rows.places * stored.columns.places;
  const std::int64_t plane = index / of_plane, place = index % of_plane;
  const std::int64_t image = plane / it.out_channels, channel = plane % it.out_channels;
  const std::int64_t row = place / stored.columns.places, column = place % stored.columns.places;
  expected_entry result;
  if (it.pooling == 0) {
    result = convolved(image, channel, row, column);
  } else {
    const inside rows(stored.rows, row), columns(stored.columns, column);
    std::vector<expected_entry> window;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t q = columns.begin; q < columns.end; ++q) {
        const expected_entry each = convolved(image, channel, r, q);
        window.push_back({each.value, stored_bound(type_, each.value, each.bound)});
      }
    }
    result = joined(window, it.pooling == 1, type_);
  }
  return {result.value, stored_bound(type_, result.value, result.bound)};
}

expected_entry reference::pooled(std::int64_t index) const {
  const layer_extents& it = it_.layer;
  const window_sides sides = pooling_sides(it);
  const std::int64_t of_plane = sides.rows.places * sides.columns.places;
  const std::int64_t plane = index / of_plane, place = index % of_plane;
  const inside rows(sides.rows, place / sides.columns.places), columns(sides.columns, place % sides.columns.places);
  std::vector<expected_entry> window;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    for (std::int64_t q = columns.begin; q < columns.end; ++q) {
      window.push_back({input(0, (plane * it.height + r) * it.width + q), 0});
    }
  }
  const bool is_maximum = what_.reduces_by == reduction_kind::max;
  const expected_entry result = joined(window, is_maximum, type_);
  return {result.value, is_maximum ? 0 : stored_bound(type_, result.value, result.bound)};
}

expected_entry reference::dense(std::int64_t index) const {
  const layer_extents& it = it_.layer;
  const std::int64_t row = index / it.out_channels, column = index % it.out_channels;
  long double total = it.bias != 0 ? input(2, column) : 0, magnitude = std::fabs(total);
  for (std::int64_t i = 0; i < it.in_channels; ++i) {
    const long double term = input(0, row * it.in_channels + i) * input(1, column * it.in_channels + i);
    total += term;
    magnitude += std::fabs(term);
  }
  const auto terms = static_cast<long double>(it.in_channels);
  const expected_entry result = activated(total, gamma(compute_type(type_), terms + 3) * magnitude);
  return {result.value, stored_bound(type_, result.value, result.bound)};
}

}  // namespace prumo::peers
