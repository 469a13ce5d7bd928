// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/bench.hpp"

#include "command_line/verbs/against.hpp"
#include "command_line/verbs/common.hpp"
#include "comparison/two_builds.hpp"
#include "measure/machine_state.hpp"
#include "measure/schedule.hpp"
#include "plan/plan.hpp"
#include "plan/suites.hpp"
#include "reports/bench_table.hpp"
#include "reports/suite_report.hpp"
#include "results/csv.hpp"
#include "results/process_runs.hpp"
#include "results/published_figures.hpp"
#include "results/result_fields.hpp"
#include "results/run_conditions.hpp"
#include "results/run_record.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/output.hpp"
#include "terminal/progress.hpp"
#include "terminal/units.hpp"
#include "workers/worker_discovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// What must be equal for two runs to be one: every case, the data and whether results were compared.
json plan_record(const bench_plan& plan, const bench_options& options, const worker_fleet& fleet) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto mix = [&](const std::string& text) {
    for (const char character : text + '\n') hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211U;
  };
  for (const planned_group& group : plan.groups) {
    for (const planned_case& it : group.cases) {
      mix(fmt::format("{} {} {}", group.result_stub(fleet, it).at("key").get<std::string>(),
                      fleet.devices()[it.device].id, it.implementation.value_or("")));
    }
  }
  json record = {{"cases", plan.case_count()},
                 {"groups", plan.groups.size()},
                 {"fingerprint", fmt::format("{:016x}", hash)},
                 {"seed", options.measure.seed},
                 {"verify", options.measure.verify}};
  const measure_options& measure = options.measure;
  if (measure.process_runs > 1) record["process_runs"] = measure.process_runs;
  if (measure.most_process_runs > measure.process_runs) record["most_process_runs"] = measure.most_process_runs;
  return record;
}

/// The command of a run for a message.
std::string command_of(const json& run) {
  std::string text;
  for (const json& word : run.value("command", json::array())) {
    const std::string plain = word.is_string() ? word.get<std::string>() : word.dump();
    // The file may come from someone else, so what is suggested is this program, whatever ran there.
    text += text.empty() ? "prumo" : fmt::format(" {}", shell_quoted(plain));
  }
  return text;
}

/// Refuses to mix two plans in one file.
void check_same_plan(const std::string& path, const json& earlier, const json& record) {
  const json before = earlier.value("plan", json::object());
  std::string difference;
  for (const auto& [name, value] : record.items()) {
    if (before.contains(name) && before.at(name) == value) continue;
    const std::string was = before.contains(name) ? before.at(name).dump() : "not recorded";
    if (name == "fingerprint" && !difference.empty()) continue;
    difference =
        name == "fingerprint" ? "other cases" : fmt::format("{} was {}, now it is {}", name, was, value.dump());
    if (name != "fingerprint") break;
  }
  if (difference.empty()) return;
  throw program_error(exit_code::wrong_usage,
                      fmt::format("{} has another plan ({}). To continue it, repeat its own command with --resume: {}. "
                                  "To start a new run, name another file",
                                  path, difference, command_of(earlier)));
}

/// Refuses to mix times of different builds, machines or settings in one file, unless the user allows it.
void check_same_conditions(const bench_options& options, const json& document, const json& now) {
  const json before = last_conditions(document);
  if (!document.at("run").contains("conditions") && field(before, "/prumo_build").is_null()) {
    print_notes(
        std::vector{fmt::format("{} does not tell which build measured it, because an older prumo wrote it: a "
                                "change of build cannot be noticed",
                                options.output)});
  }
  std::vector<std::string> changes;
  for (const condition_change& it : changed_conditions(before, now)) {
    changes.push_back(fmt::format("  {}: {} in the file, {} now", it.what, it.before, it.now));
  }
  if (changes.empty()) return;
  if (options.allow_mixed) {
    changes.insert(changes.begin(),
                   "the results of this run are added to others that were measured under other conditions; run_id "
                   "tells them apart:");
    print_notes(changes);
    return;
  }
  changes.emplace_back(
      "Restore these conditions, or name another file with -o to measure everything anew. With --allow-mixed this run "
      "is added all the same: each result then tells the run that measured it");
  throw program_error(exit_code::wrong_usage,
                      fmt::format("{} cannot be resumed under other conditions, because its times and the new ones "
                                  "could not be compared:",
                                  options.output),
                      changes);
}

