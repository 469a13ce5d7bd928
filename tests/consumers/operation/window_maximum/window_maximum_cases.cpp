// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A case of rank 4 that says which shapes and parameters are worth a test, and which are invalid.

#include "window_maximum.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>

#include <algorithm>

namespace mine {
namespace {

using namespace prumo::cases;
using prumo::dtype;

struct windows {
  std::int64_t batch, channels, height, width, window, step;

  windows(const shape& extents, const parameters& values)
      : batch(extents.at("batch")),
        channels(extents.at("channels")),
        height(extents.at("height")),
        width(extents.at("width")),
        window(static_cast<std::int64_t>(values.at("window"))),
        step(static_cast<std::int64_t>(values.at("step"))) {}

  std::int64_t rows() const { return windows_in(height, window, step); }
  std::int64_t columns() const { return windows_in(width, window, step); }
  std::int64_t count() const { return batch * channels * rows() * columns(); }
};

template <class Exec>
struct window_maximum_case final : operation_case<Exec> {
  case_info info() const override {
    case_info result;
    result.op = "window_maximum";
    result.description = "y = the maximum of each window of x";
    result.axes = {{"batch", "images", 0, {1, 2}},
                   {"channels", "channels of an image", 8, {0, 1, 3}},
                   {"height", "rows of an image", 32, {1, 3, 4, 7, 16}},
                   {"width", "columns of an image", 32, {2, 3, 5, 33, 100}}};
    result.values = {{"window", "rows and columns of a window", 3, nullptr, {1, 2, 5, 0}},
                     {"step", "rows and columns from one window to the next", 2, nullptr, {1, 3, 0}}};
    result.types = {dtype::f32, dtype::f64};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    shape extents = {{"batch", 1}, {"channels", 8}, {"height", 32}, {"width", 32}};
    for (const auto& [axis, extent] : given) extents.set(axis, extent);
    const std::int64_t image = extents.at("channels") * extents.at("height") * extents.at("width");
    const auto image_bytes = std::max<std::int64_t>(1, image * static_cast<std::int64_t>(dtype_size(type)));
    if (!given.contains("batch")) extents.set("batch", std::max<std::int64_t>(1, bytes_per_array / image_bytes));
    return extents;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const windows what(extents, values);
    return {{"x", array_role::input, {what.batch, what.channels, what.height, what.width}},
            {"y", array_role::output, {what.batch, what.channels, what.rows(), what.columns()}}};
  }

  std::string why_invalid(const specification& choice) const override {
    const windows what(choice.shape, choice.values);
    return why_no_windows(what.height, what.width, what.window, what.step);
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const windows what(extents, values);
    const auto count = static_cast<double>(what.count());
    const auto read = static_cast<double>(what.batch * what.channels * what.height * what.width);
    return {(read + count) * static_cast<double>(dtype_size(type)), 0, count};
  }

  void run(prumo::context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const windows what(choice.shape, choice.values);
    window_maximum(ctx, what.window, what.step, arrays[0], arrays[1]);
  }

  /// A row of y a part.
  std::int64_t reference_parts(const shape& extents, const parameters& values) const override {
    const windows what(extents, values);
    return what.batch * what.channels * what.rows();
  }
  double reference_part_cost(const shape& extents, const parameters& values) const override {
    const windows what(extents, values);
    return 10.0 * static_cast<double>(what.window * what.width);
  }
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const windows what(choice.shape, choice.values);
    const std::int64_t first = part / what.rows() * what.height + part % what.rows() * what.step;
    std::vector<double> rows(static_cast<std::size_t>(what.window * what.width));
    inputs.read(0, first * what.width, rows);
    for (std::int64_t column = 0; column < what.columns(); ++column) {
      double largest = -1;
      for (std::int64_t i = 0; i < what.window; ++i) {
        const auto begin = rows.begin() + i * what.width + column * what.step;
        largest = std::max(largest, *std::max_element(begin, begin + what.window));
      }
      out.push_back({1, part * what.columns() + column, static_cast<long double>(largest), 0});
    }
  }

  prumo::flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  prumo::flop_counts count_closed_form(const specification& choice) const override {
    const windows what(choice.shape, choice.values);
    prumo::flop_counts counts;
    counts[prumo::flop_kind::minmax] = static_cast<std::uint64_t>(what.count() * what.window * what.window);
    return counts;
  }

 private:
  template <class T>
  prumo::flop_counts count_with(const specification& choice) const {
    using counting = prumo::counted<T>;
    const windows what(choice.shape, choice.values);
    std::vector<counting> numbers(static_cast<std::size_t>(what.batch * what.channels * what.height * what.width));
    std::vector<counting> results(static_cast<std::size_t>(what.count()));
    const prumo::array_ref x(numbers.data(), choice.type, {what.batch, what.channels, what.height, what.width});
    const prumo::array_ref y(results.data(), choice.type, {what.batch, what.channels, what.rows(), what.columns()});
    const window_maximum_kernel<counting> kernel{images<const counting>(x), images<counting>(y), what.window,
                                                 what.step};
    prumo::flop_counts counts;
    const prumo::counting_scope scope(counts);
    for (std::int64_t index = 0; index < kernel.blocks(); ++index) kernel(index);
    return counts;
  }
};

}  // namespace
}  // namespace mine

PRUMO_REGISTER_CASES(window_maximum, mine::window_maximum_case)
