// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace prumo::bench::simulation {
namespace {

/// The place of a cell's number among the columns of its row.
std::size_t column_of(const cell& which) {
  const auto cases = std::ranges::find(case_counts, which.cases) - case_counts.begin();
  const auto spread = std::ranges::find(spreads, which.spread) - spreads.begin();
  return static_cast<std::size_t>(cases) * spreads.size() + static_cast<std::size_t>(spread);
}

std::string label_of(pattern chance, const run_plan& plan) {
  return fmt::format("| {} | {} |", to_string(chance), to_string(plan));
}

std::string number_text(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string header() {
  std::string names = "| pattern | runs |";
  std::string rule = "|---|---|";
  for (const std::size_t cases : case_counts) {
    for (const double spread : spreads) {
      names += fmt::format(" {} x {:g} % |", cases, 100 * spread);
      rule += "---:|";
    }
  }
  return names + '\n' + rule + '\n';
}

/// What no test of independent effects can exceed.
std::string bound_rows() {
  std::string rows;
  for (const std::size_t runs : {std::size_t{3}, std::size_t{6}, plans.back().most}) {
    rows += fmt::format("| *bound* | {} |", runs);
    for (const std::size_t cases : case_counts) {
      for (const double spread : spreads) {
        rows += fmt::format(" {} |", number_text(100 * bound_of_power(spread, cases, runs)));
      }
    }
    rows += '\n';
  }
  return rows;
}

}  // namespace

std::string to_string(const run_plan& plan) {
  return plan.fewest == plan.most ? fmt::format("{}", plan.most) : fmt::format("{}:{}", plan.fewest, plan.most);
}

int published_trials(std::size_t cases) { return cases == 1 ? 4000 : cases == 20 ? 2000 : 1000; }

std::vector<cell> all_cells(std::span<const run_plan> of) {
  std::vector<cell> cells;
  for (const pattern chance : patterns) {
    for (const run_plan& plan : of) {
      for (const std::size_t cases : case_counts) {
        for (const double spread : spreads) cells.push_back({chance, plan, cases, spread});
      }
    }
  }
  return cells;
}

rates rates_of(const cell& which, int trials) {
  return simulate({which.chance, which.spread}, {which.cases, which.plan, true}, trials, 20261121);
}

std::string markdown_tables(std::span<const cell> cells, std::span<const rates> found) {
  const std::size_t columns = case_counts.size() * spreads.size();
  std::string text;
  for (const quantity& what : quantities) {
    text += fmt::format("{}**{}**\n\n{}", text.empty() ? "" : "\n", what.title, header());
    for (std::size_t first = 0; first < cells.size(); first += columns) {
      text += label_of(cells[first].chance, cells[first].plan);
      for (std::size_t i = first; i < first + columns; ++i) {
        text += fmt::format(" {} |", number_text((what.is_percentage ? 100 : 1) * (found[i].*what.value)));
      }
      text += '\n';
    }
    if (what.value == &rates::found) text += bound_rows();
  }
  return text;
}

double published_value(const std::string& document, const quantity& what, const cell& which) {
  std::istringstream lines(
      document.substr(std::min(document.size(), document.find(fmt::format("**{}**", what.title)))));
  const std::string label = label_of(which.chance, which.plan);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(label)) continue;
    std::istringstream fields(line.substr(label.size()));
    std::string field;
    for (std::size_t i = 0; i <= column_of(which); ++i) std::getline(fields, field, '|');
    return std::stod(field);
  }
  throw std::runtime_error(fmt::format("no row '{}' in the table '{}'", label, what.title));
}

}  // namespace prumo::bench::simulation