/// Takes cases that an earlier run had no time for out of its file: they are measured now, and their rows would stay
/// beside the new ones, because they do not tell the implementation.
/// With `mixed`, also those that lack a process run: all process runs of a result have the same conditions.
void drop_unmeasured(const std::string& path, std::size_t process_runs, bool mixed) {
  json document = load_results(path);
  const std::size_t before = document.at("results").size();
  json kept = json::array();
  for (const json& result : document.at("results")) {
    const bool incomplete = result.at("status") == "ok" && samples_by_run(result).size() < process_runs;
    if (mixed && incomplete) continue;
    if (is_final(result) || result.at("status") == "failed") kept.push_back(result);
  }
  if (holds_two_builds(document.at("run"))) {
    document["results"] = std::move(kept);
    kept = drop_unpaired(document);
  }
  if (kept.size() == before) return;
  document["results"] = std::move(kept);
  write_file_atomically(path, dump_results(document));
}

/// Finds out about the files before anything is measured.
void check_files(const bench_options& options) {
  if (!options.csv.empty()) {
    if (options.csv == options.output) {
      throw program_error(exit_code::wrong_usage, "--csv and -o name the same file");
    }
    if (options.csv != "-") probe_writable(options.csv);
  }
  if (options.resume) {
    std::ignore = load_results(options.output);
  } else {
    check_output(options.output);
  }
}

/// The document with what is known only at the end.
json final_document(const results_writer& writer, bool resumed, const json& resources, const machine_watch& machine) {
  json document = writer.document();
  json& run = resumed ? document["run"]["resumed"].back() : document["run"];
  run["resources"] = resources;
  run["state"] = machine.state();
  if (const std::string concern = machine.concern_at_end(); !concern.empty()) run["warnings"].push_back(concern);
  return document;
}

void write_document(const bench_options& options, const json& document) {
  if (!options.output.empty()) write_file_atomically(options.output, dump_results(document));
  if (!options.csv.empty()) write_file_atomically(options.csv, results_csv(document));
}

std::string closing_lines(const bench_options& options, const json& document, const json& resources,
                          const run_outcome& outcome) {
  std::string lines;
  if (outcome.kept > 0) lines += fmt::format("kept from the earlier run: {} cases\n", outcome.kept);
  if (!options.output.empty() && options.output != "-") {
    lines += fmt::format("results: {} ({} results)\n", options.output, document.at("results").size());
  }
  if (!options.csv.empty() && options.csv != "-") lines += fmt::format("table: {}\n", options.csv);
  lines += fmt::format("whole program: {} elapsed, {} user time, {} system time; the largest process used {}\n",
                       format_duration(resources.at("elapsed_s").get<double>()),
                       format_duration(resources.at("user_s").get<double>()),
                       format_duration(resources.at("system_s").get<double>()),
                       format_bytes(resources.at("peak_memory_bytes").get<std::uint64_t>()));
  return lines;
}

/// What others published beside what was measured.
std::string published_lines(const bench_options& options, const json& document, const text_style& style) {
  std::string lines;
  if (!options.suite.empty()) {
    const suite& which = find_suite(options.suite);
    const std::vector<std::string> name{which.reference};
    lines += '\n' + suite_report(which, load_published_sets(name, worker_folders()).front(), document, style) + '\n';
  }
  if (!options.references.empty()) {
    lines += published_tables(load_published_sets(options.references, worker_folders()), document, style) + '\n';
  }
  return lines;
}

/// A wrong name is told before anything is measured.
void check_references(const bench_options& options) {
  std::ignore = load_published_sets(options.references, worker_folders());
  if (options.suite.empty()) return;
  const std::vector<std::string> name{find_suite(options.suite).reference};
  std::ignore = load_published_sets(name, worker_folders());
}

exit_code interrupted_end(const bench_options& options, results_writer& writer, double elapsed,
                          const machine_watch& machine) {
  std::string told = "nothing was finished";
  if (!writer.results().empty()) {
    write_document(options, final_document(writer, options.resume, measure_resources(elapsed), machine));
    told = fmt::format("{} results are finished", writer.results().size());
    if (!options.output.empty() && options.output != "-") {
      told += fmt::format(" in {}; the same command with --resume continues", options.output);
    }
  }
  print_message(fmt::format("interrupted: {}", told));
  return exit_code::interrupted;
}

