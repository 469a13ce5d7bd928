// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pooling_backward_case.hpp"
#include "pooling_choice.hpp"
#include "pooling_kernel.hpp"
#include "pooling_reference.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>

#include <algorithm>

namespace prumo::cases {
namespace {

using prumo::detail::pooling_kind;
using prumo::detail::window_range;

/// max_pool and average_pool.
template <class Exec, pooling_kind Kind>
class pooling_case final : public operation_case<Exec> {
  static constexpr bool is_maximum = Kind == pooling_kind::maximum;

 public:
  case_info info() const override {
    case_info result;
    result.op = is_maximum ? "max_pool" : "average_pool";
    result.description = is_maximum ? "the largest value of each window" : "the mean of each window";
    add_pooling_axes(result);
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_axes(info(), type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const pooling_choice what(extents, values);
    return {{"x", array_role::input, {what.images, what.channels, what.height, what.width}},
            {"y", array_role::output, {what.images, what.channels, what.rows, what.columns}}};
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const pooling_choice what(extents, values);
    const auto planes = static_cast<double>(what.images * what.channels);
    const double inputs = planes * static_cast<double>(what.height * what.width);
    const double outputs = planes * static_cast<double>(what.rows * what.columns);
    return {(inputs + outputs) * static_cast<double>(dtype_size(type)),
            planes * static_cast<double>(what.window_elements()), outputs};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const pooling_window window = window_of(choice.values);
    if constexpr (is_maximum) {
      max_pool(instance_ref(ctx), arrays[0], arrays[1], window);
    } else {
      average_pool(instance_ref(ctx), arrays[0], arrays[1], window);
    }
  }

  std::string why_invalid(const specification& choice) const override {
    const pooling_choice what(choice.shape, choice.values);
    if (!what.is_valid_window()) return "the window, its stride or its padding cannot be";
    return what.is_valid() ? "" : "the images are smaller than the window";
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return extents.at("images") * extents.at("channels");
  }
  double reference_part_cost(const shape& extents, const parameters& values) const override {
    return 20.0 * static_cast<double>(pooling_choice(extents, values).window_elements());
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const pooling_choice what(choice.shape, choice.values);
    std::vector<double> plane(static_cast<std::size_t>(what.height * what.width));
    inputs.read(0, part * what.height * what.width, plane);
    std::int64_t index = part * what.rows * what.columns;
    for (std::int64_t row = 0; row < what.rows; ++row) {
      for (std::int64_t column = 0; column < what.columns; ++column) {
        const auto [value, bound] =
            exact(choice.type, plane, what.width, what.row_range(row), what.column_range(column));
        out.push_back({1, index++, value, stored_bound(choice.type, value, bound)});
      }
    }
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override {
    const pooling_choice what(choice.shape, choice.values);
    const auto windows = static_cast<std::uint64_t>(what.rows * what.columns);
    const auto planes = static_cast<std::uint64_t>(what.images * what.channels);
    flop_counts counts;
    counts[is_maximum ? flop_kind::minmax : flop_kind::add] = what.joins();
    if (!is_maximum) counts[flop_kind::div] = windows;
    return counts * planes;
  }

 private:
  static std::pair<long double, long double> exact(dtype type, const std::vector<double>& plane, std::int64_t width,
                                                   window_range rows, window_range columns) {
    window_reference window;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t c = columns.begin; c < columns.end; ++c) {
        window.add(static_cast<long double>(plane[static_cast<std::size_t>(r * width + c)]));
      }
    }
    return window.result(Kind, type);
  }

  template <class T>
  static flop_counts count_with(const specification& choice) {
    const pooling_choice what(choice.shape, choice.values);
    const std::int64_t planes = what.images * what.channels;
    const auto x = counted_values<T>(input_values(choice), 0, planes * what.height * what.width);
    std::vector<counted<T>> y(static_cast<std::size_t>(planes * what.rows * what.columns));
    prumo::detail::pooling_problem<counted<T>, counted<T>> problem;
    problem.x = {x.data(), what.channels * what.height * what.width, what.height * what.width, what.width, 1};
    problem.y = {y.data(), what.channels * what.rows * what.columns, what.rows * what.columns, what.columns, 1};
    problem.images = what.images;
    problem.channels = what.channels;
    problem.height = what.height;
    problem.width = what.width;
    problem.rows = what.rows;
    problem.columns = what.columns;
    problem.window = what.window;
    flop_counts counts;
    if (y.empty()) return counts;
    const counting_scope scope(counts);
    const prumo::detail::pooling_host_kernel<Kind, counted<T>, counted<T>> kernel(problem);
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    return counts;
  }
};

template <class Exec>
using max_pool_case = pooling_case<Exec, pooling_kind::maximum>;
template <class Exec>
using average_pool_case = pooling_case<Exec, pooling_kind::mean>;
template <class Exec>
using max_pool_backward_case = pooling_backward_case<Exec, pooling_kind::maximum>;
template <class Exec>
using average_pool_backward_case = pooling_backward_case<Exec, pooling_kind::mean>;

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(pooling, prumo::cases::max_pool_case, prumo::cases::average_pool_case,
                     prumo::cases::max_pool_backward_case, prumo::cases::average_pool_backward_case)
