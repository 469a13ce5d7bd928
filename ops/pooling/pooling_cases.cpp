// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

pooling_window window_of(const parameters& values) {
  const auto whole = [&](const char* name) { return static_cast<std::int64_t>(values.at(name)); };
  const bool up = values.at("round_up") != 0;
  return {whole("window"),
          whole("window"),
          whole("stride"),
          whole("stride"),
          whole("padding"),
          whole("padding"),
          up ? window_rounding::up : window_rounding::down};
}

/// Images, windows and results of a choice.
struct pooling_choice {
  std::int64_t images, channels, height, width;
  pooling_window window;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  pooling_choice(const shape& extents, const parameters& values)
      : images(extents.at("images")),
        channels(extents.at("channels")),
        height(extents.at("height")),
        width(extents.at("width")),
        window(window_of(values)) {
    if (!is_valid_window()) return;
    rows = pooled_extent(height, window.height, window.row_stride, window.row_padding, window.rounding);
    columns = pooled_extent(width, window.width, window.column_stride, window.column_padding, window.rounding);
  }

  bool is_valid_window() const {
    return window.height >= 1 && window.row_stride >= 1 && window.row_padding >= 0 &&
           window.row_padding < window.height;
  }
  bool is_valid() const { return height > 0 && width > 0 && rows > 0 && columns > 0; }

  window_range row_range(std::int64_t row) const {
    return {row, window.row_stride, window.row_padding, window.height, height};
  }
  window_range column_range(std::int64_t column) const {
    return {column, window.column_stride, window.column_padding, window.width, width};
  }

  /// The number of elements in all windows of one plane.
  std::uint64_t window_elements() const { return static_cast<std::uint64_t>(lengths_of_rows() * lengths_of_columns()); }

  /// The host's kernel joins the rows of each row of windows, for the columns that windows need, and then the columns
  /// of each window. It takes a stretch of windows at once.
  std::uint64_t joins() const {
    if (!is_valid()) return 0;
    const std::int64_t stretch = prumo::detail::windows_at_once(window);
    std::int64_t used = 0;
    for (std::int64_t begin = 0; begin < columns; begin += stretch) {
      used += column_range(std::min(columns, begin + stretch) - 1).end - column_range(begin).begin;
    }
    return static_cast<std::uint64_t>((lengths_of_rows() - rows) * used + rows * (lengths_of_columns() - columns));
  }

 private:
  std::int64_t lengths_of_rows() const {
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += row_range(row).length();
    return sum;
  }
  std::int64_t lengths_of_columns() const {
    std::int64_t sum = 0;
    for (std::int64_t column = 0; column < columns; ++column) sum += column_range(column).length();
    return sum;
  }
};

/// max_pool and average_pool.
template <class Exec, pooling_kind Kind>
class pooling_case final : public operation_case<Exec> {
  static constexpr bool is_maximum = Kind == pooling_kind::maximum;

 public:
  case_info info() const override {
    case_info result;
    result.op = is_maximum ? "max_pool" : "average_pool";
    result.description = is_maximum ? "the largest value of each window" : "the mean of each window";
    result.axes = {{"images", "images of x", 0},
                   {"channels", "channels of an image", 6},
                   {"height", "rows of an image", 44},
                   {"width", "columns of an image", 44}};
    result.values = {{"window", "rows and columns of a window", 2, nullptr, {1, 3, 5, 0}},
                     {"stride", "the distance of neighbouring windows", 2, nullptr, {1, 3, 0}},
                     {"padding", "rows and columns that are added at each side", 0, nullptr, {1, 2}},
                     {"round_up", "1: windows that are partly outside count, too", 0, nullptr, {1}}};
    result.test_shapes = {{{"images", 0}, {"channels", 3}, {"height", 5}, {"width", 5}},
                          {{"images", 3}, {"channels", 2}, {"height", 1}, {"width", 1}},
                          {{"images", 1}, {"channels", 1}, {"height", 0}, {"width", 7}},
                          {{"images", 2}, {"channels", 3}, {"height", 5}, {"width", 6}},
                          {{"images", 1}, {"channels", 5}, {"height", 34}, {"width", 17}},
                          {{"images", 2}, {"channels", 1}, {"height", 3}, {"width", 2100}},
                          {{"images", 5}, {"channels", 7}, {"height", 27}, {"width", 33}}};
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

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(pooling, prumo::cases::max_pool_case, prumo::cases::average_pool_case)
