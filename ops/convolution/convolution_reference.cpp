// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution_reference.hpp"

#include "gemm_activation.hpp"
#include "gemm_epilogue_reference.hpp"
#include "pooling_reference.hpp"
#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

using prumo::detail::window_range;

/// The exact results of one image and output channel before they are pooled, and their error bounds.
struct exact_plane {
  std::vector<long double> values;
  std::vector<long double> bounds;
};

/// Sum is double for types of 24 bits and fewer, whose products are exact in it, and long double for f64.
template <class Sum>
exact_plane convolve_exactly(const specification& choice, const convolution_choice& what, const input_values& inputs,
                             std::int64_t image, std::int64_t channel) {
  const std::int64_t plane = what.height * what.width, filter = what.filter_rows * what.filter_columns;
  std::vector<double> x(static_cast<std::size_t>(what.in_channels * plane));
  std::vector<double> w(static_cast<std::size_t>(what.in_channels * filter));
  inputs.read(0, image * what.in_channels * plane, x);
  inputs.read(1, channel * what.in_channels * filter, w);
  const long double bias = what.has_bias ? static_cast<long double>(inputs.at(2, channel)) : 0;
  // The sum's own roundings, those of the sum here, and that of adding the bias.
  const auto taps = static_cast<double>(what.taps());
  const dtype computed = compute_type(choice.type);
  const long double growth = gamma(computed, taps + (what.has_bias ? 1 : 0)) +
                             (computed == dtype::f64 ? taps * 0x1p-63L : gamma(dtype::f64, taps));
  // What a mode rounds the elements to. Units may cut digits off, so an error is as large as a unit in the last place.
  const long double e = choice.compute_mode == gemm_mode_name(gemm_mode::fast_tf32) ? 0x1p-10L : 0;
  exact_plane result;
  for (std::int64_t row = 0; row < what.rows; ++row) {
    const window_range rows = what.filter_rows_at(row);
    for (std::int64_t column = 0; column < what.columns; ++column) {
      const window_range columns = what.filter_columns_at(column);
      Sum sum = 0, magnitudes = 0;
      for (std::int64_t c = 0; c < what.in_channels; ++c) {
        for (std::int64_t p = rows.begin; p < rows.end; ++p) {
          for (std::int64_t q = columns.begin; q < columns.end; ++q) {
            const std::int64_t from = (row * what.row_stride - what.row_padding + p) * what.width +
                                      column * what.column_stride - what.column_padding + q;
            const Sum product = static_cast<Sum>(x[static_cast<std::size_t>(c * plane + from)]) *
                                static_cast<Sum>(w[static_cast<std::size_t>(c * filter + p * what.filter_columns + q)]);
            sum += product;
            magnitudes += std::fabs(product);
          }
        }
      }
      const long double value = static_cast<long double>(sum) + bias;
      const long double bound = growth * (static_cast<long double>(magnitudes) + std::fabs(bias)) +
                                (2 * e + e * e) * static_cast<long double>(magnitudes);
      result.values.push_back(exactly_activated(what.activation, value));
      result.bounds.push_back(activated_bound(what.activation, choice.type, value, bound));
    }
  }
  return result;
}

std::pair<long double, long double> pooled(const specification& choice, const convolution_choice& what,
                                           const exact_plane& of, window_range rows, window_range columns) {
  window_reference window;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    for (std::int64_t c = columns.begin; c < columns.end; ++c) {
      const auto index = static_cast<std::size_t>(r * what.columns + c);
      window.add(of.values[index], of.bounds[index]);
    }
  }
  using prumo::detail::pooling_kind;
  const bool is_maximum = what.pooling == convolution_pooling::maximum;
  return window.result(is_maximum ? pooling_kind::maximum : pooling_kind::mean, choice.type);
}

}  // namespace

convolution_choice::convolution_choice(const shape& extents, const parameters& values)
    : filter_choice(extents, values),
      activation(static_cast<activation_function>(static_cast<int>(values.at("activation")))),
      pooling(static_cast<convolution_pooling>(static_cast<int>(values.at("pooling")))),
      y_rows(rows),
      y_columns(columns) {
  const auto side = static_cast<std::int64_t>(values.at("window"));
  window = {side, side, side, side, 0, 0, values.at("round_up") != 0 ? window_rounding::up : window_rounding::down};
  if (row_stride < 1 || pooling == convolution_pooling::none || side < 1) return;
  y_rows = pooled_extent(rows, side, side, 0, window.rounding);
  y_columns = pooled_extent(columns, side, side, 0, window.rounding);
}

std::string convolution_choice::why_invalid() const {
  std::string reason = filter_choice::why_invalid();
  if (!reason.empty() || pooling == convolution_pooling::none) return reason;
  if (window.height < 1) return "the window is empty";
  return y_rows < 1 || y_columns < 1 ? "the result is smaller than a window" : "";
}

flop_counts convolution_choice::counts() const {
  if (!why_invalid().empty()) return {};
  const auto places = static_cast<std::uint64_t>(rows * columns);
  flop_counts of_plane = backend::activation_counts(activation) * places;
  of_plane[flop_kind::fma] += meetings() * static_cast<std::uint64_t>(in_channels);
  of_plane[flop_kind::add] += has_bias ? places : 0;
  if (pooling != convolution_pooling::none) {
    const auto windows = static_cast<std::uint64_t>(y_rows * y_columns);
    const auto elements_of = [&](std::int64_t count, std::int64_t extent) {
      return static_cast<std::uint64_t>(std::min(extent, count * window.height));
    };
    const std::uint64_t joined = elements_of(y_rows, rows) * elements_of(y_columns, columns) - windows;
    of_plane[pooling == convolution_pooling::maximum ? flop_kind::minmax : flop_kind::add] += joined;
    if (pooling == convolution_pooling::mean) of_plane[flop_kind::div] += windows;
  }
  return of_plane * static_cast<std::uint64_t>(images * out_channels);
}

void append_convolution_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                  std::vector<reference_entry>& out) {
  const convolution_choice what(choice);
  const std::int64_t image = part / what.out_channels, channel = part % what.out_channels;
  const exact_plane plane = compute_type(choice.type) == dtype::f64
                                ? convolve_exactly<long double>(choice, what, inputs, image, channel)
                                : convolve_exactly<double>(choice, what, inputs, image, channel);
  std::int64_t index = part * what.y_rows * what.y_columns;
  for (std::int64_t row = 0; row < what.y_rows; ++row) {
    for (std::int64_t column = 0; column < what.y_columns; ++column) {
      std::pair<long double, long double> entry;
      if (what.pooling == convolution_pooling::none) {
        const auto at = static_cast<std::size_t>(row * what.columns + column);
        entry = {plane.values[at], plane.bounds[at]};
      } else {
        const pooling_window& window = what.window;
        entry = pooled(choice, what, plane, window_range(row, window.row_stride, 0, window.height, what.rows),
                       window_range(column, window.column_stride, 0, window.width, what.columns));
      }
      out.push_back({what.place_of_y(), index++, entry.first, stored_bound(choice.type, entry.first, entry.second)});
    }
  }
}

}  // namespace prumo::cases
