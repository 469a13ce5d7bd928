// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution_reference.hpp"
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>

namespace prumo::cases {
namespace {

template <class Exec>
class convolution_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "convolution";
    result.description = "y = pool(act(w * x + bias)) for images x and filters w";
    // The defaults are those of the second layer of the net ece408-2020.
    result.axes = {{"images", "images of x", 0},
                   {"in_channels", "channels of x", 4},
                   {"height", "rows of an image of x", 40},
                   {"width", "columns of an image of x", 40},
                   {"out_channels", "channels of y", 16},
                   {"filter_rows", "rows of a filter", 7},
                   {"filter_columns", "columns of a filter", 7}};
    result.values = {
        {"stride", "the distance of neighbouring places of the filter", 1, nullptr, {2, 3, 0}},
        {"padding", "rows and columns of zeros at each side", 0, nullptr, {1, 2}},
        {"bias", "1 where y has a bias for each channel", 0, nullptr, {1}},
        {"activation", "0 none, 1 relu, 2 sigmoid, 3 tanh, 4 gelu, 5 gelu by tanh", 0, nullptr, {1, 2, 3, 4, 5}},
        {"pooling", "0 none, 1 the maximum of each window, 2 its mean", 0, nullptr, {1, 2}},
        {"window", "rows and columns of a window of the pooling, and its strides", 2, nullptr, {2}},
        {"round_up", "1 where windows that are partly outside count, too", 0, nullptr, {1}}};
    result.implementations = {"auto"};
    for (const std::string_view name :
         convolution_implementations(prumo::detail::space_kind_of<Exec>::value, dtype::f32)) {
      result.implementations.emplace_back(name);
    }
    if (!is_host_space<Exec>) result.compute_modes.emplace_back(gemm_mode_name(gemm_mode::fast_tf32));
    const auto extents = [](std::int64_t images, std::int64_t in_channels, std::int64_t height, std::int64_t width,
                            std::int64_t out_channels, std::int64_t filter_rows, std::int64_t filter_columns) {
      return shape{{"images", images},
                   {"in_channels", in_channels},
                   {"height", height},
                   {"width", width},
                   {"out_channels", out_channels},
                   {"filter_rows", filter_rows},
                   {"filter_columns", filter_columns}};
    };
    result.test_shapes = {
        extents(0, 2, 5, 5, 3, 3, 3),   extents(2, 3, 4, 7, 0, 2, 2),    extents(2, 0, 6, 6, 3, 3, 3),
        extents(3, 1, 1, 1, 1, 1, 1),   extents(1, 1, 3, 9, 2, 4, 3),    extents(2, 3, 3, 3, 5, 3, 3),
        extents(1, 1, 48, 48, 6, 5, 5), extents(2, 6, 22, 22, 16, 5, 5), extents(1, 2, 9, 150, 7, 3, 4),
        extents(3, 2, 17, 6, 12, 2, 3), extents(1, 5, 11, 13, 9, 1, 1),  extents(5, 3, 8, 5, 11, 4, 2),
        extents(1, 40, 30, 70, 3, 3, 3)};
    return result;
  }