exit_code measure(const bench_options& options, worker_fleet& fleet, steady_time started, machine_watch& machine) {
  const bench_plan plan = options.suite.empty() ? make_plan(options.plan, fleet)
                                                : make_suite_plan(find_suite(options.suite), options.plan, fleet);
  std::vector<std::string> notes = fleet.notes();
  notes.insert(notes.end(), plan.notes.begin(), plan.notes.end());
  const std::vector<std::string> same = same_program_notes(fleet);
  notes.insert(notes.end(), same.begin(), same.end());
  if (!options.list_only) {
    machine.look_at_start(fleet);
    if (std::string concern = machine.concern_at_start(); !concern.empty()) notes.push_back(std::move(concern));
  }
  print_notes(notes);
  if (options.list_only) {
    print_lines(stdout, plan_table(plan, fleet, style_for(STDOUT_FILENO)));
    return exit_code::done;
  }

  json run = make_run_record(options.command, fleet.worker_versions(), notes);
  run["conditions"] = run_conditions(run, fleet.device_entries());
  run["plan"] = plan_record(plan, options, fleet);
  run["state"] = machine.state();
  if (!options.against.empty()) run["against"] = against_record(options);
  if (options.resume) {
    const json document = load_results(options.output);
    check_same_plan(options.output, document.at("run"), run["plan"]);
    check_same_conditions(options, document, run["conditions"]);
    drop_unmeasured(options.output, options.measure.process_runs, options.allow_mixed);
  }
  results_writer writer = options.resume ? results_writer::resume(options.output, run, fleet.device_entries())
                                         : results_writer(options.output, run, fleet.device_entries());
  progress shown;
  scheduler schedule(fleet, writer, shown, options.measure, started);
  run_outcome outcome;
  const bool sizes_chosen = !options.plan.sizes.empty() || !options.plan.shape.empty();
  try {
    const auto next_runs = [&](std::size_t finished) {
      if (options.against.empty()) return finished;
      shown.clear();
      return next_process_runs(writer.document(), options, finished);
    };
    outcome = schedule.run(plan, sizes_chosen, next_runs);
    machine.look_at_end(fleet);
  } catch (const interrupted&) {
    shown.clear();
    fleet.quit();
    machine.finish();
    return interrupted_end(options, writer, seconds_since(started), machine);
  }
  fleet.quit();
  machine.finish();
  if (const std::string concern = machine.concern_at_end(); !concern.empty()) print_notes(std::vector{concern});
  const json resources = measure_resources(seconds_since(started));
  const json document = final_document(writer, options.resume, resources, machine);
  write_document(options, document);
  const bool output_taken = options.output == "-" || options.csv == "-";
  const text_style style = style_for(output_taken ? STDERR_FILENO : STDOUT_FILENO);
  const build_report report =
      options.against.empty() ? build_report{bench_table(document, style) + published_lines(options, document, style)}
                              : report_builds(document, options, style);
  print_report(report.text + closing_lines(options, document, resources, outcome), output_taken ? "-" : "");
  const exit_code of_gate = options.gate ? exit_code_of(report.gate) : exit_code::done;
  if (outcome.wrong > 0 || of_gate == exit_code::no) return exit_code::no;
  if (outcome.failed > 0) return exit_code::machine_cannot;
  // Sizes that nobody asked for may be too large for a machine; its table says which.
  if (outcome.lacking_memory > 0 && (sizes_chosen || outcome.measured == 0)) {
    print_message(
        fmt::format("{} cases did not fit into memory; the table says what they need", outcome.lacking_memory));
    return exit_code::machine_cannot;
  }
  return of_gate;
}

}  // namespace

exit_code run_bench(const bench_options& options) {
  const steady_time started = std::chrono::steady_clock::now();
  check_references(options);
  check_files(options);
  machine_watch machine(options.common.workers.launcher.empty());
  return with_fleet(options.common, device_facts::read,
                    [&](worker_fleet& fleet) { return measure(options, fleet, started, machine); });
}

}  // namespace prumo::bench
