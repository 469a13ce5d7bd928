// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "case_choice.hpp"

#include <prumo/case/prepared_case.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace prumo::worker {
namespace {

using protocol::error_kind;
using protocol::request_error;

constexpr std::array all_types{dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::f8_e4m3};
constexpr std::array all_layouts{cases::array_layout::right, cases::array_layout::left, cases::array_layout::strided};

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "none" : text;
}

template <class Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

std::vector<std::string> type_names(const auto& types) {
  std::vector<std::string> names;
  for (const dtype type : types) names.emplace_back(dtype_name(type));
  return names;
}

std::vector<std::string> layout_names(const auto& layouts) {
  std::vector<std::string> names;
  for (const cases::array_layout layout : layouts) names.emplace_back(cases::layout_name(layout));
  return names;
}

[[noreturn]] void refuse(error_kind kind, const std::string& message) { throw request_error(kind, message); }

[[noreturn]] void refuse_unknown(std::string_view what, const std::string& name, const std::string& known) {
  refuse(error_kind::usage, "there is no " + std::string(what) + " '" + name + "'; there are: " + known);
}

/// The value of this name. It must exist, and the operation must have it: `own` are the operation's values.
template <class Value, std::size_t Count>
Value find_named(const cases::case_info& info, std::string_view what, const std::string& name,
                 const std::array<Value, Count>& all, const std::vector<std::string>& all_names,
                 const std::vector<Value>& own, const std::vector<std::string>& own_names) {
  const auto found = std::ranges::find(all_names, name);
  if (found == all_names.end()) refuse_unknown(what, name, listed(all_names));
  const Value value = all[static_cast<std::size_t>(found - all_names.begin())];
  if (std::ranges::find(own, value) == own.end()) {
    refuse(error_kind::unsupported,
           info.op + " has no " + std::string(what) + " " + name + "; it has: " + listed(own_names));
  }
  return value;
}

double element_product(const cases::array_specification& array) {
  double product = 1;
  for (const std::int64_t extent : array.extents) product *= static_cast<double>(extent);
  return product;
}

}  // namespace

protocol::case_description describe(const cases::case_info& info, int arrays) {
  protocol::case_description described;
  described.op = info.op;
  described.kind = info.is_probe ? "probe" : "op";
  described.description = info.description;
  described.in_default_sweep = info.in_default_sweep;
  described.dtypes = type_names(info.types);
  described.layouts = layout_names(info.layouts);
  for (const cases::axis& axis : info.axes) {
    const auto fallback = axis.fallback > 0 ? std::optional(static_cast<double>(axis.fallback)) : std::nullopt;
    described.axes.push_back({axis.name, axis.description, fallback});
  }
  for (const cases::parameter& parameter : info.values) {
    described.parameters.push_back({parameter.name, parameter.description, parameter.fallback});
  }
  described.implementations = info.implementations;
  described.compute_modes = info.compute_modes;
  described.arrays = arrays;
  return described;
}

cases::specification choose(const cases::case_info& info, const protocol::case_request& request) {
  cases::specification choice;
  choice.op = info.op;
  choice.type =
      find_named(info, "type", request.dtype, all_types, type_names(all_types), info.types, type_names(info.types));
  choice.layout = find_named(info, "layout", request.layout, all_layouts, layout_names(all_layouts), info.layouts,
                             layout_names(info.layouts));
  for (const cases::parameter& parameter : info.values) {
    choice.values.set(parameter.name, parameter.fallback_of(choice.type, choice.layout));
  }
  for (const auto& [name, value] : request.parameters) {
    if (!choice.values.contains(name)) {
      refuse_unknown(info.op + " parameter", name, listed(names_of(info.values)));
    }
    choice.values.set(name, value);
  }
  choice.implementation = info.implementations.front();
  choice.compute_mode = info.compute_modes.front();
  return choice;
}

cases::shape given_shape(const cases::case_info& info, const protocol::case_request& request) {
  cases::shape given;
  for (const auto& [axis, extent] : request.shape) {
    const bool known = std::ranges::any_of(info.axes, [&](const cases::axis& it) { return it.name == axis; });
    if (!known) refuse_unknown(info.op + " axis", axis, listed(names_of(info.axes)));
    given.set(axis, extent);
  }
  return given;
}

void complete(cases::specification& choice, const cases::case_info& info, const protocol::prepare_request& request) {
  if (std::ranges::find(info.compute_modes, request.compute_mode) == info.compute_modes.end()) {
    refuse(error_kind::unsupported,
           info.op + " has no compute mode '" + request.compute_mode + "' here; it has: " + listed(info.compute_modes));
  }
  choice.compute_mode = request.compute_mode;
  if (request.implementation) {
    if (std::ranges::find(info.implementations, *request.implementation) == info.implementations.end()) {
      refuse_unknown(info.op + " implementation", *request.implementation, listed(info.implementations));
    }
    choice.implementation = *request.implementation;
  }
  choice.seed = request.seed;
}

std::int64_t checked_footprint(const std::vector<cases::array_specification>& arrays,
                               const cases::specification& choice) {
  double bytes = 0;
  for (const cases::array_specification& array : arrays) {
    // Gaps make an array larger by at most this factor, if all its extents are 1 (cases::strides_of()).
    const double gaps =
        choice.layout == cases::array_layout::strided ? 2 + 3 * static_cast<double>(array.extents.size()) : 1;
    bytes += gaps * element_product(array) * static_cast<double>(cases::element_bytes(array, choice.type));
  }
  if (bytes > 0x1p60) {
    refuse(error_kind::memory, case_label(choice) + " needs some " + std::to_string(bytes / 0x1p60) +
                                   " * 2^60 bytes of memory, more than any machine has available");
  }
  return static_cast<std::int64_t>(cases::footprint_bytes(arrays, choice.type, choice.layout));
}

std::int64_t largest_array_bytes(const std::vector<cases::array_specification>& arrays, dtype type) {
  double largest = 0;
  for (const cases::array_specification& array : arrays) {
    largest = std::max(largest, element_product(array) * static_cast<double>(cases::element_bytes(array, type)));
  }
  return static_cast<std::int64_t>(largest);
}

std::string case_label(const cases::specification& choice) {
  std::string label = choice.op + " " + std::string(dtype_name(choice.type));
  for (const auto& [axis, extent] : choice.shape) label += " " + axis + "=" + std::to_string(extent);
  return label;
}

}  // namespace prumo::worker
