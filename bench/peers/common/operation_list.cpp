// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layer_operations.hpp"
#include "operations.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prumo::peers {
namespace {

using input_values = const long double*;

operation elementwise_operation(const char* op, const char* description, int input_count, double flops,
                                long double (*exact)(input_values, const call&)) {
  operation made;
  made.op = op;
  made.description = description;
  made.inputs = input_count;
  made.flops_per_element = flops;
  made.exact = exact;
  return made;
}

operation with(operation made, std::vector<protocol::named_number> parameters) {
  made.parameters = std::move(parameters);
  return made;
}

operation swept(operation made) {
  made.in_default_sweep = true;
  return made;
}

operation of_positive(operation made) {
  made.positive_inputs = true;
  return made;
}

operation erring_by(operation made, long double (*scale)(input_values, const call&)) {
  made.error_scale = scale;
  return made;
}

operation shaped(const char* op, const char* description, operation_shape shape, double flops) {
  operation made;
  made.op = op;
  made.description = description;
  made.shape = shape;
  made.flops_per_element = flops;
  return made;
}

long double exact_gelu(input_values x, const call& it) {
  if (it.alpha == 0) return 0.5L * x[0] * std::erfc(-x[0] * std::numbers::sqrt2_v<long double> / 2);
  const long double inner =
      2 * std::sqrt(2 * std::numbers::inv_pi_v<long double>) * x[0] * (1 + 0.044715L * x[0] * x[0]);
  return x[0] / (1 + std::exp(-inner));
}

void add_elementwise(std::vector<operation>& all) {
  all.push_back(
      swept(elementwise_operation("add", "z = x + y", 2, 1, [](input_values x, const call&) { return x[0] + x[1]; })));
  all.push_back(swept(elementwise_operation("mul", "z = x * y, element by element", 2, 1,
                                            [](input_values x, const call&) { return x[0] * x[1]; })));
  all.push_back(swept(with(
      elementwise_operation("scale", "y = alpha x", 1, 1,
                            [](input_values x, const call& it) { return static_cast<long double>(it.alpha) * x[0]; }),
      {{"alpha", "the factor", 2.5}})));
  all.push_back(erring_by(with(elementwise_operation("axpby", "z = alpha x + beta y", 2, 3,
                                                     [](input_values x, const call& it) {
                                                       return static_cast<long double>(it.alpha) * x[0] +
                                                              static_cast<long double>(it.beta) * x[1];
                                                     }),
                               {{"alpha", "the factor of x", 2.5}, {"beta", "the factor of y", -1.5}}),
                          [](input_values x, const call& it) {
                            return std::fabs(static_cast<long double>(it.alpha) * x[0]) +
                                   std::fabs(static_cast<long double>(it.beta) * x[1]);
                          }));
  all.push_back(swept(elementwise_operation("sigmoid", "y = 1 / (1 + exp(-x))", 1, 3,
                                            [](input_values x, const call&) { return 1 / (1 + std::exp(-x[0])); })));
  all.push_back(swept(
      elementwise_operation("tanh", "y = tanh(x)", 1, 1, [](input_values x, const call&) { return std::tanh(x[0]); })));
  all.push_back(elementwise_operation("relu", "y = max(x, 0)", 1, 0,
                                      [](input_values x, const call&) { return std::max(x[0], 0.0L); }));
  all.push_back(
      erring_by(with(elementwise_operation("gelu", "y = x Phi(x), Phi of the normal distribution", 1, 5, exact_gelu),
                     {{"tanh", "1 for the approximation by tanh", 0}}),
                [](input_values x, const call&) { return std::fabs(x[0]); }));
  all.push_back(
      elementwise_operation("exp", "y = exp(x)", 1, 1, [](input_values x, const call&) { return std::exp(x[0]); }));
  all.push_back(of_positive(elementwise_operation("log", "y = ln x, of x in (0, 1)", 1, 1,
                                                  [](input_values x, const call&) { return std::log(x[0]); })));
  all.push_back(of_positive(elementwise_operation("sqrt", "y = sqrt(x), of x in (0, 1)", 1, 1,
                                                  [](input_values x, const call&) { return std::sqrt(x[0]); })));
  all.push_back(of_positive(elementwise_operation("rsqrt", "y = 1 / sqrt(x), of x in (0, 1)", 1, 2,
                                                  [](input_values x, const call&) { return 1 / std::sqrt(x[0]); })));
  all.push_back(elementwise_operation("copy", "y = x", 1, 0, [](input_values x, const call&) { return x[0]; }));
  all.push_back(
      with(elementwise_operation("fill", "y = value", 0, 0,
                                 [](input_values, const call& it) { return static_cast<long double>(it.alpha); }),
           {{"value", "the value", 0.75}}));
  for (const dtype target : all_dtypes) {
    const std::string name = name_of(target);
    all.push_back(elementwise_operation(("cast_" + name).c_str(), ("y = x in " + name).c_str(), 1, 0,
                                        [](input_values x, const call&) { return x[0]; }));
    all.back().output_type = target;
  }
}

void add_reductions(std::vector<operation>& all) {
  struct text {
    reduction_kind kind;
    const char* op;
    const char* of_array;
    const char* of_rows;
    double flops;
  };
  constexpr text texts[] = {
      {reduction_kind::sum, "sum", "the sum of all elements of x", "the sum of each row of x", 1},
      {reduction_kind::sum_of_squares, "sum_of_squares", "the sum of the squares of all elements of x",
       "the sum of squares of each row of x", 2},
      {reduction_kind::mean, "mean", "the mean of all elements of x", "the mean of each row of x", 1},
      {reduction_kind::max, "max", "the largest element of x", "the largest element of each row of x", 0},
      {reduction_kind::min, "min", "the smallest element of x", "the smallest element of each row of x", 0}};
  for (const text& it : texts) {
    all.push_back(shaped(it.op, it.of_array, operation_shape::reduction, it.flops));
    all.back().reduces_by = it.kind;
    all.back().in_default_sweep = it.kind == reduction_kind::sum;
    all.push_back(shaped((std::string(it.op) + "_rows").c_str(), it.of_rows, operation_shape::row_reduction, it.flops));
    all.back().reduces_by = it.kind;
  }
}

std::vector<operation> make_operations() {
  std::vector<operation> all;
  add_elementwise(all);
  add_reductions(all);
  all.push_back(swept(shaped("softmax", "the softmax of each row of x", operation_shape::rows, 4)));
  all.push_back(shaped("log_softmax", "the logarithm of the softmax of each row of x", operation_shape::rows, 5));
  all.back().logarithm = true;
  all.push_back(shaped("transpose", "y = x^T", operation_shape::transposition, 0));
  all.push_back(swept(with(shaped("gemm", "C = alpha op(A) op(B) + beta C", operation_shape::product, 0),
                           {{"alpha", "the factor of the product", 1},
                            {"beta", "the factor of the old C", 0},
                            {"trans_a", "1 where A is stored transposed", 0},
                            {"trans_b", "1 where B is stored transposed", 0}})));
  all.back().inputs = 2;
  add_layer_operations(all);
  return all;
}

}  // namespace

const std::vector<operation>& all_operations() {
  static const std::vector<operation> all = make_operations();
  return all;
}

const operation* find_operation(std::string_view op) {
  const auto found = std::ranges::find_if(all_operations(), [&](const operation& it) { return it.op == op; });
  return found == all_operations().end() ? nullptr : &*found;
}

}  // namespace prumo::peers
