// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution_backward_reference.hpp"
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>

#include <algorithm>

namespace prumo::cases {
namespace {

convolution_backward_options options_of(const specification& choice) {
  const backward_choice what(choice);
  convolution_backward_options options;
  options.row_stride = what.row_stride;
  options.column_stride = what.column_stride;
  options.row_padding = what.row_padding;
  options.column_padding = what.column_padding;
  if (choice.implementation != "auto") options.implementation = choice.implementation;
  return options;
}

/// Images with counting scalars, row by row.
template <class T>
struct counted_images {
  std::vector<counted<T>> values;
  std::int64_t channels, rows, columns;

  prumo::detail::image_array<counted<T>> array() {
    return {values.data(), channels * rows * columns, rows * columns, columns, 1};
  }
  prumo::detail::image_array<const counted<T>> input() const {
    return {values.data(), channels * rows * columns, rows * columns, columns, 1};
  }

  /// Array number `which` of the inputs; or an output, full of zeros.
  static counted_images of(const std::vector<std::int64_t>& extents, const input_values* inputs, std::size_t which) {
    const std::int64_t count = extents[0] * extents[1] * extents[2] * extents[3];
    return {inputs != nullptr ? counted_values<T>(*inputs, which, count)
                              : std::vector<counted<T>>(static_cast<std::size_t>(count)),
            extents[1], extents[2], extents[3]};
  }
};

/// What the cases of both gradients share.
template <class Exec>
class backward_case : public operation_case<Exec> {
 public:
  /// The size is that of the images, from which their number follows.
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    const case_info own = this->info();
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
        throw argument_error(own.op + ": axis " + each.name + " is " + std::to_string(extent) + ", expected 0 or more");
      }
      result.set(each.name, extent);
    }
    return result;
  }

  std::string why_invalid(const specification& choice) const override { return backward_choice(choice).why_invalid(); }

  /// The sum of one result after the other is what can be run with counting scalars.
  std::string counted_implementation() const override { return "portable"; }

  std::string_view unit(const specification& choice) const override {
    return this->implementation_name(choice) == "tensor" ? "tensor" : "vector";
  }

 protected:
  static case_info common_info() {
    case_info result;
    // The defaults are those of the second layer of the net ece408-2020.
    result.axes = {{"images", "images of x", 0},
                   {"in_channels", "channels of x", 4},
                   {"height", "rows of an image of x", 40},
                   {"width", "columns of an image of x", 40},
                   {"out_channels", "channels of y", 16},
                   {"filter_rows", "rows of a filter", 7},
                   {"filter_columns", "columns of a filter", 7}};
    result.values = {{"stride", "the distance of neighbouring places of the filter", 1, nullptr, {2, 3, 0}},
                     {"padding", "rows and columns of zeros at each side", 0, nullptr, {1, 2}}};
    result.implementations = {"auto"};
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
        extents(0, 2, 5, 5, 3, 3, 3),    extents(2, 3, 4, 7, 0, 2, 2),    extents(2, 0, 6, 6, 3, 3, 3),
        extents(3, 1, 1, 1, 1, 1, 1),    extents(1, 1, 3, 9, 2, 4, 3),    extents(2, 3, 3, 3, 5, 3, 3),
        extents(1, 1, 48, 48, 6, 5, 5),  extents(2, 6, 22, 22, 16, 5, 5), extents(1, 2, 9, 150, 7, 3, 4),
        extents(3, 2, 17, 6, 12, 2, 3),  extents(1, 5, 11, 13, 9, 1, 1),  extents(5, 3, 8, 5, 11, 4, 2),
        extents(1, 4, 40, 40, 16, 7, 7), extents(70, 1, 5, 6, 2, 3, 3)};
    return result;
  }

  /// The arrays of a choice, without memory.
  std::vector<array_ref> arrays_of(const specification& choice) const {
    std::vector<array_ref> placed;
    for (const array_specification& each : this->arrays(choice.shape, choice.values)) {
      array_ref array;
      array.type = choice.type;
      array.rank = static_cast<int>(each.extents.size());
      std::ranges::copy(each.extents, array.extents);
      std::ranges::copy(strides_of(each.extents, choice.layout), array.strides);
      placed.push_back(array);
    }
    return placed;
  }

 private:
  static bool is_filter_axis(std::string_view name) { return name == "out_channels" || name.starts_with("filter_"); }
};

