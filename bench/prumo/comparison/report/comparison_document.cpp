// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/report/comparison_document.hpp"

#include "comparison/comparison_gate.hpp"
#include "comparison/context.hpp"
#include "comparison/report/clocks.hpp"
#include "privacy/recorded_words.hpp"
#include "results/csv.hpp"
#include "results/json_text.hpp"
#include "results/result_fields.hpp"
#include "results/run_record.hpp"
#include "terminal/text.hpp"
#include <prumo/files/input_file.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ordered_json = nlohmann::ordered_json;

ordered_json value_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? ordered_json(*value) : ordered_json();
}

std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::size_t process_runs_of(const case_cell& cell) {
  std::size_t count = 0;
  for (const measurement* row : cell) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(row->runs, [](const process_run& run) { return !run.samples.empty(); }));
    count += row->moments ? 1 : 0;
  }
  return count;
}

ordered_json cell_record(const compared_case& it, std::size_t base, std::size_t side) {
  const case_cell& cell = it.cells[side];
  const measurement* row = representative(cell);
  if (row == nullptr) return nullptr;
  const cell_figures figures = figures_of(cell);
  ordered_json record = {{"status", field(row->result, "/status")},
                         {"reason", field(row->result, "/reason")},
                         {"verified", field(row->result, "/verified")},
                         {"implementation", field(row->result, "/implementation")},
                         {"process_runs", process_runs_of(cell)},
                         {"published", row->published},
                         {"seconds", value_or_null(figures.seconds)},
                         {"gbytes", value_or_null(figures.gbytes)},
                         {"gflops", value_or_null(figures.gflops)},
                         {"gelements", value_or_null(figures.gelements)},
                         {"percent_roofline", value_or_null(figures.roofline)},
                         {"percent_peak", value_or_null(figures.peak)},
                         {"energy_j", value_or_null(figures.energy)},
                         {"clock_mhz", value_or_null(figures.clock_mhz)},
                         {"throttle", figures.throttle}};
  if (side == base) return record;
  const case_outcome& outcome = it.outcomes.at(side);
  record["ratio"] = value_or_null(outcome.refusal.empty() ? outcome.ratio : std::nullopt);
  record["ratio_per_clock"] = value_or_null(ratio_per_clock(it, base, side));
  record["low"] = outcome.judged ? value_or_null(outcome.judged->low) : ordered_json();
  record["high"] = outcome.judged ? value_or_null(outcome.judged->high) : ordered_json();
  record["p_value"] = outcome.judged ? value_or_null(outcome.judged->p_value) : ordered_json();
  record["verdict"] = outcome.judged ? ordered_json(to_string(outcome.judged->which)) : ordered_json();
  record["refusal"] = outcome.refusal.empty() ? ordered_json() : ordered_json(outcome.refusal);
  record["broke"] = broke(it.cells[base], cell);
  record["spread_assumed"] = outcome.judged ? ordered_json(outcome.judged->spread_assumed) : ordered_json();
  record["from_moments"] = outcome.from_moments;
  record["not_slower"] = outcome.judged ? ordered_json(rules_out_slower(*outcome.judged)) : ordered_json();
  record["jump"] =
      outcome.judged && outcome.judged->jump > 0 ? ordered_json(std::expm1(outcome.judged->jump)) : ordered_json();
  return record;
}

ordered_json sides_record(const comparison& of) {
  ordered_json sides = ordered_json::array();
  for (std::size_t i = 0; i < of.sides.size(); ++i) {
    const comparison_side& side = of.sides[i];
    ordered_json files = ordered_json::array();
    for (const comparison_source* source : side.sources) {
      files.push_back({{"name", source->name},
                       {"format", source->format},
                       {"run", field(source->run, "/id")},
                       {"started", field(source->run, "/started")}});
    }
    const auto or_none = [](const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); };
    sides.push_back({{"label", side.label},
                     {"base", i == of.base},
                     {"device", or_none(side.device)},
                     {"implementation", or_none(side.implementation)},
                     {"files", std::move(files)}});
  }
  return sides;
}

ordered_json counts_record(const verdict_counts& counts) {
  return {{"same", counts.same},        {"faster", counts.faster}, {"slower", counts.slower},
          {"unclear", counts.unclear},  {"broke", counts.broke},   {"refused", counts.refused},
          {"unjudged", counts.unjudged}};
}

/// What a gate says; null without one.
ordered_json gate_record(const comparison& of, const comparison_view& view) {
  if (!view.gated) return nullptr;
  const gate_report report = report_gate(of, view.judged_with);
  return {{"outcome", to_string(report.outcome)},
          {"undecided", report.undecided},
          {"further_runs", report.further_runs ? ordered_json(*report.further_runs) : ordered_json()}};
}

/// True, false, or null where a gate knows too little.
ordered_json gate_passed(const ordered_json& gate) {
  if (gate.is_null() || gate.at("outcome") == to_string(gate_outcome::inconclusive)) return nullptr;
  return gate.at("outcome") == to_string(gate_outcome::passed);
}

/// `"name": [` and a line for each entry.
std::string list_of_lines(const char* name, const std::vector<std::string>& lines) {
  std::string text = fmt::format("  \"{}\": [", name);
  const char* separator = "\n    ";
  for (const std::string& line : lines) {
    text += separator;
    text += line;
    separator = ",\n    ";
  }
  return text + (lines.empty() ? "]" : "\n  ]");
}

