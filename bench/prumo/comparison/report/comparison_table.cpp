// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/report/comparison_table.hpp"

#include "comparison/comparison_gate.hpp"
#include "comparison/context.hpp"
#include "comparison/report/clocks.hpp"
#include "reports/case_columns.hpp"
#include "reports/result_cells.hpp"
#include "terminal/plural.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using align = text_table::align;
using role = text_table::role;

std::string files_of(const comparison_side& side) {
  std::string files;
  for (const comparison_source* source : side.sources) files += (files.empty() ? "" : ", ") + source->name;
  return files;
}

/// Which files and devices stand on the sides.
std::string head(const comparison& of, const text_style& style) {
  text_table table({{""}, {""}, {""}});
  if (of.state != compared_state::turns) {
    table.add_row({{"state", emphasis::heading}, {fmt::format("{}: {}", to_string(of.state), describe(of.state))}});
  }
  if (of.mode == comparison_mode::versions) {
    table.add_row({{"before", emphasis::heading}, {files_of(of.sides[0])}});
    table.add_row({{"after", emphasis::heading}, {files_of(of.sides[1])}});
    std::set<std::string> devices;
    for (const compared_case& it : of.cases) devices.insert(it.device);
    for (const std::string& device : devices) {
      table.add_row({{device, emphasis::heading}, {describe_device(*of.sides[1].sources.front(), device)}});
    }
    return table.render(style);
  }
  for (std::size_t i = 0; i < of.sides.size(); ++i) {
    const comparison_side& side = of.sides[i];
    const std::string what = describe_device(*side.sources.front(), side.device);
    table.add_row({{side.label, emphasis::heading}, {what + (i == of.base ? " (base)" : "")}, {files_of(side)}});
  }
  return table.render(style);
}

std::string context_lines(const comparison& of, const comparison_view& view, const text_style& style) {
  const std::vector<context_difference> differences = context_differences(of);
  if (differences.empty()) return {};
  constexpr std::size_t most = 8;
  std::vector<text_table::column> columns{{"differs"}};
  const bool versions = of.mode == comparison_mode::versions;
  for (std::size_t i = 0; i < of.sides.size(); ++i) {
    columns.push_back({versions ? (i == 0 ? "before" : "after") : of.sides[i].label});
  }
  text_table table(std::move(columns));
  const std::size_t shown = view.all ? differences.size() : std::min(most, differences.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<text_table::cell> cells{{differences[i].what}};
    for (const std::string& value : differences[i].values) cells.push_back({value});
    table.add_row(std::move(cells));
  }
  std::string text = table.render(style);
  if (shown < differences.size()) {
    text +=
        paragraph(fmt::format("and {} more (--all shows them)", differences.size() - shown), style, emphasis::muted);
  }
  return text + '\n';
}

/// Cases in the order of tables, with the columns that tell them apart.
struct ordered_cases {
  std::vector<const compared_case*> cases;
  std::vector<const json*> results;
};

ordered_cases in_order(const comparison& of) {
  std::unordered_map<const json*, const compared_case*> case_of;
  std::vector<const json*> results;
  for (const compared_case& it : of.cases) {
    case_of.emplace(&it.result(), &it);
    results.push_back(&it.result());
  }
  ordered_cases ordered;
  ordered.results = in_table_order(std::move(results));
  for (const json* result : ordered.results) ordered.cases.push_back(case_of.at(result));
  return ordered;
}

/// Two values of a figure that both sides may know: `93.1% -> 95.2%`.
std::string both(const std::string& before, const std::string& after) {
  if (before.empty() && after.empty()) return {};
  return fmt::format("{} -> {}", before.empty() ? "n/a" : before, after.empty() ? "n/a" : after);
}

std::string share_text(const std::optional<double>& percent) {
  return percent ? percent_cell(json(*percent)) : std::string();
}

std::string energy_text(const std::optional<double>& joules) {
  return joules ? format_significant(*joules, 3) + " J" : std::string();
}

