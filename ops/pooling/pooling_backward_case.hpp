// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The case of max_pool_backward and average_pool_backward.

#include "pooling_backward_host_kernel.hpp"
#include "window_case.hpp"
#include <prumo/case/rounding.hpp>
#include <prumo/pooling_backward.hpp>

#include <cmath>

namespace prumo::cases {

template <class Exec, prumo::detail::pooling_kind Kind>
class pooling_backward_case final : public window_case<pooling_backward_case<Exec, Kind>, Exec, Kind> {
  using base = window_case<pooling_backward_case<Exec, Kind>, Exec, Kind>;
  friend base;
  using base::is_maximum;
  /// The places of the arrays. A mean has no x.
  static constexpr std::size_t of_dy = is_maximum ? 1 : 0, of_dx = of_dy + 1;

 public:
  case_info info() const override {
    case_info result;
    result.op = is_maximum ? "max_pool_backward" : "average_pool_backward";
    result.description =
        is_maximum ? "the gradient of the largest value of each window" : "the gradient of the mean of each window";
    add_pooling_axes(result);
    return result;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const pooling_choice what(extents, values);
    std::vector<array_specification> result;
    const std::vector<std::int64_t> images{what.images, what.channels, what.height, what.width};
    if (is_maximum) result.push_back({"x", array_role::input, images});
    result.push_back({"dy", array_role::input, {what.images, what.channels, what.rows, what.columns}});
    result.push_back({"dx", array_role::output, images});
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const pooling_choice what(extents, values);
    const auto planes = static_cast<double>(what.images * what.channels);
    const double inputs = planes * static_cast<double>(what.height * what.width);
    const double outputs = planes * static_cast<double>(what.rows * what.columns);
    return {((is_maximum ? 2 : 1) * inputs + outputs) * static_cast<double>(dtype_size(type)),
            planes * static_cast<double>(what.window_elements()) *
                (is_maximum && !prumo::detail::are_windows_apart(what.window)
                     ? static_cast<double>(what.window.height * what.window.width)
                     : 1),
            inputs};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const pooling_window window = window_of(choice.values);
    if constexpr (is_maximum) {
      max_pool_backward(instance_ref(ctx), arrays[0], arrays[1], arrays[2], window);
    } else {
      average_pool_backward(instance_ref(ctx), arrays[0], arrays[1], window);
    }
  }

  double reference_part_cost(const shape& extents, const parameters& values) const override {
    const pooling_choice what(extents, values);
    return 20.0 * static_cast<double>(static_cast<std::int64_t>(what.window_elements()) + what.height * what.width);
  }

  /// A window hands its gradient to its elements. An element that gets k of them adds them up, which rounds k - 1 times
  /// at most (the first sum with 0 is exact), and each quotient of a mean is rounded once.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const pooling_choice what(choice.shape, choice.values);
    const auto elements = static_cast<std::size_t>(what.height * what.width);
    std::vector<double> plane(is_maximum ? elements : 0);
    if (is_maximum) inputs.read(0, part * what.height * what.width, plane);
    std::vector<double> gradients(static_cast<std::size_t>(what.rows * what.columns));
    inputs.read(of_dy, part * what.rows * what.columns, gradients);
    std::vector<long double> sums(elements), magnitudes(elements);
    std::vector<int> terms(elements);
    const auto hand_to = [&](std::int64_t r, std::int64_t c, long double gradient) {
      const auto index = static_cast<std::size_t>(r * what.width + c);
      sums[index] += gradient;
      magnitudes[index] += std::fabs(gradient);
      ++terms[index];
    };
    for (std::int64_t row = 0; row < what.rows; ++row) {
      for (std::int64_t column = 0; column < what.columns; ++column) {
        const auto rows = what.row_range(row), columns = what.column_range(column);
        const auto gradient =
            static_cast<long double>(gradients[static_cast<std::size_t>(row * what.columns + column)]);
        if constexpr (is_maximum) {
          const auto place = prumo::detail::first_of_largest<double>(plane.data(), what.width, 1, rows, columns);
          hand_to(place.row, place.column, gradient);
        } else {
          const auto count = static_cast<long double>(rows.length() * columns.length());
          for (std::int64_t r = rows.begin; r < rows.end; ++r) {
            for (std::int64_t c = columns.begin; c < columns.end; ++c) hand_to(r, c, gradient / count);
          }
        }
      }
    }
    for (std::size_t index = 0; index < elements; ++index) {
      const double roundings = std::max(0, terms[index] - 1) + (is_maximum ? 0 : 1);
      const long double bound = gamma(compute_type(choice.type), roundings) * magnitudes[index];
      out.push_back({of_dx, part * what.height * what.width + static_cast<std::int64_t>(index), sums[index],
                     stored_bound(choice.type, sums[index], bound)});
    }
  }

  /// Of windows that are apart, each element is compared once, by two comparisons, and each mean is divided once.
  /// Otherwise each element of each window adds, and searches its window or divides.
  flop_counts count_closed_form(const specification& choice) const override {
    const pooling_choice what(choice.shape, choice.values);
    flop_counts counts;
    if (!what.is_valid()) return counts;
    const std::uint64_t elements = what.window_elements();
    if (prumo::detail::are_windows_apart(what.window)) {
      if (is_maximum) counts[flop_kind::compare] = 2 * elements;
      if (!is_maximum) counts[flop_kind::div] = static_cast<std::uint64_t>(what.rows * what.columns);
    } else {
      counts[flop_kind::add] = elements;
      if (is_maximum) counts[flop_kind::compare] = 2 * what.squares_of_window_elements();
      if (!is_maximum) counts[flop_kind::div] = elements;
    }
    return counts * static_cast<std::uint64_t>(what.images * what.channels);
  }

 private:
  template <class T>
  static flop_counts count_with(const specification& choice) {
    using counting = counted<T>;
    const pooling_choice what(choice.shape, choice.values);
    const std::int64_t planes = what.images * what.channels;
    if (!what.is_valid() || planes == 0) return {};
    const input_values inputs(choice);
    const auto x = counted_values<T>(inputs, 0, is_maximum ? planes * what.height * what.width : 0);
    const auto dy = counted_values<T>(inputs, of_dy, planes * what.rows * what.columns);
    std::vector<counting> dx(static_cast<std::size_t>(planes * what.height * what.width));
    auto problem = base::template problem_of<prumo::detail::pooling_backward_problem<counting>>(what);
    problem.x = base::dense(what, x.data(), what.height, what.width);
    problem.dy = base::dense(what, dy.data(), what.rows, what.columns);
    problem.dx = base::dense(what, dx.data(), what.height, what.width);
    return prumo::detail::are_windows_apart(what.window)
               ? base::counts_of(prumo::detail::pooling_cells_host_kernel<Kind, counting>(problem))
               : base::counts_of(prumo::detail::pooling_gather_host_kernel<Kind, counting>(problem));
  }
};

}  // namespace prumo::cases
