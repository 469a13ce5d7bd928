// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/bench_table.hpp"

#include "reports/case_columns.hpp"
#include "reports/result_cells.hpp"
#include "reports/thread_scaling.hpp"
#include "terminal/footnotes.hpp"
#include "terminal/units.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// How long a call takes in a state of power, and what the device did: `1.65 ms at 1485 MHz and 698 W, power cap`.
std::string state_text(const json& state, const text_style& style) {
  std::string text = seconds_cell(field(state, "/median"), style);
  const auto clock = number_of(field(state, "/clock_mhz"));
  const auto power = number_of(field(state, "/power_w"));
  if (clock) text += fmt::format(" at {:.0f} MHz", *clock);
  if (power) text += fmt::format("{} {:.0f} W", clock ? " and" : " at", *power);
  for (const json& reason : field(state, "/throttle")) text += ", " + text_of(reason);
  return text;
}

/// A note on a case whose time depends on how long the device works, or an empty text.
std::string states_note(const json& result, const text_style& style) {
  const auto burst = number_of(field(result, "/states/burst/median"));
  const auto sustained = number_of(field(result, "/states/sustained/median"));
  constexpr double notable = 0.02;
  if (!burst || !sustained || std::abs(*sustained - *burst) < notable * *burst) return {};
  return fmt::format("burst after idling {}; sustained {}", state_text(field(result, "/states/burst"), style),
                     state_text(field(result, "/states/sustained"), style));
}

/// Whether it was verified, or why there is no figure; references to the notes of its warnings.
text_table::cell check_of(const json& result, footnotes& notes, const text_style& style) {
  text_table::cell cell;
  const json& verified = field(result, "/verified");
  if (verified == true) {
    cell = {style.unicode ? "✓" : "yes", emphasis::good};
  } else if (verified == false) {
    cell = {style.unicode ? "✗ WRONG" : "WRONG", emphasis::bad};
  } else {
    cell = {"-", emphasis::muted};
  }
  if (text_of(field(result, "/status")) == "failed") {
    if (verified != false) cell = {"failed", emphasis::bad};
    const std::string reason = text_of(field(result, "/reason"));
    cell.text += ' ' + notes.add("failed: " + (reason.empty() ? "no reason given" : reason));
  }
  for (const json& warning : field(result, "/warnings")) {
    cell.text += ' ' + notes.add(text_of(warning));
    cell.how = emphasis::bad;
  }
  if (const std::string note = states_note(result, style); !note.empty()) cell.text += ' ' + notes.add(note);
  return cell;
}

bool was_measured(const json& result) {
  const std::string status = text_of(field(result, "/status"));
  return status != "skipped" && status != "unsupported";
}

/// Cases that do not apply: one line for each reason, because there may be many of them.
std::string not_measured(const std::vector<const json*>& rows, const text_style& style) {
  struct group {
    std::string status;
    std::string reason;
    std::vector<std::string> cases;
  };
  constexpr std::size_t most_cases = 4;
  std::vector<group> groups;
  for (const json* row : rows) {
    if (was_measured(*row)) continue;
    const std::string status = text_of(field(*row, "/status"));
    const std::string reason = text_of(field(*row, "/reason"));
    auto place = std::find_if(groups.begin(), groups.end(),
                              [&](const group& known) { return known.status == status && known.reason == reason; });
    if (place == groups.end()) place = groups.insert(groups.end(), group{status, reason, {}});
    const auto threads = number_of(field(*row, "/threads"));
    place->cases.push_back(fmt::format(
        "{} {} {} {}{}", text_of(field(*row, "/op")), size_cell(*row), data_cell(*row), text_of(field(*row, "/device")),
        threads ? fmt::format(" ({})", format_threads(static_cast<std::int64_t>(*threads))) : ""));
  }
  using align = text_table::align;
  text_table table({{""}, {"", align::right}, {"", align::left, text_table::role::prose}});
  for (const group& entry : groups) {
    const std::size_t shown = std::min(entry.cases.size(), most_cases);
    std::string line = fmt::format("{}: {}", entry.reason.empty() ? "no reason given" : entry.reason,
                                   fmt::join(std::span(entry.cases).first(shown), ", "));
    if (shown < entry.cases.size()) line += fmt::format(" and {} more", entry.cases.size() - shown);
    table.add_row({{entry.status, emphasis::muted},
                   {fmt::format("{} {}", entry.cases.size(), entry.cases.size() > 1 ? "cases" : "case")},
                   {line}});
  }
  return table.render(style);
}

