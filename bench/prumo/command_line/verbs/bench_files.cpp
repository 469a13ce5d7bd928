// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/bench_files.hpp"

#include "command_line/verbs/against.hpp"
#include "command_line/verbs/common.hpp"
#include "comparison/two_builds.hpp"
#include "measure/schedule.hpp"
#include "privacy/anonymous.hpp"
#include "results/csv.hpp"
#include "results/process_runs.hpp"
#include "results/result_fields.hpp"
#include "results/run_conditions.hpp"
#include "results/run_record.hpp"
#include "terminal/plural.hpp"
#include "terminal/shell_words.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

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

/// Takes cases that an earlier run had no time for out of its document: they are measured now, and their rows would
/// stay beside the new ones, because they do not tell the implementation. With `mixed`, also those that lack a process
/// run: all process runs of a result have the same conditions.
void drop_unmeasured(json& document, std::size_t process_runs, bool mixed) {
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
  document["results"] = std::move(kept);
}

/// The document with what is known only at the end. `resources` are those that the whole program used.
json final_document(const bench_options& options, const results_writer& writer, const json& resources,
                    const machine_watch& machine) {
  json document = writer.document();
  json& run = options.resume ? document["run"]["resumed"].back() : document["run"];
  run["resources"] = resources;
  run["state"] = machine.state();
  if (const std::string concern = machine.concern_at_end(); !concern.empty()) run["warnings"].push_back(concern);
  return options.anonymous ? anonymized(std::move(document)) : document;
}

}  // namespace

bench_files open_files(const bench_options& options) {
  bench_files files;
  if (options.list_only) return files;
  check_distinct(std::vector<named_file>{{"-o", options.output}, {"--csv", options.csv}});
  files.resumed = options.resume;
  if (options.resume) {
    files.results = output_file(options.output);
    files.earlier = load_results(options.output);
    print_losses(files.results);
  } else {
    files.results = open_results(options.output, options.force);
  }
  files.table = open_table(options.csv, options.force || options.resume, results_csv_head);
  return files;
}

results_writer begin_results(const bench_options& options, bench_files& files, const worker_fleet& fleet,
                             const std::vector<std::string>& notes, json plan, const machine_watch& machine,
                             const json& fields) {
  json run = make_run_record(options.command, fleet.worker_versions(), notes);
  run["conditions"] = run_conditions(run, fleet.device_entries());
  run["plan"] = std::move(plan);
  run["state"] = machine.state();
  if (fields.is_object()) run.update(fields);
  if (!options.resume) return {files.results, std::move(run), fleet.device_entries()};
  check_same_plan(options.output, files.earlier.at("run"), run["plan"]);
  check_same_devices(options.output, files.earlier.at("devices"), fleet.device_entries());
  check_same_conditions(options, files.earlier, run["conditions"]);
  drop_unmeasured(files.earlier, options.measure.process_runs, options.allow_mixed);
  return results_writer::resume(files.results, std::move(files.earlier), std::move(run), fleet.device_entries());
}

finished_files::finished_files(const bench_files& files, const results_writer& writer, const json& document) {
  const auto write = [&](const output_file& file, const std::string& content, const std::string& line) {
    if (file.is_none()) return false;
    if (file.had_content() && !files.resumed && !writer.has_measured()) {
      lines_ += fmt::format("{} keeps what it held, because nothing was measured\n", sanitize(file.path()));
      return false;
    }
    const bool written = writes_.write(file, content);
    if (written && !file.is_standard_output()) lines_ += line;
    return written;
  };
  has_results_ =
      write(files.results, dump_results(document),
            fmt::format("results: {} ({} results)\n", sanitize(files.results.path()), document.at("results").size()));
  write(files.table, results_csv(document), fmt::format("table: {}\n", sanitize(files.table.path())));
}

finished_run end_run(const bench_options& options, const bench_files& files, const results_writer& writer,
                     worker_fleet& fleet, steady_time started, machine_watch& machine) {
  fleet.quit();
  machine.finish();
  if (const std::string concern = machine.concern_at_end(); !concern.empty()) print_notes(std::vector{concern});
  json resources = measure_resources(seconds_since(started));
  json document = final_document(options, writer, resources, machine);
  finished_files finished(files, writer, document);
  return {std::move(resources), std::move(document), std::move(finished)};
}

bool keep_finished(const bench_options& options, const bench_files& files, const results_writer& writer, double elapsed,
                   const machine_watch& machine) {
  if (writer.results().empty()) return false;
  const finished_files finished(files, writer, final_document(options, writer, measure_resources(elapsed), machine));
  std::ignore = finished.tell(exit_code::interrupted);
  return files.results.is_regular() && finished.has_results();
}

exit_code interrupted_end(const bench_options& options, const bench_files& files, const results_writer& writer,
                          double elapsed, const machine_watch& machine) {
  if (writer.results().empty()) {
    print_error("prumo: interrupted: nothing was finished\n");
    return exit_code::interrupted;
  }
  std::string told = plural(writer.results().size(), "result is finished", "results are finished");
  if (keep_finished(options, files, writer, elapsed, machine)) {
    told += fmt::format(" in {}; the same command with --resume continues", sanitize(options.output));
  }
  print_error(fmt::format("prumo: interrupted: {}\n", told));
  return exit_code::interrupted;
}

}  // namespace prumo::bench
