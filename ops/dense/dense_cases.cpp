// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The case of dense layers is a view of the product's: its arrays are A, B, C and the bias of gemm, in this order.

#include "dense_backward_case.hpp"
#include "gemm_choice.hpp"
#include "gemm_reference.hpp"
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/dense.hpp>

#include <algorithm>

namespace prumo::cases {
namespace {

/// The product that a choice of a dense layer is.
specification product_of(const shape& extents, const parameters& values) {
  specification product;
  product.op = "gemm";
  product.shape = {{"m", extents.at("images")}, {"n", extents.at("features")}, {"k", extents.at("inputs")}};
  product.values = {{"alpha", 1},
                    {"beta", 0},
                    {"trans_a", 0},
                    {"trans_b", 1},
                    {"bias", values.at("bias") != 0 ? 1 : 0},
                    {"activation", values.at("activation")}};
  return product;
}

specification product_of(const specification& choice) {
  specification product = product_of(choice.shape, choice.values);
  product.type = choice.type;
  product.layout = choice.layout;
  product.implementation = choice.implementation;
  product.compute_mode = choice.compute_mode;
  product.seed = choice.seed;
  return product;
}

template <class Exec>
class dense_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "dense";
    result.description = "y = act(x w^T + bias), a layer of a net";
    result.axes = {{"images", "rows of x", 0}, {"inputs", "columns of x", 400}, {"features", "columns of y", 120}};
    result.values = {
        {"bias", "1 where y has a bias for each column", 1, nullptr, {0, 1}},
        {"activation", "0 none, 1 relu, 2 sigmoid, 3 tanh, 4 gelu, 5 gelu by tanh", 1, nullptr, {0, 2, 3, 4, 5}}};
    result.implementations = {"auto"};
    for (const std::string_view each : gemm_implementations(space, dtype::f32))
      result.implementations.emplace_back(each);
    if (!is_host_space<Exec>) {
      for (const gemm_mode mode : fast_modes) result.compute_modes.emplace_back(gemm_mode_name(mode));
    }
    const auto of = [](std::int64_t images, std::int64_t inputs, std::int64_t features) {
      return shape{{"images", images}, {"inputs", inputs}, {"features", features}};
    };
    result.test_shapes = {of(0, 5, 3),   of(3, 0, 4),     of(4, 6, 0),      of(1, 1, 1),
                          of(7, 84, 10), of(65, 33, 129), of(100, 400, 120)};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_axes(info(), type, bytes_per_array, given, {"features"});  // the size is that of x
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const gemm_choice what(product_of(extents, values));
    std::vector<array_specification> result = {{"x", array_role::input, {what.m, what.k}},
                                               {"w", array_role::input, {what.n, what.k}},
                                               {"y", array_role::output, {what.m, what.n}}};
    if (what.has_bias()) result.push_back({"bias", array_role::input, {what.n}});
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const gemm_choice what(product_of(extents, values));
    const std::int64_t elements = what.m * what.k + what.n * what.k + what.m * what.n + (what.has_bias() ? what.n : 0);
    return {static_cast<double>(elements) * static_cast<double>(dtype_size(type)),
            static_cast<double>(what.counts().total()), static_cast<double>(what.m * what.n), "tensor"};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const gemm_options product = options_of(choice, gemm_choice(product_of(choice)), {});
    dense_options options;
    options.activation = product.activation;
    options.mode = product.mode;
    options.implementation = product.implementation;
    if (arrays.size() == 4) options.bias = arrays[3];
    dense(ctx, arrays[0], arrays[1], arrays[2], options);
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return product_reference::parts(extents.at("images"), extents.at("features"));
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return product_reference::part_cost(extents.at("images"), extents.at("features"), extents.at("inputs"));
  }
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    append_gemm_reference(product_of(choice), inputs, part, out);
  }

  std::string implementation_name(const specification& choice) const override {
    const specification product = product_of(choice);
    const gemm_choice what(product);
    const gemm_operands<false> of(what, choice.type, choice.layout);
    return std::string(gemm_implementation(Exec{}, transposition::no, transposition::yes, 1, of.a, of.b, 0, of.c,
                                           options_of(product, what, of.bias)));
  }
  std::string_view unit(const specification& choice) const override {
    return gemm_uses_matrix_units(space, choice.type, implementation_name(choice)) ? "tensor" : "vector";
  }

  std::string counted_implementation() const override { return "portable"; }
  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }
  flop_counts count_closed_form(const specification& choice) const override {
    return gemm_choice(product_of(choice)).counts();
  }

 private:
  static constexpr space_kind space = prumo::detail::space_kind_of<Exec>::value;

  template <class T>
  static flop_counts count_with(const specification& choice) {
    const gemm_choice what(product_of(choice));
    const input_values inputs(choice);
    const auto x = counted_values<T>(inputs, 0, what.m * what.k), w = counted_values<T>(inputs, 1, what.k * what.n);
    const auto bias = counted_values<T>(inputs, 3, what.has_bias() ? what.n : 0);
    std::vector<counted<T>> y(static_cast<std::size_t>(what.m * what.n));
    const auto problem = problem_of<counted<T>>(what, x.data(), w.data(), y.data(), bias.data());
    flop_counts counts;
    const counting_scope scope(counts);
    backend::run_canonical_gemm(problem);
    return counts;
  }
};

template <class Exec>
using dense_backward_data_case = dense_backward_case<Exec, dense_gradient::data>;
template <class Exec>
using dense_backward_weights_case = dense_backward_case<Exec, dense_gradient::weights>;

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(dense, prumo::cases::dense_case, prumo::cases::dense_backward_data_case,
                     prumo::cases::dense_backward_weights_case)
