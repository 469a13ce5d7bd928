// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operations.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prumo::peers {
namespace {

using protocol::error_kind;
using protocol::request_error;

[[noreturn]] void refuse_unknown(const std::string& op, const char* what, const std::string& name,
                                 const std::string& known) {
  throw request_error(error_kind::usage, "there is no " + op + " " + what + " '" + name +
                                             "'; there are: " + (known.empty() ? "none" : known));
}

std::vector<std::string> axes_of(const operation& what) {
  if (what.shape == operation_shape::product) return {"m", "n", "k"};
  return {"n"};
}

std::int64_t& extent_of(call& extents, std::string_view axis) {
  return axis == "m" ? extents.m : axis == "k" ? extents.k : extents.n;
}

void set_parameter(call& extents, std::string_view name, double value) {
  if (name == "beta") {
    extents.beta = value;
  } else if (name == "trans_a") {
    extents.trans_a = value != 0;
  } else if (name == "trans_b") {
    extents.trans_b = value != 0;
  } else {
    extents.alpha = value;  // the factor of scale and gemm, the value of fill, whether gelu is by tanh
  }
}

double parameter_value(const call& extents, std::string_view name) {
  if (name == "beta") return extents.beta;
  if (name == "trans_a") return extents.trans_a ? 1 : 0;
  if (name == "trans_b") return extents.trans_b ? 1 : 0;
  return extents.alpha;
}

/// The side of the largest square of so many elements.
std::int64_t square_side(std::int64_t elements) {
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
  while (side * side > elements) --side;
  return side;
}

protocol::cost_model model_of(const operation& what, const call& it, double value_bytes) {
  const auto n = static_cast<double>(it.n);
  if (what.shape == operation_shape::reduction) return {(n + 1) * value_bytes, n, n, "vector"};
  if (what.shape == operation_shape::elementwise) {
    return {(what.inputs + 1) * n * value_bytes, n * what.flops_per_element, n, "vector"};
  }
  const auto m = static_cast<double>(it.m);
  const auto k = static_cast<double>(it.k);
  const double inputs = it.alpha == 0 ? 0 : m * k + k * n;
  const double scaling = it.alpha == 1 || it.alpha == 0 ? 0 : m * n;
  const double adding = it.beta == 0 ? 0 : it.beta == 1 ? m * n : 2 * m * n;
  return {(inputs + (it.beta == 0 ? 1 : 2) * m * n) * value_bytes, 2 * m * n * k + scaling + adding, m * n, "vector"};
}

long double exact_gelu(const long double* x, const call& it) {
  if (it.alpha == 0) return 0.5L * x[0] * std::erfc(-x[0] * std::numbers::sqrt2_v<long double> / 2);
  const long double inner =
      2 * std::sqrt(2 * std::numbers::inv_pi_v<long double>) * x[0] * (1 + 0.044715L * x[0] * x[0]);
  return x[0] / (1 + std::exp(-inner));
}

std::vector<operation> make_operations() {
  const auto unary = [](const char* op, const char* description, double flops, auto exact) {
    return operation{op, description, operation_shape::elementwise, 1, flops, {}, exact};
  };
  const auto of_positive = [&](const char* op, const char* description, double flops, auto exact) {
    operation made = unary(op, description, flops, exact);
    made.positive_inputs = true;
    return made;
  };
  using inputs = const long double*;
  std::vector<operation> all;
  all.push_back(
      {"add", "z = x + y", operation_shape::elementwise, 2, 1, {}, [](inputs x, const call&) { return x[0] + x[1]; }});
  all.push_back(
      {"mul", "z = x * y, element by element", operation_shape::elementwise, 2, 1, {}, [](inputs x, const call&) {
         return x[0] * x[1];
       }});
  all.push_back({"scale",
                 "y = alpha x",
                 operation_shape::elementwise,
                 1,
                 1,
                 {{"alpha", "the factor", 2.5}},
                 [](inputs x, const call& it) { return static_cast<long double>(it.alpha) * x[0]; }});
  all.push_back({"axpby",
                 "z = alpha x + beta y",
                 operation_shape::elementwise,
                 2,
                 3,
                 {{"alpha", "the factor of x", 2.5}, {"beta", "the factor of y", -1.5}},
                 [](inputs x, const call& it) {
                   return static_cast<long double>(it.alpha) * x[0] + static_cast<long double>(it.beta) * x[1];
                 },
                 [](inputs x, const call& it) {
                   return std::fabs(static_cast<long double>(it.alpha) * x[0]) +
                          std::fabs(static_cast<long double>(it.beta) * x[1]);
                 }});
  all.push_back(
      unary("sigmoid", "y = 1 / (1 + exp(-x))", 3, [](inputs x, const call&) { return 1 / (1 + std::exp(-x[0])); }));
  all.push_back(unary("tanh", "y = tanh(x)", 1, [](inputs x, const call&) { return std::tanh(x[0]); }));
  all.push_back(unary("relu", "y = max(x, 0)", 0, [](inputs x, const call&) { return std::max(x[0], 0.0L); }));
  all.push_back({"gelu",
                 "y = x Phi(x), Phi of the normal distribution",
                 operation_shape::elementwise,
                 1,
                 5,
                 {{"tanh", "1 for the approximation by tanh", 0}},
                 exact_gelu,
                 [](inputs x, const call&) { return std::fabs(x[0]); }});
  all.push_back(unary("exp", "y = exp(x)", 1, [](inputs x, const call&) { return std::exp(x[0]); }));
  all.push_back(
      of_positive("log", "y = ln x, of x in (0, 1)", 1, [](inputs x, const call&) { return std::log(x[0]); }));
  all.push_back(
      of_positive("sqrt", "y = sqrt(x), of x in (0, 1)", 1, [](inputs x, const call&) { return std::sqrt(x[0]); }));
  all.push_back(of_positive("rsqrt", "y = 1 / sqrt(x), of x in (0, 1)", 2,
                            [](inputs x, const call&) { return 1 / std::sqrt(x[0]); }));
  all.push_back(unary("copy", "y = x", 0, [](inputs x, const call&) { return x[0]; }));
  all.push_back({"fill",
                 "y = value",
                 operation_shape::elementwise,
                 0,
                 0,
                 {{"value", "the value", 0.75}},
                 [](inputs, const call& it) { return static_cast<long double>(it.alpha); }});
  all.push_back({"sum", "the sum of all elements of x", operation_shape::reduction, 1, 1, {}, nullptr});
  all.push_back({"gemm",
                 "C = alpha op(A) op(B) + beta C",
                 operation_shape::product,
                 2,
                 0,
                 {{"alpha", "the factor of the product", 1},
                  {"beta", "the factor of the old C", 0},
                  {"trans_a", "1 where A is stored transposed", 0},
                  {"trans_b", "1 where B is stored transposed", 0}},
                 nullptr});
  std::erase_if(all, [](const operation& it) { return implementations_of(it.op).empty(); });
  return all;
}

}  // namespace

