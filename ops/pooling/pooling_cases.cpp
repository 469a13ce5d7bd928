// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pooling_backward_case.hpp"
#include "pooling_host_kernel.hpp"
#include "pooling_reference.hpp"
#include "window_case.hpp"
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>

#include <algorithm>

namespace prumo::cases {
namespace {

using prumo::detail::pooling_kind;
using prumo::detail::window_range;

/// max_pool and average_pool.
template <class Exec, pooling_kind Kind>
class pooling_case final : public window_case<pooling_case<Exec, Kind>, Exec, Kind> {
  using base = window_case<pooling_case<Exec, Kind>, Exec, Kind>;
  friend base;
  using base::is_maximum;

 public:
  case_info info() const override {
    case_info result;
    result.op = is_maximum ? "max_pool" : "average_pool";
    result.description = is_maximum ? "the largest value of each window" : "the mean of each window";
    add_pooling_axes(result);
    return result;
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
    if (y.empty()) return {};
    auto problem = base::template problem_of<prumo::detail::pooling_problem<counted<T>, counted<T>>>(what);
    problem.x = base::dense(what, x.data(), what.height, what.width);
    problem.y = base::dense(what, y.data(), what.rows, what.columns);
    return base::counts_of(prumo::detail::pooling_host_kernel<Kind, counted<T>, counted<T>>(problem));
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