/// A value of a record as a field of CSV; empty where it is unknown.
std::string field_text(const ordered_json& value) {
  if (value.is_null()) return {};
  if (value.is_array()) return csv_field(fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), "; ")));
  return value.is_string() ? csv_field(value.get_ref<const std::string&>()) : dump(value);
}

}  // namespace

std::string dump_comparison(const comparison& of, const comparison_view& view,
                            const std::vector<std::string>& command) {
  const verdict_counts counts = count_verdicts(of);
  const ordered_json gate = gate_record(of, view);
  const std::vector<std::pair<const char*, ordered_json>> head = {
      {"schema", comparison_schema_name},
      {"command", recorded_command(command)},
      {"versions", {{"prumo", program_version()}}},
      {"mode", of.mode == comparison_mode::versions ? "versions" : "devices"},
      {"state", to_string(of.state)},
      {"by", to_string(view.by)},
      {"judged",
       {{"margin", view.judged_with.margin},
        {"confidence", view.judged_with.confidence},
        {"assumed_run_spread", view.judged_with.assumed_run_spread},
        {"fewest_runs", view.judged_with.plan.fewest},
        {"most_runs", view.judged_with.plan.most}}},
      {"gate_passed", gate_passed(gate)},
      {"gate", gate},
      {"counts", counts_record(counts)},
      {"sides", sides_record(of)},
      {"notes", of.notes}};
  std::string text = "{\n";
  for (const auto& [name, value] : head) text += fmt::format("  \"{}\": {},\n", name, dump(value));

  std::vector<std::string> lines;
  for (const context_difference& it : context_differences(of)) {
    lines.push_back(dump({{"what", it.what}, {"values", it.values}}));
  }
  text += list_of_lines("context", lines) + ",\n";

  lines.clear();
  for (const compared_case& it : of.cases) {
    const json& result = it.result();
    ordered_json sides = ordered_json::array();
    for (std::size_t side = 0; side < of.sides.size(); ++side) sides.push_back(cell_record(it, of.base, side));
    lines.push_back(dump({{"key", it.key},
                          {"op", field(result, "/op")},
                          {"dtype", field(result, "/dtype")},
                          {"bytes_per_array", field(result, "/bytes_per_array")},
                          {"device", it.device.empty() ? ordered_json() : ordered_json(it.device)},
                          {"sides", std::move(sides)}}));
  }
  text += list_of_lines("cases", lines) + ",\n";

  lines.clear();
  for (const lonely_case& it : of.lonely) {
    lines.push_back(dump({{"key", it.what.key},
                          {"side", it.side.empty() ? ordered_json() : ordered_json(it.side)},
                          {"reason", it.reason}}));
  }
  return sanitize(text + list_of_lines("without_partner", lines) + "\n}\n", "\n");
}

std::string comparison_csv(const comparison& of) {
  std::string text =
      "key,op,dtype,bytes_per_array,device,base,side,base_implementation,implementation,base_status,status,"
      "base_seconds,seconds,ratio,low,high,verdict,refusal,base_gbytes,gbytes,base_gflops,gflops,base_gelements,"
      "gelements,base_percent_roofline,percent_roofline,base_percent_peak,percent_peak,base_energy_j,energy_j,"
      "base_clock_mhz,clock_mhz,base_throttle,throttle,ratio_per_clock,state\r\n";
  for (const compared_case& it : of.cases) {
    const json& result = it.result();
    ordered_json base = cell_record(it, of.base, of.base);
    if (base.is_null()) base = ordered_json::object();
    for (std::size_t side = 0; side < of.sides.size(); ++side) {
      if (side == of.base || it.cells[side].empty()) continue;
      ordered_json own = cell_record(it, of.base, side);
      std::vector<std::string> fields = {csv_field(it.key),
                                         field_text(field(result, "/op")),
                                         field_text(field(result, "/dtype")),
                                         field_text(field(result, "/bytes_per_array")),
                                         csv_field(it.device),
                                         csv_field(of.sides[of.base].label),
                                         csv_field(of.sides[side].label)};
      const auto add_both = [&](const char* name) {
        fields.push_back(field_text(base[name]));
        fields.push_back(field_text(own[name]));
      };
      for (const char* name : {"implementation", "status", "seconds"}) add_both(name);
      for (const char* name : {"ratio", "low", "high", "verdict", "refusal"}) fields.push_back(field_text(own[name]));
      for (const char* name :
           {"gbytes", "gflops", "gelements", "percent_roofline", "percent_peak", "energy_j", "clock_mhz", "throttle"}) {
        add_both(name);
      }
      fields.push_back(field_text(own["ratio_per_clock"]));
      fields.emplace_back(to_string(of.state));
      text += fmt::format("{}\r\n", fmt::join(fields, ","));
    }
  }
  return text;
}

void check_is_comparison(const std::string& path) {
  std::string schema;
  try {
    schema = text_of(field(parse_json(read_text(path), path), "/schema"));
  } catch (const file_error&) {
    schema.clear();  // whatever it is, it is no comparison
  }
  if (schema.starts_with("prumo.comparison/")) return;
  refuse_file(path, "is not a comparison, so it is not overwritten; move it away or name another file");
}

}  // namespace prumo::bench