const std::vector<operation>& operations() {
  static const std::vector<operation> all = make_operations();
  return all;
}

std::vector<implementation> implementations_of(std::string_view op) {
  std::vector<implementation> found;
  for (const auto& group : {plain_loops(), streaming_loops(), vector_library_loops(), blas_calls()}) {
    std::ranges::copy_if(group, std::back_inserter(found), [&](const implementation& it) { return it.op == op; });
  }
  return found;
}

std::vector<array_extent> arrays_of(const operation& what, const call& it) {
  std::vector<array_extent> arrays;
  arrays.reserve(static_cast<std::size_t>(what.inputs) + 1);
  if (what.shape == operation_shape::product) {
    return {{it.m * it.k, true, false}, {it.k * it.n, true, false}, {it.m * it.n, it.beta != 0, true}};
  }
  for (int input = 0; input < what.inputs; ++input) arrays.push_back({it.n, true, false});
  arrays.push_back({what.shape == operation_shape::reduction ? 1 : it.n, false, true});
  return arrays;
}

call resolve(const operation& what, const protocol::case_request& request, std::int64_t bytes_per_array,
             std::size_t value_bytes) {
  call extents;
  const std::vector<std::string> axes = axes_of(what);
  const std::int64_t elements = bytes_per_array / static_cast<std::int64_t>(value_bytes);
  const std::int64_t fitting = what.shape == operation_shape::product ? square_side(elements) : elements;
  std::vector<std::string> missing = axes;
  for (const std::string& axis : axes) extent_of(extents, axis) = fitting;
  for (const auto& [axis, extent] : request.shape) {
    if (std::ranges::find(axes, axis) == axes.end()) {
      refuse_unknown(what.op, "axis", axis, axes.size() == 1 ? "n" : "m, n, k");
    }
    extent_of(extents, axis) = extent;
    std::erase(missing, axis);
  }
  if (bytes_per_array == 0 && !missing.empty()) {
    throw request_error(error_kind::usage,
                        what.op + ": axis " + missing.front() + " is not given and neither is a size");
  }
  for (const protocol::named_number& parameter : what.parameters) {
    set_parameter(extents, parameter.name, parameter.fallback.value_or(0));
  }
  for (const auto& [name, value] : request.parameters) {
    std::string known;
    for (const auto& it : what.parameters) known += (known.empty() ? "" : ", ") + it.name;
    const bool exists = std::ranges::any_of(what.parameters, [&](const auto& it) { return it.name == name; });
    if (!exists) refuse_unknown(what.op, "parameter", name, known);
    set_parameter(extents, name, value);
  }
  return extents;
}

protocol::resolve_answer describe(const operation& what, const call& it, std::size_t value_bytes) {
  protocol::resolve_answer answer;
  call extents = it;
  for (const std::string& axis : axes_of(what)) answer.shape.emplace_back(axis, extent_of(extents, axis));
  for (const auto& parameter : what.parameters) {
    answer.parameters.emplace_back(parameter.name, parameter_value(it, parameter.name));
  }
  const auto m = static_cast<double>(it.m);
  const auto n = static_cast<double>(it.n);
  const auto k = static_cast<double>(it.k);
  const double most = what.shape == operation_shape::product ? m * k + k * n + m * n : 3 * n;
  if (most * static_cast<double>(value_bytes) > 0x1p60) {
    throw request_error(error_kind::memory, what.op +
                                                " of that shape needs more than 2^60 bytes of memory, more than "
                                                "any machine has available");
  }
  for (const array_extent& array : arrays_of(what, it)) {
    const std::int64_t bytes = array.elements * static_cast<std::int64_t>(value_bytes);
    answer.footprint_bytes += bytes;
    answer.bytes_per_array = std::max(answer.bytes_per_array, bytes);
  }
  answer.model = model_of(what, it, static_cast<double>(value_bytes));
  return answer;
}

}  // namespace prumo::peers
