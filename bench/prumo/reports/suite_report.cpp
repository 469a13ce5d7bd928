// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/suite_report.hpp"

#include "reports/bench_table.hpp"
#include "results/result_fields.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

std::vector<std::string> device_ids(const json& document) {
  std::vector<std::string> ids;
  for (const json& device : document.at("devices")) ids.push_back(text_of(device.at("id")));
  return ids;
}

/// The result of a case by its work, whatever its cache state and parameters.
const json* find_case(const json& document, const std::string& device, const json& like) {
  for (const json& result : document.at("results")) {
    if (result.at("device") == device && result.at("op") == like.at("op") && result.at("shape") == like.at("shape") &&
        result.at("dtype") == like.at("dtype") && result.at("data") == like.at("data")) {
      return &result;
    }
  }
  return nullptr;
}

std::string mflops_text(std::optional<double> mflops) { return mflops ? fmt::format("{:.2f}", *mflops) : "-"; }

void add_published(std::vector<text_table::cell>& cells, const json* result) {
  const auto figure = [&](const char* name) {
    return result == nullptr ? std::nullopt : number_of(field(*result, name));
  };
  const auto share = figure("/published/figures/efficiency_percent");
  cells.push_back({mflops_text(figure("/published/figures/mflops_per_s"))});
  cells.push_back({share ? fmt::format("{:.2f}", *share) : "-"});
}

void add_measured(std::vector<text_table::cell>& cells, const json* result) {
  const bool measured = result != nullptr && result->at("status") == "ok";
  const auto rate = measured ? number_of(field(*result, "/rates/gflops")) : std::nullopt;
  auto share = measured ? number_of(field(*result, "/percent/peak_max_clock")) : std::nullopt;
  if (measured && !share) share = number_of(field(*result, "/percent/peak_measured_clock"));
  cells.push_back({rate ? mflops_text(1000 * *rate) : measured ? "n/a" : "-"});
  cells.push_back({share ? fmt::format("{:.2f}", *share) : measured ? "n/a" : "-"});
}

/// The published results of an operation on the set's first device: one for each size, in the order of sizes.
std::vector<const json*> sizes_of(const json& published, const std::string& op) {
  const std::string first = device_ids(published).front();
  std::vector<const json*> rows;
  for (const json& result : published.at("results")) {
    if (result.at("op") == op && result.at("device") == first) rows.push_back(&result);
  }
  std::ranges::stable_sort(rows, {}, [](const json* it) { return number_of(it->at("bytes")).value_or(0); });
  return rows;
}

/// The texts at `pointer` of the results, each once, joined. Values may be lists of texts.
std::string all_of(const json& document, const char* pointer) {
  std::vector<std::string> texts;
  for (const json& result : document.at("results")) {
    const json& told = field(result, pointer);
    for (const json& it : told.is_array() ? told : json::array({told})) {
      if (std::ranges::find(texts, text_of(it)) == texts.end()) texts.push_back(text_of(it));
    }
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string sources_of(const json& document) { return all_of(document, "/published/source"); }
std::string lacks_of(const json& document) { return all_of(document, "/published/lacks"); }

}  // namespace

std::string suite_report(const suite& which, const published_set& published, const json& document,
                         const text_style& style) {
  using align = text_table::align;
  const std::vector<std::string> theirs = device_ids(published.document);
  const std::vector<std::string> ours = device_ids(document);
  std::string out;
  for (const suite_table& it : which.tables) {
    std::vector<text_table::column> columns = {{"MB", align::right}};
    for (const auto* devices : {&theirs, &ours}) {
      for (const std::string& device : *devices) {
        columns.push_back({device, align::right});
        columns.push_back({"%", align::right});
      }
    }
    text_table table(std::move(columns));
    for (const std::string& op : it.ops) {
      table.add_heading(op);
      for (const json* row : sizes_of(published.document, op)) {
        std::vector<text_table::cell> cells = {{field(*row, "/published/figures/mb").dump()}};
        for (const std::string& device : theirs) add_published(cells, find_case(published.document, device, *row));
        for (const std::string& device : ours) add_measured(cells, find_case(document, device, *row));
        table.add_row(std::move(cells));
      }
    }
    out += (out.empty() ? "" : "\n") +
           paragraph(it.title + ". MFlop/s, and efficiency in % of the peak", style, emphasis::heading) +
           table.render(style);
  }
  out += '\n' + paragraph(fmt::format("published: {}. The source lacks: {}.", sources_of(published.document),
                                      lacks_of(published.document)),
                          style, emphasis::muted);
  out += paragraph(
      "MB: the size of all arrays of the operation together, in MiB. Published rates and efficiencies count the flops "
      "that the GPU's counters saw, about 10 per element for sigmoid and tanh. Those measured here count an "
      "exponential as one flop; % is of the peak at the maximum clock, or at the measured clock if the maximum is "
      "unknown. add, mul, scale and gemm count the same in both.",
      style, emphasis::muted);
  return out;
}

std::string published_tables(std::span<const published_set> sets, const json& document, const text_style& style) {
  std::set<std::string> measured;
  for (const json& result : document.at("results")) measured.insert(text_of(result.at("op")));
  std::string out;
  for (const published_set& set : sets) {
    json shown = set.document;
    json kept = json::array();
    for (const json& result : shown.at("results")) {
      if (measured.contains(text_of(result.at("op")))) kept.push_back(result);
    }
    if (!kept.empty()) shown["results"] = std::move(kept);
    out += '\n' + paragraph("Published: " + set.name, style, emphasis::heading) +
           paragraph(fmt::format("{}. The source lacks: {}.", sources_of(shown), lacks_of(shown)), style,
                     emphasis::muted) +
           bench_table(shown, style);
  }
  return out;
}

}  // namespace prumo::bench
