// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The cases of dense_backward_data and dense_backward_weights. Like that of dense they are views of the product's:
/// their first arrays are A, B and C of gemm.

#include "gemm_choice.hpp"
#include "gemm_reference.hpp"
#include "reduction_counts.hpp"
#include <prumo/case/product_reference.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/dense_backward.hpp>
#include <prumo/reduction.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {

enum class dense_gradient : std::uint8_t { data, weights };

template <class Exec, dense_gradient Of>
class dense_backward_case final : public operation_case<Exec> {
  static constexpr bool is_of_data = Of == dense_gradient::data;

 public:
  case_info info() const override {
    case_info result;
    result.op = is_of_data ? "dense_backward_data" : "dense_backward_weights";
    result.description = is_of_data ? "dx = dy w, the gradient of a dense layer's input"
                                    : "dw = dy^T x, the gradient of a dense layer's weights, and that of its bias";
    result.axes = {
        {"images", "rows of dy", 0}, {"inputs", "inputs of the layer", 400}, {"features", "columns of dy", 120}};
    if (!is_of_data) result.values = {{"bias", "1 for the gradient of the bias, too", 1, nullptr, {0}}};
    result.implementations = {"auto"};
    for (const std::string_view each : gemm_implementations(space, dtype::f32))
      result.implementations.emplace_back(each);
    const auto of = [](std::int64_t images, std::int64_t inputs, std::int64_t features) {
      return shape{{"images", images}, {"inputs", inputs}, {"features", features}};
    };
    result.test_shapes = {of(0, 5, 3),   of(3, 0, 4),     of(4, 6, 0),       of(1, 1, 1),   of(1, 216, 10),
                          of(7, 84, 10), of(65, 33, 129), of(100, 400, 120), of(2000, 7, 5)};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_axes(info(), type, bytes_per_array, given, {"features"});  // the size is that of x
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const std::int64_t n = extents.at("images"), inputs = extents.at("inputs"), features = extents.at("features");
    std::vector<array_specification> result = {{"dy", array_role::input, {n, features}}};
    if (is_of_data) {
      result.push_back({"w", array_role::input, {features, inputs}});
      result.push_back({"dx", array_role::output, {n, inputs}});
    } else {
      result.push_back({"x", array_role::input, {n, inputs}});
      result.push_back({"dw", array_role::output, {features, inputs}});
      if (has_bias(values)) result.push_back({"bias", array_role::output, {features}});
    }
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const gemm_choice what(product_of(extents));
    const std::int64_t of_bias = has_bias(values) ? extents.at("features") : 0;
    const std::int64_t elements = what.m * what.k + what.n * what.k + what.m * what.n + of_bias;
    return {static_cast<double>(elements) * static_cast<double>(dtype_size(type)),
            static_cast<double>(what.counts().total()) + static_cast<double>(of_bias * extents.at("images")),
            static_cast<double>(what.m * what.n), "tensor"};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    dense_backward_options options;
    if (choice.implementation != "auto") options.implementation = choice.implementation;
    if constexpr (is_of_data) {
      dense_backward_data(ctx, arrays[0], arrays[1], arrays[2], options);
    } else {
      if (has_bias(choice.values)) options.bias = arrays[3];
      dense_backward_weights(ctx, arrays[1], arrays[0], arrays[2], options);
    }
  }

  /// The last part is the bias.
  std::int64_t reference_parts(const shape& extents, const parameters& values) const override {
    return parts_of_product(extents) + (has_bias(values) ? 1 : 0);
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    const gemm_choice what(product_of(extents));
    return product_reference::part_cost(what.m, what.n, what.k);
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    if (part < parts_of_product(choice.shape)) return append_gemm_reference(product_of(choice), inputs, part, out);
    const std::int64_t features = choice.shape.at("features"), n = choice.shape.at("images");
    const std::int64_t depth = reduce_depth(n, choice.type == dtype::f64 ? 8 : 4);
    for (std::int64_t column = 0; column < features; ++column) {
      reference_entry entry =
          reduction_reference(reduction::sum, choice.type, inputs, column_of(choice, column), column, depth);
      entry.which = 3;
      out.push_back(entry);
    }
  }

  std::string implementation_name(const specification& choice) const override {
    const specification product = product_of(choice);
    const gemm_choice what(product);
    const gemm_operands<false> of(what, choice.type, choice.layout);
    gemm_options options = options_of(product, what, {});
    if (is_host_space<Exec> && options.implementation.empty()) options.implementation = "portable";
    return std::string(gemm_implementation(Exec{}, as_transposition(what.trans_a), transposition::no, 1, of.a, of.b, 0,
                                           of.c, options));
  }
  std::string_view unit(const specification& choice) const override {
    return gemm_uses_matrix_units(space, choice.type, implementation_name(choice)) ? "tensor" : "vector";
  }

  std::string counted_implementation() const override { return "portable"; }
  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }
  flop_counts count_closed_form(const specification& choice) const override {
    flop_counts counts = gemm_choice(product_of(choice)).counts();
    if (has_bias(choice.values)) {
      counts += reduction_counts(reduction::sum, counted_kernels::of_axes, choice.type, choice.shape.at("images")) *
                static_cast<std::uint64_t>(choice.shape.at("features"));
    }
    return counts;
  }

 private:
  static constexpr space_kind space = prumo::detail::space_kind_of<Exec>::value;

  static bool has_bias(const parameters& values) { return !is_of_data && values.at("bias") != 0; }

  /// The product that a gradient is.
  static specification product_of(const shape& extents) {
    const std::int64_t n = extents.at("images"), inputs = extents.at("inputs"), features = extents.at("features");
    specification product;
    product.op = "gemm";
    product.shape = {{"m", is_of_data ? n : features}, {"n", inputs}, {"k", is_of_data ? features : n}};
    product.values = {{"alpha", 1},   {"beta", 0}, {"trans_a", is_of_data ? 0 : 1},
                      {"trans_b", 0}, {"bias", 0}, {"activation", 0}};
    return product;
  }
  static specification product_of(const specification& choice) {
    specification product = product_of(choice.shape);
    product.type = choice.type;
    product.layout = choice.layout;
    product.implementation = choice.implementation;
    product.compute_mode = choice.compute_mode;
    product.seed = choice.seed;
    return product;
  }

  static std::int64_t parts_of_product(const shape& extents) {
    const gemm_choice what(product_of(extents));
    return product_reference::parts(what.m, what.n);
  }

  /// A column of dy, as the elements of the array that a sum is made of.
  static case_row column_of(const specification& choice, std::int64_t column) {
    return {column, 1, choice.shape.at("features"), choice.shape.at("images")};
  }

  template <class T>
  static flop_counts count_with(const specification& choice) {
    const gemm_choice what(product_of(choice));
    const input_values inputs(choice);
    const auto a = counted_values<T>(inputs, 0, what.m * what.k), b = counted_values<T>(inputs, 1, what.k * what.n);
    std::vector<counted<T>> c(static_cast<std::size_t>(what.m * what.n));
    const counted<T>* const no_bias = nullptr;
    const auto problem = problem_of<counted<T>>(what, a.data(), b.data(), c.data(), no_bias);
    flop_counts counts;
    {
      const counting_scope scope(counts);
      backend::run_canonical_gemm(problem);
    }
    if (!has_bias(choice.values)) return counts;
    for (std::int64_t column = 0; column < choice.shape.at("features"); ++column) {
      counts += count_reduction_kernel(reduction::sum, counted_kernels::of_axes, choice, column_of(choice, column));
    }
    return counts;
  }
};

}  // namespace prumo::cases