std::string summary_line(const json& results) {
  struct tally {
    std::size_t all = 0, verified = 0, wrong = 0;
  };
  std::map<std::string, tally> tallies;
  for (const json& result : results) {
    tally& of_status = tallies[text_of(field(result, "/status"))];
    ++of_status.all;
    of_status.verified += field(result, "/verified") == true ? 1 : 0;
    of_status.wrong += field(result, "/verified") == false ? 1 : 0;
  }
  const tally& ok = tallies["ok"];
  std::string line = fmt::format("{} ok ({} verified", ok.all, ok.verified);
  line += ok.wrong > 0 ? fmt::format(", {} WRONG)", ok.wrong) : ")";
  for (const char* status : {"skipped", "unsupported", "failed"}) {
    const tally& others = tallies[status];
    if (others.all > 0) line += fmt::format(", {} {}", others.all, status);
    if (others.wrong > 0) line += fmt::format(" ({} WRONG)", others.wrong);
  }
  return line;
}

std::string device_lines(const json& devices, const text_style& style) {
  std::string lines;
  for (const json& device : devices) {
    const std::string name = text_of(field(device, "/name"));
    std::string line = fmt::format("{}: {}", text_of(field(device, "/id")), name.empty() ? "n/a" : name);
    if (const auto threads = number_of(field(device, "/threads")); threads && *threads > 0) {
      line += ", " + format_threads(static_cast<std::int64_t>(*threads));
    }
    lines += paragraph(line, style);
  }
  return lines;
}

