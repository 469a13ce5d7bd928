// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operations.hpp"

#include "layer_operations.hpp"

#include <algorithm>
#include <cmath>

namespace prumo::peers {
namespace {

using protocol::error_kind;
using protocol::request_error;

constexpr double usual_row = 1024;  ///< elements of a row where nobody says otherwise

std::string names_of(const std::vector<protocol::named_number>& all) {
  std::string names;
  for (const auto& it : all) names += (names.empty() ? "" : ", ") + it.name;
  return names.empty() ? "none" : names;
}

void require_known(const operation& what, const char* noun, const std::vector<protocol::named_number>& known,
                   const std::string& name) {
  if (std::ranges::any_of(known, [&](const auto& it) { return it.name == name; })) return;
  throw request_error(error_kind::usage,
                      "there is no " + what.op + " " + noun + " '" + name + "'; there are: " + names_of(known));
}

bool is_matrix(const operation& what) {
  return what.shape == operation_shape::transposition || what.shape == operation_shape::row_reduction ||
         what.shape == operation_shape::rows;
}

std::int64_t& extent_of(const operation& what, call& extents, std::string_view axis) {
  if (is_layer(what)) return extents.layer.*layer_member(axis);
  return axis == "m" || axis == "rows" ? extents.m : axis == "k" ? extents.k : extents.n;
}

void set_parameter(const operation& what, call& extents, std::string_view name, double value) {
  if (is_layer(what)) {
    extents.layer.*layer_member(name) = static_cast<std::int64_t>(value);
    return;
  }
  if (name == "beta") {
    extents.beta = value;
  } else if (name == "trans_a") {
    extents.trans_a = value != 0;
  } else if (name == "trans_b") {
    extents.trans_b = value != 0;
  } else {
    extents.alpha = value;  // the factor of scale, axpby and gemm, the value of fill, whether gelu is by tanh
  }
}

double parameter_value(const operation& what, const call& extents, std::string_view name) {
  if (is_layer(what)) return static_cast<double>(extents.layer.*layer_member(name));
  if (name == "beta") return extents.beta;
  if (name == "trans_a") return extents.trans_a ? 1 : 0;
  if (name == "trans_b") return extents.trans_b ? 1 : 0;
  return extents.alpha;
}

/// The side of the largest square of this many elements.
std::int64_t square_side(std::int64_t elements) {
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
  while (side * side > elements) --side;
  return side;
}

/// Extents of arrays of this many elements, where they are not given.
void fit(const operation& what, call& extents, std::int64_t elements, bool has_rows, bool has_columns) {
  if (is_layer(what)) {
    fit_images(what, extents.layer, elements);
  } else if (what.shape == operation_shape::product) {
    extents.m = extents.n = extents.k = square_side(elements);
  } else if (!is_matrix(what)) {
    extents.n = elements;
  } else {
    const bool is_square = what.shape == operation_shape::transposition && !has_rows && !has_columns;
    const auto usual = is_square ? square_side(elements) : static_cast<std::int64_t>(usual_row);
    if (!has_columns && has_rows && extents.m > 0) {
      extents.n = std::max<std::int64_t>(1, elements / extents.m);
    } else if (!has_columns) {
      extents.n = std::max<std::int64_t>(1, usual);
    }
    if (!has_rows) extents.m = std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, extents.n));
  }
}

protocol::cost_model model_of(const operation& what, const call& it, dtype type) {
  const auto size = static_cast<double>(bytes_of(type));
  const auto m = static_cast<double>(it.m);
  const auto n = static_cast<double>(it.n);
  if (is_layer(what)) return layer_model(what, it.layer, type);
  switch (what.shape) {
    case operation_shape::elementwise: {
      const int read = inputs_read(what, it);
      const auto written = static_cast<double>(bytes_of(what.output_type.value_or(type)));
      const double flops = what.op == "axpby"                   ? std::max(0, 2 * read - 1)
                           : what.op == "gelu" && it.alpha != 0 ? 8
                                                                : what.flops_per_element;
      return {n * (read * size + written), n * flops, n, "vector"};
    }
    case operation_shape::reduction:
    case operation_shape::row_reduction: {
      const double results = what.shape == operation_shape::reduction ? 1 : m;
      const double elements = what.shape == operation_shape::reduction ? n : m * n;
      const double divisions = what.reduces_by == reduction_kind::mean ? results : 0;
      return {(elements + results) * size, elements * what.flops_per_element + divisions, elements, "vector"};
    }
    case operation_shape::transposition: return {2 * m * n * size, 0, m * n, "vector"};
    case operation_shape::rows: return {2 * m * n * size, m * n * what.flops_per_element + m, m * n, "vector"};
    default: break;
  }
  const auto k = static_cast<double>(it.k);
  const double inputs = it.alpha == 0 ? 0 : m * k + k * n;
  const double scaling = it.alpha == 1 || it.alpha == 0 ? 0 : m * n;
  const double adding = it.beta == 0 ? 0 : it.beta == 1 ? m * n : 2 * m * n;
  return {(inputs + (it.beta == 0 ? 1 : 2) * m * n) * size, 2 * m * n * k + scaling + adding, m * n, "vector"};
}

}  // namespace

int inputs_read(const operation& what, const call& values) {
  if (what.op == "axpby") return (values.alpha != 0 ? 1 : 0) + (values.beta != 0 ? 1 : 0);
  return what.inputs;
}

