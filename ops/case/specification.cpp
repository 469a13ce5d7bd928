// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/specification.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace prumo::cases {
namespace {

void check_axes(std::string_view op, const shape& given, const std::vector<std::string_view>& axes) {
  for (const auto& [name, extent] : given) {
    if (std::find(axes.begin(), axes.end(), name) == axes.end()) {
      std::string known;
      for (const std::string_view axis : axes) known.append(known.empty() ? "" : ", ").append(axis);
      throw argument_error(
          std::string(op).append(": there is no axis '").append(name).append("'; its axes are: ").append(known));
    }
    if (extent < 0) {
      throw argument_error(std::string(op) + ": axis " + name + " is " + std::to_string(extent) +
                           ", expected 0 or more");
    }
  }
}

/// An axis that follows from the size of the arrays needs a size.
void check_size(std::string_view op, std::string_view axis, std::int64_t bytes_per_array, const shape& given) {
  if (given.contains(axis) || bytes_per_array > 0) return;
  throw argument_error(std::string(op) + ": give axis " + std::string(axis) +
                       ", or the bytes of an array that it follows from");
}

}  // namespace

dtype element_type(const array_specification& array, dtype type) {
  if (array.indices_below) return array.type.value_or(dtype::i64);
  return array.is_product_result ? product_result_type(type) : array.type.value_or(type);
}

std::size_t element_bytes(const array_specification& array, dtype type) {
  return dtype_size(element_type(array, type));
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& extents, array_layout layout) {
  const std::size_t rank = extents.size();
  std::vector<std::int64_t> strides(rank);
  const std::int64_t gap = layout == array_layout::strided ? 3 : 0;
  std::int64_t next = layout == array_layout::strided ? 2 : 1;
  for (std::size_t step = 0; step < rank; ++step) {
    const std::size_t dimension = layout == array_layout::left ? step : rank - 1 - step;
    strides[dimension] = next;
    next = std::max<std::int64_t>(1, extents[dimension] * next + gap);
  }
  return strides;
}

void refuse_type(dtype type) {
  throw unsupported_error(std::string(dtype_name(type)) + " is a type of matrix products only");
}

shape resolve_vector(std::string_view op, dtype type, std::int64_t bytes_per_array, const shape& given) {
  check_axes(op, given, {"n"});
  check_size(op, "n", bytes_per_array, given);
  const std::int64_t fitting = bytes_per_array / static_cast<std::int64_t>(dtype_size(type));
  return {{"n", given.contains("n") ? given.at("n") : fitting}};
}

shape resolve_rows(const case_info& info, dtype type, std::int64_t bytes_per_array, const shape& given) {
  check_axes(info.op, given, {"rows", "columns"});
  check_size(info.op, "rows", bytes_per_array, given);
  const auto size = static_cast<std::int64_t>(dtype_size(type));
  std::int64_t columns = 0;
  for (const axis& each : info.axes) {
    if (each.name == "columns") columns = each.fallback;
  }
  if (given.contains("columns")) columns = given.at("columns");
  if (given.contains("rows")) {
    const std::int64_t rows = given.at("rows");
    // Rows of what length fill an array of that size.
    if (!given.contains("columns") && bytes_per_array > 0 && rows > 0) {
      columns = std::max<std::int64_t>(1, bytes_per_array / size / rows);
    }
    return {{"rows", rows}, {"columns", columns}};
  }
  const std::int64_t fitting = std::max<std::int64_t>(1, bytes_per_array / (std::max<std::int64_t>(1, columns) * size));
  return {{"rows", fitting}, {"columns", columns}};
}

shape resolve_axes(const case_info& info, dtype type, std::int64_t bytes_per_array, const shape& given,
                   std::initializer_list<std::string_view> of_other_arrays) {
  std::vector<std::string_view> names;
  for (const axis& each : info.axes) names.push_back(each.name);
  check_axes(info.op, given, names);
  const axis& first = info.axes.front();
  check_size(info.op, first.name, bytes_per_array, given);
  shape result;
  auto bytes = static_cast<std::int64_t>(dtype_size(type));
  for (const axis& each : info.axes) {
    result.set(each.name, given.contains(each.name) ? given.at(each.name) : each.fallback);
    if (&each == &first || std::ranges::find(of_other_arrays, each.name) != of_other_arrays.end()) continue;
    bytes *= std::max<std::int64_t>(1, result.at(each.name));
  }
  if (!given.contains(first.name)) result.set(first.name, std::max<std::int64_t>(1, bytes_per_array / bytes));
  return result;
}

shape resolve_matrix(std::string_view op, dtype type, std::int64_t bytes_per_array, const shape& given) {
  check_axes(op, given, {"rows", "columns"});
  const std::int64_t elements = bytes_per_array / static_cast<std::int64_t>(dtype_size(type));
  const auto fitting = [&](std::int64_t other) {
    return std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, other));
  };
  auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
  while (side * side > elements) --side;
  for (const std::string_view axis : {"rows", "columns"}) check_size(op, axis, bytes_per_array, given);
  if (given.contains("rows")) {
    const std::int64_t rows = given.at("rows");
    return {{"rows", rows}, {"columns", given.contains("columns") ? given.at("columns") : fitting(rows)}};
  }
  if (given.contains("columns")) return {{"rows", fitting(given.at("columns"))}, {"columns", given.at("columns")}};
  return {{"rows", std::max<std::int64_t>(1, side)}, {"columns", std::max<std::int64_t>(1, side)}};
}

template <class Value>
const Value& named_values<Value>::at(std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  std::string known;
  for (const auto& [key, value] : entries_) known += (known.empty() ? "" : ", ") + key;
  throw argument_error("there is no '" + std::string(name) + "' here; there are: " + (known.empty() ? "none" : known));
}

template <class Value>
void named_values<Value>::set(std::string_view name, Value value) {
  for (auto& [key, old] : entries_) {
    if (key == name) {
      old = value;
      return;
    }
  }
  entries_.emplace_back(std::string(name), value);
}

template class named_values<std::int64_t>;
template class named_values<double>;

std::string label_of(const specification& choice) {
  std::ostringstream text;
  text << choice.op << ' ' << dtype_name(choice.type) << ' ' << layout_name(choice.layout);
  for (const auto& [axis, extent] : choice.shape) text << ' ' << axis << '=' << extent;
  for (const auto& [name, value] : choice.values) text << ' ' << name << '=' << value;
  if (!choice.implementation.empty()) text << ' ' << choice.implementation;
  return text.str();
}

std::string_view layout_name(array_layout layout) {
  switch (layout) {
    case array_layout::right: return "right";
    case array_layout::left: return "left";
    case array_layout::strided: return "strided";
  }
  return "?";
}

}  // namespace prumo::cases
