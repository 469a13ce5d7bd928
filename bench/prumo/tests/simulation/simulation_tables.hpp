// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "simulated_comparison.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench::simulation {

// The tables of docs/comparing.md: a row for each pattern and number of runs, a column for each number of cases and
// spread.

inline constexpr std::array<double, 4> spreads{0.003, 0.005, 0.01, 0.02};
inline constexpr std::array<std::size_t, 3> case_counts{1, 20, 96};
inline constexpr std::array plans{run_plan{3, 3}, run_plan{6, 6}, run_plan{3, 17}, run_plan{6, 17}};

/// A cell of the tables.
struct cell {
  pattern chance = pattern::independent;
  run_plan plan;
  std::size_t cases = 1;
  double spread = 0.01;
};

/// What a table shows of the rates.
struct quantity {
  std::string_view title;
  double rates::* value;
  bool is_percentage;
};

inline constexpr std::array<quantity, 6> quantities{{
    {"Unchanged code: any case is called slower or faster (%)", &rates::false_verdict, true},
    {"A case 5 % slower is called slower (%)", &rates::found, true},
    {"A case 5 % slower: the gate passes (%)", &rates::missed, true},
    {"Unchanged code: intervals that contain 1 (%)", &rates::covered, true},
    {"Unchanged code: cases that stay unclear (%)", &rates::unclear, true},
    {"Unchanged code: process runs of each side", &rates::runs, false},
}};

/// `3`, `6`, `3:17`, as `--runs` takes them.
[[nodiscard]] std::string to_string(const run_plan& plan);

/// How many comparisons of each kind the published tables rest on.
[[nodiscard]] int published_trials(std::size_t cases);

/// All cells of these numbers of runs, in the order of the tables.
[[nodiscard]] std::vector<cell> all_cells(std::span<const run_plan> of = plans);

/// The rates of a cell. Each cell has numbers of its own.
[[nodiscard]] rates rates_of(const cell& which, int trials);

/// The tables as they stand in docs/comparing.md, `found` being the rates of the cells in order.
[[nodiscard]] std::string markdown_tables(std::span<const cell> cells, std::span<const rates> found);

/// The number in the cell of a published table, in percent where the table is.
/// \throws std::runtime_error if the document has no such cell
[[nodiscard]] double published_value(const std::string& document, const quantity& what, const cell& which);

}  // namespace prumo::bench::simulation
