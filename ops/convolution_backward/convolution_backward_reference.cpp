// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution_backward_reference.hpp"

#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

/// A sum in higher precision, and that of the magnitudes of its terms.
template <class Sum>
struct exact_sum {
  Sum value = 0;
  Sum magnitude = 0;

  void add(double one, double other) {
    const Sum product = static_cast<Sum>(one) * static_cast<Sum>(other);
    value += product;
    magnitude += std::fabs(product);
  }
};

/// The error of a sum in the compute type with so many roundings upon each other, and of the sum here with its terms,
/// for each unit of its magnitudes. Sums are double for types of 24 bits and fewer, whose products are exact in it, and
/// long double for f64.
long double growth(dtype type, double chain, double terms) {
  const dtype computed = compute_type(type);
  return gamma(computed, chain) + (computed == dtype::f64 ? terms * 0x1p-63L : gamma(dtype::f64, terms));
}

template <class Sum>
void append_entry(const specification& choice, std::size_t which, std::int64_t index, const exact_sum<Sum>& sum,
                  long double growth_of_sum, std::vector<reference_entry>& out) {
  const auto value = static_cast<long double>(sum.value);
  const long double bound = growth_of_sum * static_cast<long double>(sum.magnitude);
  out.push_back({which, index, value, stored_bound(choice.type, value, bound)});
}

/// Calls with_sum(Sum{}) with the type of sums for the choice.
template <class Function>
void with_sum(const specification& choice, const Function& function) {
  if (compute_type(choice.type) == dtype::f64) {
    function(static_cast<long double>(0));
  } else {
    function(static_cast<double>(0));
  }
}

}  // namespace

flop_counts backward_choice::data_counts() const {
  flop_counts counts;
  if (!why_invalid().empty()) return counts;
  counts[flop_kind::fma] = meetings() * static_cast<std::uint64_t>(images * in_channels * out_channels);
  return counts;
}

flop_counts backward_choice::weights_counts() const {
  flop_counts counts = data_counts();
  if (!why_invalid().empty()) return counts;
  counts[flop_kind::add] += backend::portable_backward_weights_joins(*this, outputs_of_weights());
  if (has_bias) counts[flop_kind::add] += static_cast<std::uint64_t>(images * out_channels * rows * columns);
  return counts;
}

double backward_choice::elements() const {
  const auto product = [](auto... factors) { return (static_cast<double>(factors) * ...); };
  return product(images, in_channels, height, width) + product(images, out_channels, rows, columns) +
         product(out_channels, in_channels, filter_rows, filter_columns) +
         (has_bias ? static_cast<double>(out_channels) : 0);
}

void append_backward_data_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                    std::vector<reference_entry>& out) {
  const backward_choice what(choice);
  const std::int64_t image = part / what.in_channels, channel = part % what.in_channels;
  const std::int64_t plane = what.rows * what.columns, filter = what.filter_rows * what.filter_columns;
  std::vector<double> dy(static_cast<std::size_t>(what.out_channels * plane));
  std::vector<double> w(static_cast<std::size_t>(what.out_channels * filter));
  inputs.read(0, image * what.out_channels * plane, dy);
  for (std::int64_t m = 0; m < what.out_channels; ++m) {
    inputs.read(1, (m * what.in_channels + channel) * filter,
                std::span(w).subspan(static_cast<std::size_t>(m * filter), static_cast<std::size_t>(filter)));
  }
  with_sum(choice, [&]<class Sum>(Sum) {
    // Scattered from dy, where the kernels gather.
    std::vector<exact_sum<Sum>> sums(static_cast<std::size_t>(what.height * what.width));
    for (std::int64_t m = 0; m < what.out_channels; ++m) {
      for (std::int64_t place = 0; place < plane; ++place) {
        const std::int64_t corner_row = place / what.columns * what.row_stride - what.row_padding;
        const std::int64_t corner_column = place % what.columns * what.column_stride - what.column_padding;
        for (std::int64_t tap = 0; tap < filter; ++tap) {
          const std::int64_t row = corner_row + tap / what.filter_columns;
          const std::int64_t column = corner_column + tap % what.filter_columns;
          if (row < 0 || row >= what.height || column < 0 || column >= what.width) continue;
          sums[static_cast<std::size_t>(row * what.width + column)].add(dy[static_cast<std::size_t>(m * plane + place)],
                                                                        w[static_cast<std::size_t>(m * filter + tap)]);
        }
      }
    }
    const auto terms = static_cast<double>(what.out_channels * filter);
    const long double growth_of_sum = growth(choice.type, terms, terms);
    std::int64_t index = part * what.height * what.width;
    for (const auto& sum : sums) append_entry(choice, 2, index++, sum, growth_of_sum, out);
  });
}

void append_backward_weights_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                       std::int64_t longest_chain, std::vector<reference_entry>& out) {
  const backward_choice what(choice);
  const std::int64_t channels = std::max<std::int64_t>(1, what.in_channels);
  const std::int64_t m = part / channels, c = part % channels;
  const std::int64_t plane = what.height * what.width, places = what.rows * what.columns;
  const std::int64_t filter = what.in_channels == 0 ? 0 : what.filter_rows * what.filter_columns;
  std::vector<double> x(static_cast<std::size_t>(filter == 0 ? 0 : plane)), dy(static_cast<std::size_t>(places));
  with_sum(choice, [&]<class Sum>(Sum) {
    std::vector<exact_sum<Sum>> sums(static_cast<std::size_t>(filter));
    exact_sum<Sum> of_bias;
    for (std::int64_t image = 0; image < what.images; ++image) {
      inputs.read(1, (image * what.out_channels + m) * places, dy);
      for (const double each : dy) of_bias.add(each, 1);
      if (filter == 0) continue;
      inputs.read(0, (image * what.in_channels + c) * plane, x);
      for (std::int64_t tap = 0; tap < filter; ++tap) {
        const std::int64_t p = tap / what.filter_columns, q = tap % what.filter_columns;
        for (std::int64_t place = 0; place < places; ++place) {
          const std::int64_t row = place / what.columns * what.row_stride - what.row_padding + p;
          const std::int64_t column = place % what.columns * what.column_stride - what.column_padding + q;
          if (row < 0 || row >= what.height || column < 0 || column >= what.width) continue;
          sums[static_cast<std::size_t>(tap)].add(x[static_cast<std::size_t>(row * what.width + column)],
                                                  dy[static_cast<std::size_t>(place)]);
        }
      }
    }
    const long double growth_of_sum = growth(choice.type, static_cast<double>(longest_chain),
                                             static_cast<double>(what.images) * static_cast<double>(places));
    std::int64_t index = part * filter;
    for (const auto& sum : sums) append_entry(choice, 2, index++, sum, growth_of_sum, out);
    if (what.has_bias && c == 0) append_entry(choice, 3, m, of_bias, growth_of_sum, out);
  });
}

}  // namespace prumo::cases
