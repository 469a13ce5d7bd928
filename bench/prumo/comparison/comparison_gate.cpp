// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/comparison_gate.hpp"

#include "statistics/statistics.hpp"
#include "terminal/plural.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace prumo::bench {
namespace {

/// Applies `use` to each outcome of two sides that both tried the case.
template <typename Use>
void for_each_outcome(const comparison& of, Use use) {
  for (const compared_case& it : of.cases) {
    for (std::size_t side = 0; side < of.sides.size(); ++side) {
      if (side == of.base || it.cells[side].empty() || it.cells[of.base].empty()) continue;
      use(it, side, it.outcomes.at(side));
    }
  }
}

std::size_t judged_cases(const comparison& of) {
  std::size_t count = 0;
  for_each_outcome(
      of, [&](const compared_case&, std::size_t, const case_outcome& outcome) { count += outcome.judged ? 1 : 0; });
  return count;
}

/// How the user comes to three process runs of each side.
std::string how_to_get_runs(compared_state state, double percent) {
  if (state != compared_state::turns) {
    return fmt::format(
        "compare {} files of each that `prumo bench --power-states all` wrote: `prumo compare A1 A2 A3 "
        "--to B1 B2 B3 --state {} --gate {:.3g}%`",
        fewest_runs, to_string(state), percent);
  }
  return fmt::format(
      "`prumo bench --against OLD_BUILD --gate {:.3g}%` measures both builds in turns, which tells most. "
      "Or compare {} files of each: `prumo compare A1 A2 A3 --to B1 B2 B3 --gate {:.3g}%`",
      percent, fewest_runs, percent);
}

}  // namespace

gate_report report_gate(const comparison& of, const judge_options& judged_with) {
  gate_report report;
  bool failed = false;
  bool hopeless = false;
  std::size_t most = 0;
  const std::size_t cases = judged_cases(of);
  for_each_outcome(of, [&](const compared_case& it, std::size_t side, const case_outcome& outcome) {
    const bool is_slower = outcome.judged && outcome.judged->which == verdict::slower;
    if (is_slower || broke(it.cells[of.base], it.cells[side])) {
      failed = true;
    } else if (!outcome.judged) {
      const bool ran_before = figures_of(it.cells[of.base]).seconds.has_value();
      report.undecided += ran_before || !outcome.refusal.empty() ? 1 : 0;
    } else if (!rules_out_slower(*outcome.judged)) {
      ++report.undecided;
      ++report.noisy;
      report.too_few_runs += outcome.judged->spread_assumed ? 1 : 0;
      const auto further = further_runs(*outcome.judged, cases, judged_with);
      hopeless = hopeless || !further;
      most = std::max(most, further.value_or(0));
    }
  });
  if (report.noisy > 0 && !hopeless) report.further_runs = most;
  report.outcome = failed                  ? gate_outcome::failed
                   : report.undecided == 0 ? gate_outcome::passed
                                           : gate_outcome::inconclusive;
  return report;
}

std::string gate_line(const comparison& of, const gate_report& report, const judge_options& judged_with) {
  const double percent = 100 * judged_with.margin;
  const verdict_counts counts = count_verdicts(of);
  std::string text = fmt::format("gate {:.3g} %: ", percent);
  switch (report.outcome) {
    case gate_outcome::passed: text += "passed"; break;
    case gate_outcome::failed:
      text += fmt::format("NOT passed, {} slower, {} broke", counts.slower, counts.broke);
      break;
    case gate_outcome::inconclusive: text += "INCONCLUSIVE"; break;
  }
  if (report.undecided > 0) {
    text += fmt::format("; {} may be slower by more than {:.3g} %, as far as is known",
                        plural(report.undecided, "case", "cases"), percent);
  }
  if (report.too_few_runs > 0) {
    text += fmt::format(". A gate needs {} process runs or more of each side: {}", fewest_runs,
                        how_to_get_runs(of.state, percent));
  } else if (report.further_runs) {
    text += fmt::format(". About {} of each side would probably decide",
                        plural(*report.further_runs, "more process run", "more process runs"));
  } else if (report.noisy > 0) {
    text += fmt::format(
        ". Even {} more process runs of each side would hardly decide: the machine is not quiet enough, "
        "or the change is close to the margin",
        most_further_runs);
  }
  if (const std::size_t refused = counts.refused; refused > 0) {
    text += fmt::format(". {} refused, and the table says why", refused);
  }
  if (!of.lonely.empty()) text += fmt::format(". {} without a partner", plural(of.lonely.size(), "case", "cases"));
  return text;
}

std::string jumps_line(const comparison& of) {
  std::vector<double> jumps;
  for_each_outcome(of, [&](const compared_case&, std::size_t, const case_outcome& outcome) {
    if (outcome.judged && outcome.judged->jump > 0) jumps.push_back(outcome.judged->jump);
  });
  if (jumps.empty()) return {};
  return fmt::format(
      "{} between two values from process run to process run, about {:.2g} % apart. Others may do so "
      "unseen, so a verdict needs more runs than usual. Clocks, memory and the placement of threads are "
      "the usual causes.",
      plural(jumps.size(), "case jumps", "cases jump"), 100 * std::expm1(quantile(jumps, 0.5)));
}

}  // namespace prumo::bench