std::string measured_table(const std::vector<const json*>& rows, const case_columns& cases,
                           const thread_scalings& scalings, footnotes& notes, const text_style& style) {
  using align = text_table::align;
  using role = text_table::role;
  std::vector<text_table::column> columns;
  cases.add_columns(columns);
  columns.push_back({"time", align::right});
  columns.push_back({style.unicode ? "±" : "+-", align::left, role::detail});
  if (scalings.any()) {
    columns.push_back({"speed-up", align::right});
    columns.push_back({"efficiency", align::right});
  }
  const std::vector<text_table::column> figures = {{"rate", align::right},
                                                   {"% of roofline", align::right},
                                                   {style.unicode ? "±" : "+-", align::left, role::detail},
                                                   {"bound", align::left, role::detail},
                                                   {"beyond launch", align::right},
                                                   {"% of peak", align::right, role::detail},
                                                   {"kernel", align::right, role::detail},
                                                   {"h2d", align::right, role::detail},
                                                   {"d2h", align::right, role::detail},
                                                   {"check", align::left}};
  columns.insert(columns.end(), figures.begin(), figures.end());

  text_table table(std::move(columns));
  for (const json* row : rows) {
    const json& result = *row;
    if (!was_measured(result)) continue;
    table.add_heading(cases.heading(result));

    std::vector<text_table::cell> cells;
    cases.add_cells(result, cells);
    cells.push_back({seconds_cell(field(result, "/time_s/median"), style)});
    cells.push_back({spread_cell(result, style)});
    if (scalings.any()) {
      const auto scaling = scalings.of(result);
      cells.push_back({scaling ? format_significant(scaling->speed_up, 3) : ""});
      cells.push_back({scaling ? percent_cell(100 * scaling->efficiency) : ""});
    }
    cells.push_back({rate_cell(result)});
    cells.push_back({percent_cell(field(result, "/percent/roofline"))});
    cells.push_back({share_spread_cell(result, style)});
    cells.push_back({bound_cell(result)});
    cells.push_back({beyond_launch_cell(result, style)});
    // A share of the flop peak says something only where arithmetic is the bound.
    const json& peak = field(result, field(result, "/percent/peak_max_clock").is_null() ? "/percent/peak_measured_clock"
                                                                                        : "/percent/peak_max_clock");
    cells.push_back({is_bound_by_flops(result) ? percent_cell(peak) : std::string()});
    cells.push_back({kernel_cell(result, style)});
    cells.push_back({seconds_cell(field(result, "/transfer/h2d_s"), style)});
    cells.push_back({seconds_cell(field(result, "/transfer/d2h_s"), style)});
    cells.push_back(check_of(result, notes, style));
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

}  // namespace

std::string bench_table(const json& document, const text_style& style) {
  const json& results = document.at("results");
  std::string out = device_lines(document.at("devices"), style);
  if (results.empty()) return out + "No results.\n";

  std::vector<const json*> rows;
  for (const json& result : results) rows.push_back(&result);
  rows = in_table_order(std::move(rows));
  out += '\n';
  footnotes notes;
  const thread_scalings scalings(results);
  for (const std::string& part : {measured_table(rows, case_columns(rows), scalings, notes, style), notes.render(style),
                                  not_measured(rows, style)}) {
    if (!part.empty()) out += part + '\n';
  }
  out += paragraph(summary_line(results), style, emphasis::heading);
  const auto explain = [&](const std::string& text) { out += paragraph(text, style, emphasis::muted); };
  explain(fmt::format(
      "time: median {} half of its 95% interval; n: number of samples, if they are few. % of roofline: the time that "
      "the ceilings measured "
      "here allow, over the time taken. % of peak: share of the theoretical peak. check: whether the result "
      "agreed with a reference in this run.",
      style.unicode ? "±" : "+-"));
  if (const std::string note = steady_note(results); !note.empty()) explain(note);
  const auto any = [&](auto holds) { return std::any_of(results.begin(), results.end(), holds); };
  if (any([&](const json& it) { return !share_spread_cell(it, style).empty(); })) {
    explain(fmt::format("{} of % of roofline: half of its 95% interval, from those of the time and of the ceiling.",
                        style.unicode ? "±" : "+-"));
  }
  if (any([](const json& it) { return text_of(field(it, "/bound")) == "compute" && !is_bound_by_flops(it); })) {
    explain("compute: exp: the measured rate of exponentials bounds the call; the same for other kinds of functions.");
  }
  if (any([](const json& it) { return text_of(field(it, "/bound")) == "transfer"; })) {
    explain("transfer: copies of this size, in one direction after the other, take half of the time or more.");
  }
  if (scalings.any()) {
    explain(
        "speed-up: the time with the fewest threads over the time with these. efficiency: speed-up over the ratio of "
        "the numbers of threads. % of roofline: by the ceilings that the same threads reached.");
  }
  const auto counted_elsewhere = [](const json& it) {
    const std::string counted = text_of(field(it, "/flops/counted_implementation"));
    return !counted.empty() && field(it, "/rates/gflops").is_number() &&
           counted != text_of(field(it, "/implementation"));
  };
  if (any(counted_elsewhere)) {
    explain(
        "GFLOP/s of a library: the flops that prumo's own kernel of the operation executes, because those of a library "
        "cannot be counted.");
  }
  if (any([](const json& it) { return text_of(field(it, "/dispatch")) == "single"; })) {
    explain(
        "single calls: the host launches each of them. beyond launch: how much longer a call takes than an almost "
        "empty "
        "Kokkos kernel that is launched in the same way.");
  }
  if (any([](const json& it) { return field(it, "/transfer").is_object(); })) {
    explain(
        "pinned, pageable: each call copies its inputs from such host memory to the device, and its results back. "
        "time: "
        "the whole call. h2d, d2h: the copies alone. kernel: the rest.");
  }
  return out;
}

}  // namespace prumo::bench