std::string versions_table(const ordered_cases& ordered, const comparison_view& view, footnotes& notes,
                           const text_style& style) {
  const bool by_time = view.by == comparison_value::time;
  const case_columns columns_of_case(ordered.results, {"implementation"});
  std::vector<text_table::column> columns;
  columns_of_case.add_columns(columns);
  columns.push_back({"implementation", align::left, role::axis});
  columns.push_back({"before", align::right});
  columns.push_back({"after", align::right});
  columns.push_back({by_time ? "after/before" : "time after/before", align::right});
  columns.push_back({fmt::format("{:.0f}% interval", 100 * view.judged_with.confidence), align::right});
  if (by_time) columns.push_back({"rate after", align::right, role::detail});
  if (view.by != comparison_value::roofline) columns.push_back({"% of roofline", align::right, role::detail});
  if (view.by != comparison_value::peak) columns.push_back({"% of peak", align::right, role::detail});
  if (view.by != comparison_value::energy) columns.push_back({"energy", align::right, role::detail});
  columns.push_back({"verdict"});

  text_table table(std::move(columns));
  for (const compared_case* it : ordered.cases) {
    table.add_heading(columns_of_case.heading(it->result()));
    const case_cell& before = it->cells[0];
    const case_cell& after = it->cells[1];
    const cell_figures figures_before = figures_of(before);
    const cell_figures figures_after = figures_of(after);
    const case_outcome& outcome = it->outcomes.at(1);
    std::vector<text_table::cell> cells;
    columns_of_case.add_cells(it->result(), cells);
    cells.push_back({it->implementation});
    cells.push_back(value_cell(before, view.by, notes, style));
    cells.push_back(value_cell(after, view.by, notes, style));
    cells.push_back({outcome.ratio && outcome.refusal.empty() ? format_significant(*outcome.ratio, 4) : std::string()});
    cells.push_back({interval_cell(outcome)});
    if (by_time) cells.push_back({figures_after.seconds ? rate_text(after, figures_after) : std::string()});
    if (view.by != comparison_value::roofline) {
      cells.push_back({both(share_text(figures_before.roofline), share_text(figures_after.roofline))});
    }
    if (view.by != comparison_value::peak) {
      const bool arithmetic = text_of(field(it->result(), "/bound")) == "compute";
      cells.push_back({arithmetic ? both(share_text(figures_before.peak), share_text(figures_after.peak)) : ""});
    }
    if (view.by != comparison_value::energy) {
      cells.push_back({both(energy_text(figures_before.energy), energy_text(figures_after.energy))});
    }
    cells.push_back(verdict_cell(*it, 0, 1, notes));
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string devices_table(const comparison& of, const ordered_cases& ordered, const comparison_view& view,
                          footnotes& notes, const text_style& style) {
  const case_columns columns_of_case(ordered.results, {"device", "implementation"});
  std::vector<text_table::column> columns;
  columns_of_case.add_columns(columns);
  for (std::size_t side = 0; side < of.sides.size(); ++side) {
    columns.push_back({of.sides[side].label, align::right});
    if (side != of.base) columns.push_back({"to base", align::right});
  }
  text_table table(std::move(columns));
  for (const compared_case* it : ordered.cases) {
    table.add_heading(columns_of_case.heading(it->result()));
    std::vector<text_table::cell> cells;
    columns_of_case.add_cells(it->result(), cells);
    for (std::size_t side = 0; side < of.sides.size(); ++side) {
      cells.push_back(value_cell(it->cells[side], view.by, notes, style));
      if (side != of.base) cells.push_back(relative_cell(*it, of.base, side, view.by, notes));
    }
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string lonely_lines(const comparison& of, const comparison_view& view, const text_style& style) {
  if (of.lonely.empty()) return {};
  if (view.all) {
    text_table table({{"without partner"}, {"side"}, {"why"}});
    for (const lonely_case& it : of.lonely) {
      table.add_row({{it.what.key}, {it.side}, {it.reason}});
    }
    return table.render(style) + '\n';
  }
  std::map<std::string, std::size_t> reasons;
  for (const lonely_case& it : of.lonely) ++reasons[it.reason];
  std::vector<std::pair<std::string, std::size_t>> order(reasons.begin(), reasons.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string line = fmt::format("{} without a partner (--all lists them):", plural(of.lonely.size(), "case", "cases"));
  constexpr std::size_t most = 4;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    line += fmt::format("{} {} ({})", i > 0 ? ";" : "", order[i].first, plural(order[i].second, "case", "cases"));
  }
  if (order.size() > most) line += fmt::format("; and {} other reasons", order.size() - most);
  return paragraph(line, style, emphasis::muted) + '\n';
}

std::string counts_line(std::size_t cases, const verdict_counts& counts) {
  const std::string line = plural(cases, "case compared", "cases compared");
  std::string parts;
  for (const auto& [count, name] :
       {std::pair(counts.same, "same"), std::pair(counts.faster, "faster"), std::pair(counts.slower, "slower"),
        std::pair(counts.not_slower, "not slower"), std::pair(counts.unclear - counts.not_slower, "unclear"),
        std::pair(counts.broke, "broke"), std::pair(counts.refused, "refused"),
        std::pair(counts.unjudged, "without verdict")}) {
    if (count > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, name);
  }
  return parts.empty() ? line : line + ": " + parts;
}

std::string legend(const comparison& of, const comparison_view& view) {
  bool assumed = false;
  std::set<std::string> publications;
  std::size_t from_moments = 0;
  for (const compared_case& it : of.cases) {
    for (const case_outcome& outcome : it.outcomes) {
      assumed = assumed || (outcome.judged && outcome.judged->spread_assumed);
      from_moments += outcome.judged && outcome.from_moments ? 1 : 0;
    }
    for (const case_cell& cell : it.cells) {
      for (const measurement* row : cell) {
        if (row->published) publications.insert(text_of(field(row->result, "/published/source")));
      }
    }
  }
  std::string text;
  if (of.mode == comparison_mode::versions) {
    text = fmt::format(
        "after/before: ratio of the times; above 1 is slower. same: the interval lies within {:.3g} %. slower, faster: "
        "the change is larger than that, and over all cases chance does not explain it. not slower: same or faster, "
        "but the runs do not tell which. unclear: the runs do not "
        "tell.",
        100 * view.judged_with.margin);
  } else if (view.by == comparison_value::roofline || view.by == comparison_value::peak) {
    text = "to base: ratio of the shares.";
  } else if (view.by == comparison_value::energy) {
    text = "to base: ratio of the energies; above 1 needs more.";
  } else {
    text = fmt::format("to base: speed relative to {}. ~: the {:.0f} % interval contains 1.", of.sides[of.base].label,
                       100 * view.judged_with.confidence);
  }
  if (assumed) {
    text += fmt::format(
        " A side with fewer than {} process runs has no verdict, and its interval assumes that it varies "
        "by {:.3g} % between runs.",
        fewest_runs, 100 * view.judged_with.assumed_run_spread);
  }
  if (from_moments > 0) {
    text += fmt::format(" {} from means and standard deviations, because the files have no samples.",
                        plural(from_moments, "interval comes", "intervals come"));
  }
  if (!publications.empty()) text += " *: published and not measured here, so there is no verdict";
  for (const std::string& publication : publications) text += publication.empty() ? "" : " (" + publication + ')';
  return text;
}

}  // namespace

std::string comparison_table(const comparison& of, const comparison_view& view, const text_style& style) {
  std::string out = head(of, style);
  out += '\n';
  out += context_lines(of, view, style);
  footnotes notes;
  const ordered_cases ordered = in_order(of);
  out += of.mode == comparison_mode::versions ? versions_table(ordered, view, notes, style)
                                              : devices_table(of, ordered, view, notes, style);
  out += '\n';
  if (const std::string lines = notes.render(style); !lines.empty()) out += lines + '\n';
  out += clock_lines(of, ordered.cases, view.all, style);
  out += lonely_lines(of, view, style);
  const verdict_counts counts = count_verdicts(of);
  out += paragraph(counts_line(of.cases.size(), counts), style, emphasis::heading);
  if (view.gated) {
    const gate_report report = report_gate(of, view.judged_with);
    out += paragraph(gate_line(of, report, view.judged_with), style,
                     report.outcome == gate_outcome::passed ? emphasis::good : emphasis::bad);
  }
  if (const std::string line = jumps_line(of); !line.empty()) out += paragraph(line, style);
  out += paragraph(legend(of, view), style, emphasis::muted);
  return out;
}

}  // namespace prumo::bench