  /// The size is that of x, from which the number of images follows.
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    const case_info own = info();
    shape of_x;
    for (const auto& [name, extent] : given) {
      if (!is_filter_axis(name)) of_x.set(name, extent);
    }
    case_info images = own;
    std::erase_if(images.axes, [](const axis& each) { return is_filter_axis(each.name); });
    shape result = resolve_axes(images, type, bytes_per_array, of_x);
    for (const axis& each : own.axes) {
      if (!is_filter_axis(each.name)) continue;
      const std::int64_t extent = given.contains(each.name) ? given.at(each.name) : each.fallback;
      if (extent < 0) {
        throw argument_error("convolution: axis " + each.name + " is " + std::to_string(extent) +
                             ", expected 0 or more");
      }
      result.set(each.name, extent);
    }
    return result;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const convolution_choice what(extents, values);
    std::vector<array_specification> result = {
        {"x", array_role::input, {what.images, what.in_channels, what.height, what.width}},
        {"w", array_role::input, {what.out_channels, what.in_channels, what.filter_rows, what.filter_columns}}};
    if (what.has_bias) result.push_back({"bias", array_role::input, {what.out_channels}});
    result.push_back({"y", array_role::output, {what.images, what.out_channels, what.y_rows, what.y_columns}});
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const convolution_choice what(extents, values);
    const auto product = [](auto... factors) { return (static_cast<double>(factors) * ...); };
    const double outputs = product(what.images, what.out_channels, what.y_rows, what.y_columns);
    const double elements = product(what.images, what.in_channels, what.height, what.width) + outputs +
                            product(what.out_channels, what.in_channels, what.filter_rows, what.filter_columns) +
                            (what.has_bias ? static_cast<double>(what.out_channels) : 0);
    return {elements * static_cast<double>(dtype_size(type)), static_cast<double>(what.counts().total()), outputs};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    convolve(context_ref(ctx), arrays[0], arrays[1], arrays.back(), options_of(choice, arrays));
  }

  std::string why_invalid(const specification& choice) const override {
    return convolution_choice(choice).why_invalid();
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return extents.at("images") * extents.at("out_channels");
  }
  double reference_part_cost(const shape& extents, const parameters& values) const override {
    const convolution_choice what(extents, values);
    return 10.0 * static_cast<double>(what.meetings()) * static_cast<double>(what.in_channels) +
           20.0 * static_cast<double>(what.in_channels * what.height * what.width);
  }
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    append_convolution_reference(choice, inputs, part, out);
  }

  std::string implementation_name(const specification& choice) const override {
    const convolution_choice what(choice);
    std::vector<array_ref> placed;
    for (const array_specification& each : arrays(choice.shape, choice.values)) {
      array_ref array;
      array.type = choice.type;
      array.rank = static_cast<int>(each.extents.size());
      std::ranges::copy(each.extents, array.extents);
      std::ranges::copy(strides_of(each.extents, choice.layout), array.strides);
      placed.push_back(array);
    }
    return std::string(
        convolution_implementation(Exec{}, placed[0], placed[1], placed.back(), options_of(choice, placed)));
  }

  std::string_view unit(const specification& choice) const override {
    return implementation_name(choice) == "tensor" ? "tensor" : "vector";
  }

  /// The sum of one place after the other is what can be run with counting scalars.
  std::string counted_implementation() const override { return "portable"; }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }
  flop_counts count_closed_form(const specification& choice) const override {
    return convolution_choice(choice).counts();
  }

 private:
  static bool is_filter_axis(std::string_view name) { return name == "out_channels" || name.starts_with("filter_"); }

  static convolution_options options_of(const specification& choice, case_arrays arrays) {
    const convolution_choice what(choice);
    convolution_options options;
    options.row_stride = options.column_stride = what.stride;
    options.row_padding = options.column_padding = what.padding;
    if (what.has_bias) options.bias = arrays[2];
    options.activation = what.activation;
    options.pooling = what.pooling;
    options.window = what.window;
    if (choice.compute_mode == gemm_mode_name(gemm_mode::fast_tf32)) options.mode = gemm_mode::fast_tf32;
    if (choice.implementation != "auto") options.implementation = choice.implementation;
    return options;
  }

  template <class T>
  static flop_counts count_with(const specification& choice) {
    const convolution_choice what(choice);
    const input_values inputs(choice);
    const std::int64_t plane = what.height * what.width, y_plane = what.y_rows * what.y_columns;
    const std::int64_t filter = what.filter_rows * what.filter_columns;
    const auto x = counted_values<T>(inputs, 0, what.images * what.in_channels * plane);
    const auto w = counted_values<T>(inputs, 1, what.out_channels * what.in_channels * filter);
    const auto bias = counted_values<T>(inputs, 2, what.has_bias ? what.out_channels : 0);
    std::vector<counted<T>> y(static_cast<std::size_t>(what.images * what.out_channels * y_plane));
    auto problem = what.problem<counted<T>>();
    problem.x = {x.data(), what.in_channels * plane, plane, what.width, 1};
    problem.w = {w.data(), what.in_channels * filter, filter, what.filter_columns, 1};
    problem.y = {y.data(), what.out_channels * y_plane, y_plane, what.y_columns, 1};
    if (what.has_bias) problem.bias = bias.data();
    flop_counts counts;
    const counting_scope scope(counts);
    backend::run_canonical_convolution(problem);
    return counts;
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(convolution, prumo::cases::convolution_case)
