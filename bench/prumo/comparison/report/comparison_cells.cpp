// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/report/comparison_cells.hpp"

#include "reports/result_cells.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

std::optional<double> number_by(const cell_figures& figures, comparison_value by) {
  switch (by) {
    case comparison_value::roofline: return figures.roofline;
    case comparison_value::peak: return figures.peak;
    case comparison_value::energy: return figures.energy;
    default: return figures.seconds;
  }
}

std::string text_by(const case_cell& cell, const cell_figures& figures, comparison_value by, const text_style& style) {
  switch (by) {
    case comparison_value::time: return seconds_cell(or_null(figures.seconds), style);
    case comparison_value::rate: return rate_text(cell, figures);
    case comparison_value::elements:
      return figures.gelements ? format_rate(*figures.gelements * 1e9, " elem/s") : std::string();
    case comparison_value::roofline: return percent_cell(or_null(figures.roofline));
    case comparison_value::peak: return percent_cell(or_null(figures.peak));
    case comparison_value::energy:
      return figures.energy ? format_significant(*figures.energy, 3) + " J" : std::string();
  }
  return {};
}

}  // namespace

std::string_view to_string(comparison_value by) {
  switch (by) {
    case comparison_value::time: return "time";
    case comparison_value::rate: return "rate";
    case comparison_value::elements: return "elements";
    case comparison_value::roofline: return "roofline";
    case comparison_value::peak: return "peak";
    case comparison_value::energy: return "energy";
  }
  return "time";
}

std::string rate_text(const case_cell& cell, const cell_figures& figures) {
  json like = json::object();
  const json& result = representative(cell)->result;
  for (const char* name : {"bound", "bytes", "flops"}) {
    if (result.contains(name)) like[name] = result.at(name);
  }
  like["rates"] = {{"gflops", or_null(figures.gflops)},
                   {"gbytes", or_null(figures.gbytes)},
                   {"gelements", or_null(figures.gelements)}};
  return rate_cell(like);
}

text_table::cell value_cell(const case_cell& cell, comparison_value by, footnotes& notes, const text_style& style) {
  const measurement* row = representative(cell);
  if (row == nullptr) return {};
  const cell_figures figures = figures_of(cell);
  const std::string status = text_of(field(row->result, "/status"));
  if (!figures.seconds) {
    const std::string reason = text_of(field(row->result, "/reason"));
    if (status != "failed") return {status, emphasis::muted};
    return {"failed " + notes.add("failed: " + (reason.empty() ? "no reason given" : reason)), emphasis::bad};
  }
  std::string text = text_by(cell, figures, by, style);
  if (text.empty()) return {"n/a", emphasis::muted};
  if (figures.published) text += '*';
  if (field(row->result, "/verified") == false) {
    return {text + ' ' + notes.add("WRONG: the error of its result exceeded the bound"), emphasis::bad};
  }
  return {text};
}

std::optional<double> relative_value(const compared_case& it, std::size_t base, std::size_t side, comparison_value by) {
  const case_outcome& outcome = it.outcomes.at(side);
  if (!outcome.refusal.empty() || !outcome.ratio || !(*outcome.ratio > 0)) return std::nullopt;
  if (by == comparison_value::time || by == comparison_value::rate || by == comparison_value::elements) {
    return 1 / *outcome.ratio;
  }
  const auto before = number_by(figures_of(it.cells[base]), by);
  const auto after = number_by(figures_of(it.cells[side]), by);
  if (!before || !after || !(*before > 0)) return std::nullopt;
  return *after / *before;
}

text_table::cell relative_cell(const compared_case& it, std::size_t base, std::size_t side, comparison_value by,
                               footnotes& notes) {
  const case_outcome& outcome = it.outcomes.at(side);
  if (!outcome.refusal.empty()) return {"refused " + notes.add("refused: " + outcome.refusal), emphasis::bad};
  const auto value = relative_value(it, base, side, by);
  if (!value) return {};
  std::string text = format_significant(*value, 3) + 'x';
  emphasis how = emphasis::none;
  if (outcome.judged) {
    const judgement& judged = *outcome.judged;
    if (judged.low <= 1 && judged.high >= 1) text = '~' + text;
    if (judged.which == verdict::faster) how = emphasis::good;
    if (judged.which == verdict::slower) how = emphasis::bad;
  }
  return {text, how};
}

std::string interval_cell(const case_outcome& outcome) {
  if (!outcome.judged) return {};
  return fmt::format("{}..{}", format_significant(outcome.judged->low, 3), format_significant(outcome.judged->high, 3));
}

text_table::cell verdict_cell(const compared_case& it, std::size_t base, std::size_t side, footnotes& notes) {
  const case_outcome& outcome = it.outcomes.at(side);
  if (broke(it.cells[base], it.cells[side])) return {"broke", emphasis::bad};
  if (!outcome.refusal.empty()) return {"refused " + notes.add("refused: " + outcome.refusal), emphasis::bad};
  if (!outcome.judged) return {outcome.ratio ? "no verdict" : "", emphasis::muted};
  text_table::cell cell{std::string(to_string(outcome.judged->which))};
  if (outcome.judged->which == verdict::unclear && outcome.judged->not_slower) cell.text = "not slower";
  switch (outcome.judged->which) {
    case verdict::faster: cell.how = emphasis::good; break;
    case verdict::slower: cell.how = emphasis::bad; break;
    case verdict::unclear: cell.how = emphasis::muted; break;
    case verdict::same: break;
  }
  return cell;
}

}  // namespace prumo::bench