std::vector<array_extent> arrays_of(const operation& what, dtype type, const call& it) {
  if (is_layer(what)) return layer_arrays(what, it.layer, type);
  const std::int64_t matrix = it.m * it.n;
  switch (what.shape) {
    default: break;
    case operation_shape::transposition:
    case operation_shape::rows: return {{matrix, true, type}, {matrix, false, type}};
    case operation_shape::reduction: return {{it.n, true, type}, {1, false, type}};
    case operation_shape::row_reduction: return {{matrix, true, type}, {it.m, false, type}};
    case operation_shape::product:
      return {{it.m * it.k, true, type}, {it.k * it.n, true, type}, {matrix, it.beta != 0, type}};
  }
  std::vector<array_extent> arrays(static_cast<std::size_t>(what.inputs), {it.n, true, type});
  arrays.push_back({it.n, false, what.output_type.value_or(type)});
  return arrays;
}

std::vector<protocol::named_number> axes_of(const operation& what) {
  if (is_layer(what)) return layer_axes(what);
  switch (what.shape) {
    case operation_shape::elementwise: return {{"n", "elements of each array", {}}};
    case operation_shape::reduction: return {{"n", "elements of x", {}}};
    case operation_shape::transposition: return {{"rows", "rows of x", {}}, {"columns", "columns of x", {}}};
    case operation_shape::row_reduction:
    case operation_shape::rows: return {{"rows", "rows of x", {}}, {"columns", "elements of a row", usual_row}};
    default: break;
  }
  return {{"m", "rows of C", {}}, {"n", "columns of C", {}}, {"k", "columns of op(A), rows of op(B)", {}}};
}

call resolve(const operation& what, const protocol::case_request& request, std::int64_t bytes_per_array, dtype type) {
  call extents;
  const std::vector<protocol::named_number> axes = axes_of(what);
  const auto is_given = [&](std::string_view axis) {
    return std::ranges::any_of(request.shape, [&](const auto& it) { return it.first == axis; });
  };
  const auto take_given = [&] {
    for (const auto& [axis, extent] : request.shape) {
      require_known(what, "axis", axes, axis);
      extent_of(what, extents, axis) = extent;
    }
  };
  if (is_layer(what)) {
    for (const protocol::named_number& axis : axes) {
      extent_of(what, extents, axis.name) = static_cast<std::int64_t>(axis.fallback.value_or(0));
    }
  }
  take_given();
  if (bytes_per_array > 0) {
    const std::int64_t elements = bytes_per_array / static_cast<std::int64_t>(bytes_of(type));
    fit(what, extents, elements, is_given("rows"), is_given("columns"));
    take_given();
  } else {
    for (const protocol::named_number& axis : axes) {
      if (is_given(axis.name)) continue;
      if (!axis.fallback) {
        throw request_error(error_kind::usage,
                            what.op + ": axis " + axis.name + " is given neither by the shape nor by a size");
      }
      extent_of(what, extents, axis.name) = static_cast<std::int64_t>(*axis.fallback);
    }
  }
  for (const protocol::named_number& parameter : what.parameters) {
    set_parameter(what, extents, parameter.name, parameter.fallback.value_or(0));
  }
  for (const auto& [name, value] : request.parameters) {
    require_known(what, "parameter", what.parameters, name);
    set_parameter(what, extents, name, value);
  }
  if (is_layer(what)) require_layer(what, extents.layer);
  return extents;
}

std::size_t touched_bytes(const operation& what, dtype type, const call& extents) {
  constexpr std::size_t line = 64;
  std::size_t touched = 0;
  for (const array_extent& array : arrays_of(what, type, extents)) {
    const std::size_t bytes = static_cast<std::size_t>(array.elements) * bytes_of(array.type);
    touched += (bytes + line - 1) / line * line;
  }
  return touched;
}

protocol::resolve_answer describe(const operation& what, const call& it, dtype type) {
  protocol::resolve_answer answer;
  call extents = it;
  for (const auto& axis : axes_of(what)) answer.shape.emplace_back(axis.name, extent_of(what, extents, axis.name));
  for (const auto& parameter : what.parameters) {
    answer.parameters.emplace_back(parameter.name, parameter_value(what, it, parameter.name));
  }
  const auto m = static_cast<double>(it.m);
  const auto n = static_cast<double>(it.n);
  const auto k = static_cast<double>(it.k);
  const double most = is_layer(what)                           ? layer_elements(what, it.layer)
                      : what.shape == operation_shape::product ? m * k + k * n + m * n
                                                               : 3 * std::max(m, 1.0) * n;
  if (most * static_cast<double>(bytes_of(type)) > 0x1p60) {
    throw request_error(error_kind::memory, what.op +
                                                " of that shape needs more than 2^60 bytes of memory, more than "
                                                "any machine has available");
  }
  std::int64_t largest = 0;
  for (const array_extent& array : arrays_of(what, type, it)) {
    const std::int64_t bytes = array.elements * static_cast<std::int64_t>(bytes_of(array.type));
    answer.footprint_bytes += bytes;
    largest = std::max(largest, bytes);
  }
  answer.bytes_per_array = largest;
  answer.model = model_of(what, it, type);
  return answer;
}

}  // namespace prumo::peers
