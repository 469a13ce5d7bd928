// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/comparison.hpp"

#include "results/result_fields.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

bool is_wrong(const measurement& row) { return field(row.result, "/verified") == false; }

std::optional<double> median_over(const case_cell& cell, const char* pointer) {
  std::vector<double> values;
  for (const measurement* row : cell) {
    if (!row->ran()) continue;
    if (const auto value = number_of(field(row->result, pointer))) values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional(quantile(values, 0.5));
}

/// How people read the value of a field in a refusal.
std::string value_or_unknown(const json& value) {
  if (value.is_null()) return "unknown";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string differs(const char* what, const comparison_side& base, const json& before, const comparison_side& side,
                    const json& after) {
  return fmt::format("{}: {} ({}), {} ({})", what, value_or_unknown(before), base.label, value_or_unknown(after),
                     side.label);
}

const comparison_source* source_of(const comparison_side& side, const measurement* row) {
  for (const comparison_source* source : side.sources) {
    if (!source->rows.empty() && row >= source->rows.data() && row < source->rows.data() + source->rows.size()) {
      return source;
    }
  }
  return nullptr;
}

/// Why what stands for two cells cannot be compared.
std::string refusal_of_pair(const comparison_side& base, const measurement& before, const comparison_side& side,
                            const measurement& after) {
  for (const auto& [where, row] : {std::pair(&base, &before), std::pair(&side, &after)}) {
    if (is_wrong(*row)) return fmt::format("its result was wrong in {}", where->label);
  }
  if (!before.ran() || !after.ran()) return {};  // shown as what it is: failed, skipped, unsupported
  if (before.published || after.published) return {};
  const json& verified_before = field(before.result, "/verified");
  const json& verified_after = field(after.result, "/verified");
  if (verified_before != verified_after) {
    return fmt::format("verified in {}, but not in {}; measure there without --no-verify",
                       (verified_before == true ? base : side).label, (verified_before == true ? side : base).label);
  }
  const json& bytes_before = field(before.result, "/bytes");
  const json& bytes_after = field(after.result, "/bytes");
  if (bytes_before.is_number() && bytes_after.is_number() && bytes_before != bytes_after) {
    return differs("the bytes are counted differently", base, bytes_before, side, bytes_after);
  }
  const comparison_source* source_before = source_of(base, &before);
  const comparison_source* source_after = source_of(side, &after);
  if (source_before == nullptr || source_after == nullptr) return {};
  const json& seed_before = field(source_before->run, "/plan/seed");
  const json& seed_after = field(source_after->run, "/plan/seed");
  if (!seed_before.is_null() && !seed_after.is_null() && seed_before != seed_after) {
    return differs("the data differ, because of another --seed", base, seed_before, side, seed_after);
  }
  return {};
}

/// All runs of a cell, files one after the other.
process_runs runs_of(const case_cell& cell) {
  process_runs runs;
  for (const measurement* row : cell) {
    if (row->ran()) runs.insert(runs.end(), row->runs.begin(), row->runs.end());
  }
  return runs;
}

bool have_common_run(const case_pair& pair) {
  for (std::size_t i = 0; i < std::min(pair.before.size(), pair.after.size()); ++i) {
    if (!pair.before[i].samples.empty() && !pair.after[i].samples.empty()) return true;
  }
  return false;
}

/// Runs of which a file tells no samples.
std::vector<run_value> told_runs_of(const case_cell& cell) {
  std::vector<run_value> values;
  for (const measurement* row : cell) {
    if (!row->ran() || !row->moments) continue;
    values.push_back(value_of_moments(row->moments->mean, row->moments->standard_deviation, row->moments->count));
  }
  return values;
}

}  // namespace

const json& compared_case::result() const {
  static const json none = json::object();
  for (const case_cell& cell : cells) {
    if (const measurement* row = representative(cell)) return row->result;
  }
  return none;
}

cell_figures figures_of(const case_cell& cell) {
  cell_figures figures;
  std::vector<double> seconds;
  for (const measurement* row : cell) {
    if (!row->ran()) continue;
    seconds.push_back(*row->seconds());
    figures.published = figures.published || row->published;
    figures.throttle.insert(row->throttle.begin(), row->throttle.end());
  }
  if (!seconds.empty()) figures.seconds = quantile(seconds, 0.5);
  figures.gbytes = median_over(cell, "/rates/gbytes");
  figures.gflops = median_over(cell, "/rates/gflops");
  figures.gelements = median_over(cell, "/rates/gelements");
  figures.roofline = median_over(cell, "/percent/roofline");
  figures.peak = median_over(cell, "/percent/peak_max_clock");
  if (!figures.peak) figures.peak = median_over(cell, "/percent/peak_measured_clock");
  figures.energy = median_over(cell, "/energy_j");
  figures.clock_mhz = median_over(cell, "/clock_mhz");
  return figures;
}

bool was_tried(const case_cell& cell) {
  return std::ranges::any_of(cell, [](const measurement* row) {
    const std::string status = text_of(field(row->result, "/status"));
    return status == "ok" || status == "failed";
  });
}

const measurement* representative(const case_cell& cell) {
  const auto found = std::ranges::find_if(cell, [](const measurement* row) { return row->ran(); });
  if (found != cell.end()) return *found;
  return cell.empty() ? nullptr : cell.front();
}

std::string refusal_of(const comparison_side& base, const case_cell& of_base, const comparison_side& side,
                       const case_cell& of_side) {
  const measurement* before = representative(of_base);
  if (before == nullptr) return {};
  for (const measurement* row : of_side) {
    if (std::string reason = refusal_of_pair(base, *before, side, *row); !reason.empty()) return reason;
  }
  // Several files of the base's side must agree among themselves, too.
  for (const measurement* row : of_base) {
    if (row == before) continue;
    if (std::string reason = refusal_of_pair(base, *before, base, *row); !reason.empty()) return reason;
  }
  return {};
}

bool broke(const case_cell& of_base, const case_cell& of_side) {
  const auto is_good = [](const measurement* row) { return row->ran() && !is_wrong(*row); };
  const auto is_bad = [](const measurement* row) {
    return text_of(field(row->result, "/status")) == "failed" || is_wrong(*row);
  };
  return std::ranges::any_of(of_base, is_good) && std::ranges::any_of(of_side, is_bad) &&
         std::ranges::none_of(of_base, is_bad);
}

void judge_cases(comparison& of, const judge_options& options, bool interleaved) {
  std::vector<case_pair> pairs;
  std::vector<case_outcome*> judged;
  for (compared_case& it : of.cases) {
    it.outcomes.assign(of.sides.size(), {});
    const case_cell& base = it.cells[of.base];
    const auto base_seconds = figures_of(base).seconds;
    for (std::size_t side = 0; side < of.sides.size(); ++side) {
      const case_cell& cell = it.cells[side];
      if (side == of.base || base.empty() || cell.empty()) continue;
      case_outcome& outcome = it.outcomes[side];
      outcome.refusal = refusal_of(of.sides[of.base], base, of.sides[side], cell);
      const auto seconds = figures_of(cell).seconds;
      if (!outcome.refusal.empty() || !base_seconds || !seconds) continue;
      outcome.ratio = *seconds / *base_seconds;
      case_pair pair{runs_of(base), runs_of(cell), interleaved, told_runs_of(base), told_runs_of(cell)};
      if (pair.before.empty() && pair.told_before.empty()) continue;
      if (pair.after.empty() && pair.told_after.empty()) continue;
      if (interleaved && !have_common_run(pair)) {
        outcome.refusal = "no process run timed both";
        continue;
      }
      outcome.from_moments = !pair.told_before.empty() || !pair.told_after.empty();
      pairs.push_back(std::move(pair));
      judged.push_back(&outcome);
    }
  }
  const std::vector<judgement> judgements = judge(pairs, options);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    judged[i]->judged = judgements[i];
    judged[i]->ratio = judgements[i].ratio;
  }
}

verdict_counts count_verdicts(const comparison& of) {
  verdict_counts counts;
  for (const compared_case& it : of.cases) {
    for (std::size_t side = 0; side < of.sides.size(); ++side) {
      if (side == of.base || it.cells[side].empty() || it.cells[of.base].empty()) continue;
      const case_outcome& outcome = it.outcomes.at(side);
      if (broke(it.cells[of.base], it.cells[side])) {
        ++counts.broke;
      } else if (!outcome.refusal.empty()) {
        ++counts.refused;
      } else if (!outcome.judged) {
        ++counts.unjudged;
      } else {
        switch (outcome.judged->which) {
          case verdict::same: ++counts.same; break;
          case verdict::faster: ++counts.faster; break;
          case verdict::slower: ++counts.slower; break;
          case verdict::unclear:
            ++counts.unclear;
            counts.not_slower += outcome.judged->not_slower ? 1 : 0;
            break;
        }
      }
    }
  }
  return counts;
}

}  // namespace prumo::bench
