// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution_backward_reference.hpp"
#include "filter_case.hpp"
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

/// What the cases of both gradients share.
template <class Exec>
class gradient_case : public filter_case<Exec> {
 public:
  std::string why_invalid(const specification& choice) const override { return backward_choice(choice).why_invalid(); }

 protected:
  static case_info gradient_info(std::string op, std::string description,
                                 const std::vector<std::string_view>& implementations) {
    case_info result = gradient_case::filter_info(std::move(op), std::move(description), implementations);
    result.test_shapes.push_back(gradient_case::extents(1, 4, 40, 40, 16, 7, 7));
    result.test_shapes.push_back(gradient_case::extents(70, 1, 5, 6, 2, 3, 3));
    return result;
  }
};

template <class Exec>
class backward_data_case final : public gradient_case<Exec> {
 public:
  case_info info() const override {
    return gradient_case<Exec>::gradient_info(
        "convolution_backward_data", "dx = the gradient of the images x of y = w * x",
        convolution_backward_data_implementations(prumo::detail::space_kind_of<Exec>::value, dtype::f32));
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
    static_cast<backend::convolution_geometry&>(problem) = what.geometry();
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
class backward_weights_case final : public gradient_case<Exec> {
 public:
  case_info info() const override {
    case_info result = gradient_case<Exec>::gradient_info(
        "convolution_backward_weights", "dw = the gradient of the filters w of y = w * x + bias, and that of the bias",
        convolution_backward_weights_implementations(prumo::detail::space_kind_of<Exec>::value, dtype::f32));
    result.values.push_back({"bias", "1 where y has a bias for each channel", 0, nullptr, {1}});
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
    static_cast<backend::convolution_geometry&>(problem) = what.geometry();
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
