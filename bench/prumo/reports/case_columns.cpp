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

struct mode_column {
  const char* title;
  std::string (*read)(const json& result);
  const char* unit = "";   ///< behind a value that all rows share
  const char* usual = "";  ///< not worth a word where all rows have it
};

std::string threads_cell(const json& result) {
  const json& threads = field(result, "/threads");
  return threads.is_number() ? threads.dump() : std::string();
}

/// Files of before there was a choice have recorded calls; those with transfers never are.
std::string dispatch_cell(const json& result) {
  if (text_of(field(result, "/data")) == "transferred") return {};
  const std::string dispatch = text_of(field(result, "/dispatch"));
  return dispatch.empty() ? "recorded" : dispatch;
}

constexpr std::array<mode_column, 9> mode_columns = {{
    {"device", [](const json& result) { return text_of(field(result, "/device")); }},
    {"threads", threads_cell, " threads"},
    {"type", [](const json& result) { return text_of(field(result, "/dtype")); }},
    {"layout", [](const json& result) { return text_of(field(result, "/layout")); }},
    {"mode", [](const json& result) { return text_of(field(result, "/compute_mode")); }},
    {"data", data_cell},
    {"cache", [](const json& result) { return text_of(field(result, "/cache")); }},
    {"calls", dispatch_cell, " calls", "recorded"},
    {"by", [](const json& result) { return text_of(field(result, "/implementation")); }},
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

case_columns::case_columns(std::span<const json* const> shown, std::span<const json* const> all,
                           const std::set<std::string>& leave_out)
    : varied_(varied_parameters(all)) {
  for (std::size_t i = 0; i < mode_columns.size(); ++i) {
    if (leave_out.contains(mode_columns[i].title)) continue;
    std::set<std::string> values;
    for (const json* result : shown) values.insert(mode_columns[i].read(*result));
    values.erase("");
    if (values.size() > 1) modes_.push_back(i);
    if (values.size() != 1 || *values.begin() == mode_columns[i].usual) continue;
    common_ += (common_.empty() ? "" : ", ") + *values.begin() + mode_columns[i].unit;
  }
}

void case_columns::add_columns(std::vector<text_table::column>& columns) const {
  using align = text_table::align;
  columns.push_back({"size", align::right});
  columns.push_back({"shape", align::left});
  columns.push_back({"case", align::left});
  for (const std::size_t i : modes_) columns.push_back({mode_columns[i].title, align::left});
  columns.push_back({"parameters", align::left});
}

void case_columns::add_cells(const json& result, std::vector<text_table::cell>& cells) const {
  cells.push_back({size_cell(result)});
  cells.push_back({shape_cell(result)});
  cells.push_back({text_of(field(result, "/case"))});
  for (const std::size_t i : modes_) cells.push_back({mode_columns[i].read(result)});
  cells.push_back({parameters(result)});
}

std::string case_columns::parameters(const json& result) const {
  const auto names = varied_.find(text_of(field(result, "/op")));
  const json& values = field(result, "/parameters");
  std::string text;
  if (names == varied_.end() || !values.is_object()) return text;
  for (const std::string& name : names->second) {
    if (!values.contains(name)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, values.at(name).dump());
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