template <class Exec>
class backward_data_case final : public backward_case<Exec> {
 public:
  case_info info() const override {
    case_info result = backward_case<Exec>::common_info();
    result.op = "convolution_backward_data";
    result.description = "dx = the gradient of the images x of y = w * x";
    for (const std::string_view name :
         convolution_backward_data_implementations(prumo::detail::space_kind_of<Exec>::value, dtype::f32)) {
      result.implementations.emplace_back(name);
    }
    return result;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const backward_choice what(extents, values);
    return {{"dy", array_role::input, what.y_extents()},
            {"w", array_role::input, what.w_extents()},
            {"dx", array_role::output, what.x_extents()}};
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const backward_choice what(extents, values);
    return {what.elements() * static_cast<double>(dtype_size(type)), static_cast<double>(what.data_counts().total()),
            static_cast<double>(what.images * what.in_channels) * static_cast<double>(what.height * what.width)};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    convolve_backward_data(context_ref(ctx), arrays[0], arrays[1], arrays[2], options_of(choice));
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return extents.at("images") * extents.at("in_channels");
  }
  double reference_part_cost(const shape& extents, const parameters& values) const override {
    const backward_choice what(extents, values);
    return 10.0 * static_cast<double>(what.meetings()) * static_cast<double>(what.out_channels) +
           20.0 * static_cast<double>(what.out_channels * what.rows * what.columns);
  }
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    append_backward_data_reference(choice, inputs, part, out);
  }

  std::string implementation_name(const specification& choice) const override {
    const auto placed = this->arrays_of(choice);
    return std::string(
        convolution_backward_data_implementation(Exec{}, placed[0], placed[1], placed[2], options_of(choice)));
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }
  flop_counts count_closed_form(const specification& choice) const override {
    return backward_choice(choice).data_counts();
  }

 private:
  template <class T>
  static flop_counts count_with(const specification& choice) {
    const backward_choice what(choice);
    const input_values inputs(choice);
    const auto dy = counted_images<T>::of(what.y_extents(), &inputs, 0);
    const auto w = counted_images<T>::of(what.w_extents(), &inputs, 1);
    auto dx = counted_images<T>::of(what.x_extents(), nullptr, 2);
    backend::backward_data_problem<counted<T>> problem;
    static_cast<backend::convolution_geometry&>(problem) = what;
    problem.dy = dy.input();
    problem.w = w.input();
    problem.dx = dx.array();
    flop_counts counts;
    const counting_scope scope(counts);
    backend::run_canonical_backward_data(problem);
    return counts;
  }
};

template <class Exec>
class backward_weights_case final : public backward_case<Exec> {
 public:
  case_info info() const override {
    case_info result = backward_case<Exec>::common_info();
    result.op = "convolution_backward_weights";
    result.description = "dw = the gradient of the filters w of y = w * x + bias, and that of the bias";
    result.values.push_back({"bias", "1 where y has a bias for each channel", 0, nullptr, {1}});
    for (const std::string_view name :
         convolution_backward_weights_implementations(prumo::detail::space_kind_of<Exec>::value, dtype::f32)) {
      result.implementations.emplace_back(name);
    }
    return result;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const backward_choice what(extents, values);
    std::vector<array_specification> result = {{"x", array_role::input, what.x_extents()},
                                               {"dy", array_role::input, what.y_extents()},
                                               {"dw", array_role::output, what.w_extents()}};
    if (what.has_bias) result.push_back({"dbias", array_role::output, {what.out_channels}});
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const backward_choice what(extents, values);
    return {what.elements() * static_cast<double>(dtype_size(type)), static_cast<double>(what.weights_counts().total()),
            static_cast<double>(what.outputs_of_weights())};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    convolution_backward_options options = options_of(choice);
    if (arrays.size() > 3) options.bias = arrays[3];
    convolve_backward_weights(context_ref(ctx), arrays[0], arrays[1], arrays[2], options);
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return extents.at("out_channels") * std::max<std::int64_t>(1, extents.at("in_channels"));
  }
  double reference_part_cost(const shape& extents, const parameters& values) const override {
    const backward_choice what(extents, values);
    return static_cast<double>(what.images) *
           (10.0 * static_cast<double>(what.meetings()) +
            20.0 * static_cast<double>(what.height * what.width + what.rows * what.columns));
  }
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    std::vector<array_ref> placed;
    const convolution_backward_options options = complete_options(choice, placed);
    const std::int64_t chain =
        prumo::detail::backward_weights_longest_chain(Exec{}, placed[0], placed[1], placed[2], options);
    append_backward_weights_reference(choice, inputs, part, chain, out);
  }
  /// Implementations add in other orders, so their bounds differ.
  bool has_reference_for_each_implementation() const override { return true; }

  std::string implementation_name(const specification& choice) const override {
    std::vector<array_ref> placed;
    const convolution_backward_options options = complete_options(choice, placed);
    return std::string(convolution_backward_weights_implementation(Exec{}, placed[0], placed[1], placed[2], options));
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }
  flop_counts count_closed_form(const specification& choice) const override {
    return backward_choice(choice).weights_counts();
  }

 private:
  convolution_backward_options complete_options(const specification& choice, std::vector<array_ref>& placed) const {
    placed = this->arrays_of(choice);
    convolution_backward_options options = options_of(choice);
    if (placed.size() > 3) options.bias = placed[3];
    return options;
  }

  template <class T>
  static flop_counts count_with(const specification& choice) {
    const backward_choice what(choice);
    const input_values inputs(choice);
    const auto x = counted_images<T>::of(what.x_extents(), &inputs, 0);
    const auto dy = counted_images<T>::of(what.y_extents(), &inputs, 1);
    auto dw = counted_images<T>::of(what.w_extents(), nullptr, 2);
    std::vector<counted<T>> bias(static_cast<std::size_t>(what.out_channels));
    backend::backward_weights_problem<counted<T>> problem;
    static_cast<backend::convolution_geometry&>(problem) = what;
    problem.x = x.input();
    problem.dy = dy.input();
    problem.dw = dw.array();
    problem.has_bias = what.has_bias;
    problem.bias = bias.data();
    flop_counts counts;
    const counting_scope scope(counts);
    backend::run_canonical_backward_weights(problem);
    return counts;
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(convolution_backward, prumo::cases::backward_data_case, prumo::cases::backward_weights_case)
