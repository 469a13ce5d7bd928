// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution_reference.hpp"
#include "filter_case.hpp"
#include <prumo/case/registry.hpp>

namespace prumo::cases {
namespace {

template <class Exec>
class convolution_case final : public filter_case<Exec> {
 public:
  case_info info() const override {
    case_info result = convolution_case::filter_info(
        "convolution", "y = pool(act(w * x + bias)) for images x and filters w",
        convolution_implementations(prumo::detail::space_kind_of<Exec>::value, dtype::f32));
    result.values.insert(
        result.values.end(),
        {{"bias", "1 where y has a bias for each channel", 0, nullptr, {1}},
         {"activation", "0 none, 1 relu, 2 sigmoid, 3 tanh, 4 gelu, 5 gelu by tanh", 0, nullptr, {1, 2, 3, 4, 5}},
         {"pooling", "0 none, 1 the maximum of each window, 2 its mean", 0, nullptr, {1, 2}},
         {"window", "rows and columns of a window of the pooling, and its strides", 2, nullptr, {2}},
         {"round_up", "1 where windows that are partly outside count, too", 0, nullptr, {1}}});
    if (!is_host_space<Exec>) result.compute_modes.emplace_back(gemm_mode_name(gemm_mode::fast_tf32));
    result.test_shapes.push_back(convolution_case::extents(1, 40, 30, 70, 3, 3, 3));
    return result;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const convolution_choice what(extents, values);
    std::vector<array_specification> result = {{"x", array_role::input, what.x_extents()},
                                               {"w", array_role::input, what.w_extents()}};
    if (what.has_bias) result.push_back({"bias", array_role::input, {what.out_channels}});
    result.push_back({"y", array_role::output, what.y_extents()});
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
    const std::vector<array_ref> placed = this->arrays_of(choice);
    return std::string(
        convolution_implementation(Exec{}, placed[0], placed[1], placed.back(), options_of(choice, placed)));
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }
  flop_counts count_closed_form(const specification& choice) const override {
    return convolution_choice(choice).counts();
  }

 private:
  static convolution_options options_of(const specification& choice, case_arrays arrays) {
    const convolution_choice what(choice);
    convolution_options options;
    options.row_stride = what.row_stride;
    options.column_stride = what.column_stride;
    options.row_padding = what.row_padding;
    options.column_padding = what.column_padding;
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
    const auto x = counted_images<T>::of(what.x_extents(), &inputs, 0);
    const auto w = counted_images<T>::of(what.w_extents(), &inputs, 1);
    const auto bias = counted_values<T>(inputs, 2, what.has_bias ? what.out_channels : 0);
    auto y = counted_images<T>::of(what.y_extents(), nullptr, 0);
    backend::convolution_problem<counted<T>> problem;
    static_cast<backend::convolution_geometry&>(problem) = what.geometry();
    problem.activation = what.activation;
    problem.pooling = what.pooling;
    problem.window = what.window;
    problem.y_rows = what.y_rows;
    problem.y_columns = what.y_columns;
    problem.x = x.input();
    problem.w = w.input();
    problem.y = y.array();
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
