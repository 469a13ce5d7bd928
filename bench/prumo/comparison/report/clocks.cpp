// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/report/clocks.hpp"

#include "comparison/context.hpp"
#include "reports/case_columns.hpp"
#include "results/result_fields.hpp"
#include "terminal/plural.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using align = text_table::align;
using role = text_table::role;

constexpr double notable_change = 0.01;

/// Cycles of different models are not compared: they do different work.
bool are_alike(const comparison& of, std::size_t side) {
  if (of.mode == comparison_mode::versions) return true;
  const auto name = [&](std::size_t place) {
    const comparison_side& it = of.sides[place];
    return text_of(field(device_entry(*it.sources.front(), it.device), "/name"));
  };
  return name(side) == name(of.base);
}

/// The clock of a side over that of the base; absent if one of them is not known.
std::optional<double> change_of_clock(const compared_case& it, std::size_t base, std::size_t side) {
  const auto before = figures_of(it.cells[base]).clock_mhz;
  const auto after = figures_of(it.cells[side]).clock_mhz;
  if (!before || !after || !(*before > 0)) return std::nullopt;
  return *after / *before;
}

bool is_notable(const compared_case& it, std::size_t base, std::size_t side) {
  const auto change = change_of_clock(it, base, side);
  return change && ratio_per_clock(it, base, side) && std::max(*change, 1 / *change) > 1 + notable_change;
}

std::string reasons_text(const cell_figures& base, const cell_figures& side) {
  const auto text = [](const cell_figures& figures) { return fmt::format("{}", fmt::join(figures.throttle, ", ")); };
  if (base.throttle == side.throttle) return text(base);
  const auto or_nothing = [&](const cell_figures& figures) { return figures.throttle.empty() ? "-" : text(figures); };
  return fmt::format("{} -> {}", or_nothing(base), or_nothing(side));
}

}  // namespace

std::optional<double> ratio_per_clock(const compared_case& it, std::size_t base, std::size_t side) {
  const case_outcome& outcome = it.outcomes.at(side);
  const auto change = change_of_clock(it, base, side);
  if (!outcome.refusal.empty() || !outcome.ratio || !change) return std::nullopt;
  return *outcome.ratio * *change;
}

std::string clock_lines(const comparison& of, std::span<const compared_case* const> cases, bool all,
                        const text_style& style) {
  const bool versions = of.mode == comparison_mode::versions;
  std::vector<std::pair<const compared_case*, std::size_t>> notable;
  std::vector<const json*> results;
  for (std::size_t side = 0; side < of.sides.size(); ++side) {
    if (side == of.base || !are_alike(of, side)) continue;
    for (const compared_case* it : cases) {
      if (it->cells[side].empty() || it->cells[of.base].empty() || !is_notable(*it, of.base, side)) continue;
      notable.emplace_back(it, side);
      results.push_back(&it->result());
    }
  }
  if (notable.empty()) return {};
  constexpr std::size_t most = 8;
  const std::size_t shown = all ? notable.size() : std::min(most, notable.size());
  const case_columns columns_of_case(results, {"device", "implementation"});
  std::vector<text_table::column> columns;
  columns_of_case.add_columns(columns);
  columns.push_back({versions ? "" : "device"});
  columns.push_back({"clock (MHz)", align::right});
  columns.push_back({"held down by"});
  columns.push_back({versions ? "time after/before" : "time over base", align::right});
  columns.push_back({"per clock", align::right});
  text_table table(std::move(columns));
  for (const auto& [it, side] : std::span(notable).first(shown)) {
    const cell_figures before = figures_of(it->cells[of.base]);
    const cell_figures after = figures_of(it->cells[side]);
    table.add_heading(columns_of_case.heading(it->result()));
    std::vector<text_table::cell> cells;
    columns_of_case.add_cells(it->result(), cells);
    cells.push_back({versions ? "" : of.sides[side].label});
    cells.push_back({fmt::format("{:.0f} -> {:.0f}", before.clock_mhz.value(), after.clock_mhz.value())});
    cells.push_back({reasons_text(before, after)});
    cells.push_back({format_significant(it->outcomes.at(side).ratio.value(), 4)});
    cells.push_back({format_significant(ratio_per_clock(*it, of.base, side).value(), 4)});
    table.add_row(std::move(cells));
  }
  std::string text = paragraph(fmt::format("{} at another clock:", plural(notable.size(), "case ran", "cases ran")),
                               style, emphasis::heading) +
                     table.render(style);
  if (shown < notable.size()) {
    text += paragraph(fmt::format("and {} more (--all shows them)", notable.size() - shown), style, emphasis::muted);
  }
  text += paragraph(
      "per clock: ratio of time x clock, so of the clock cycles of a call. Two cards of one model run at different "
      "clocks under one power limit. Where the times differ and the cycles do not, the clock is why, and the code is "
      "not slower. Calls that wait for memory do not follow this clock.",
      style, emphasis::muted);
  return text + '\n';
}

}  // namespace prumo::bench
