// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/case_columns.hpp"

#include "reports/result_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

struct axis_column {
  const char* title;
  std::string (*read)(const json& result);
  text_table::align alignment = text_table::align::left;
};

std::string threads_cell(const json& result) {
  const json& threads = field(result, "/threads");
  return threads.is_number() ? threads.dump() : std::string();
}

/// Calls with transfers are never recorded.
std::string calls_cell(const json& result) {
  if (text_of(field(result, "/data")) == "transferred") return {};
  return text_of(field(result, "/dispatch")) == "single" ? "single" : "recorded";
}

constexpr std::array<axis_column, 12> axis_columns = {{
    {"size", size_cell, text_table::align::right},
    {"shape", shape_cell},
    {"case", [](const json& result) { return text_of(field(result, "/case")); }},
    {"device", [](const json& result) { return text_of(field(result, "/device")); }},
    {"threads", threads_cell},
    {"type", [](const json& result) { return text_of(field(result, "/dtype")); }},
    {"layout", [](const json& result) { return text_of(field(result, "/layout")); }},
    {"compute mode", [](const json& result) { return text_of(field(result, "/compute_mode")); }},
    {"data", data_cell},
    {"cache", [](const json& result) { return text_of(field(result, "/cache")); }},
    {"calls", calls_cell},
    {"implementation", [](const json& result) { return text_of(field(result, "/implementation")); }},
}};

std::map<std::string, std::set<std::string>> varied_parameters(std::span<const json* const> results) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;
  for (const json* result : results) {
    const json& parameters = field(*result, "/parameters");
    if (!parameters.is_object()) continue;
    for (const auto& [name, value] : parameters.items()) {
      values[text_of(field(*result, "/op"))][name].insert(value.dump());
    }
  }
  std::map<std::string, std::set<std::string>> varied;
  for (const auto& [op, names] : values) {
    for (const auto& [name, seen] : names) {
      if (seen.size() > 1) varied[op].insert(name);
    }
  }
  return varied;
}

}  // namespace

case_columns::case_columns(std::span<const json* const> results, std::set<std::string> leave_out)
    : varied_(varied_parameters(results)), leave_out_(std::move(leave_out)) {
  // Recorded calls go without saying.
  if (std::ranges::none_of(results, [](const json* it) { return calls_cell(*it) == "single"; }))
    leave_out_.insert("calls");
}

void case_columns::add_columns(std::vector<text_table::column>& columns) const {
  for (const axis_column& it : axis_columns) {
    if (!leave_out_.contains(it.title)) columns.push_back({it.title, it.alignment, text_table::role::axis});
  }
  columns.push_back({"parameters"});
}

void case_columns::add_cells(const json& result, std::vector<text_table::cell>& cells) const {
  for (const axis_column& it : axis_columns) {
    if (!leave_out_.contains(it.title)) cells.push_back({it.read(result)});
  }
  cells.push_back({parameters(result, true)});
}

std::string case_columns::heading(const json& result) const {
  const std::string op = text_of(field(result, "/op"));
  const std::string shared = parameters(result, false);
  return shared.empty() ? op : fmt::format("{} ({})", op, shared);
}

std::string case_columns::parameters(const json& result, bool differing) const {
  const auto names = varied_.find(text_of(field(result, "/op")));
  std::string text;
  const json& values = field(result, "/parameters");
  if (!values.is_object()) return text;
  for (const auto& [name, value] : values.items()) {
    if ((names != varied_.end() && names->second.contains(name)) != differing) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value.dump());
  }
  return text;
}

std::vector<const json*> in_table_order(std::vector<const json*> results) {
  std::map<std::string, std::size_t> first;
  for (const json* result : results) first.emplace(text_of(field(*result, "/op")), first.size());
  std::ranges::stable_sort(results, {}, [&](const json* result) {
    return std::pair(first.at(text_of(field(*result, "/op"))),
                     number_of(field(*result, "/bytes_per_array")).value_or(0));
  });
  return results;
}

}  // namespace prumo::bench
