// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/bench.hpp"

#include "command_line/verbs/against.hpp"
#include "command_line/verbs/bench_files.hpp"
#include "command_line/verbs/common.hpp"
#include "measure/machine_state.hpp"
#include "measure/schedule.hpp"
#include "plan/plan.hpp"
#include "plan/suites.hpp"
#include "reports/bench_table.hpp"
#include "reports/random_shapes_report.hpp"
#include "reports/suite_report.hpp"
#include "results/published_figures.hpp"
#include "results/result_fields.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text.hpp"
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

std::string closing_lines(const std::string& files, const json& resources, const run_outcome& outcome) {
  std::string lines;
  if (outcome.kept > 0) lines += fmt::format("kept from the earlier run: {} cases\n", outcome.kept);
  lines += files;
  lines += fmt::format("whole program: {} elapsed, {} user time, {} system time; the largest process used {}\n",
                       format_duration(resources.at("elapsed_s").get<double>()),
                       format_duration(resources.at("user_s").get<double>()),
                       format_duration(resources.at("system_s").get<double>()),
                       format_bytes(resources.at("peak_memory_bytes").get<std::uint64_t>()));
  return lines;
}

/// What stands below the table: the sum over random shapes, and what others published.
std::string lines_below(const bench_options& options, const json& document, const text_style& style) {
  std::string lines;
  if (options.shapes.count > 0) lines += '\n' + random_shapes_report(document, style) + '\n';
  if (!options.suite.empty()) {
    const suite& which = find_suite(options.suite);
    const std::vector<std::string> name{which.reference};
    const std::vector<published_set> published = load_published_sets(name, worker_folders());
    lines += which.tables.empty() ? published_tables(published, document, style)
                                  : '\n' + suite_report(which, published.front(), document, style);
    lines += '\n';
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

bench_plan chosen_plan(const bench_options& options, worker_fleet& fleet) {
  if (!options.suite.empty()) return make_suite_plan(find_suite(options.suite), options.plan, fleet);
  if (options.shapes.count > 0) return make_random_plan(options.shapes, options.plan, fleet);
  return make_plan(options.plan, fleet);
}

exit_code measure(const bench_options& options, bench_files& files, worker_fleet& fleet, steady_time started,
                  machine_watch& machine) {
  const bench_plan plan = chosen_plan(options, fleet);
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
    print_output(plan_table(plan, fleet, style_for(STDOUT_FILENO)));
    return exit_code::done;
  }

  const json builds = options.against.empty() ? json() : json{{"against", against_record(options)}};
  results_writer writer =
      begin_results(options, files, fleet, notes, plan_record(plan, options, fleet), machine, builds);
  if (options.anonymous) writer.set_anonymous();
  progress shown;
  writer.on_note([&](const std::string& note) {
    shown.clear();
    print_notes(std::vector{note});
  });
  scheduler schedule(fleet, writer, shown, options.measure, started);
  run_outcome outcome;
  const bool sizes_chosen = !options.plan.sizes.empty() || !options.plan.shapes.empty();
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
    return interrupted_end(options, files, writer, seconds_since(started), machine);
  }
  const auto [resources, document, finished] = end_run(options, files, writer, fleet, started, machine);
  const bool output_taken = files.take_standard_output();
  const text_style style = style_for(output_taken ? STDERR_FILENO : STDOUT_FILENO);
  const build_report report = options.against.empty()
                                  ? build_report{bench_table(document, style) + lines_below(options, document, style)}
                                  : report_builds(document, options, style);
  print_report(report.text + closing_lines(finished.lines(), resources, outcome), output_taken);
  const exit_code of_gate = options.gate ? exit_code_of(report.gate) : exit_code::done;
  if (outcome.wrong > 0 || of_gate == exit_code::no) return finished.tell(exit_code::no);
  if (outcome.failed > 0) return finished.tell(exit_code::machine_cannot);
  // Sizes that nobody asked for may be too large for a machine; its table says which.
  if (outcome.lacking_memory > 0 && (sizes_chosen || outcome.measured == 0)) {
    print_error(fmt::format("prumo: {} cases did not fit into memory; the table says what they need\n",
                            outcome.lacking_memory));
    return finished.tell(exit_code::machine_cannot);
  }
  return finished.tell(of_gate);
}

}  // namespace

exit_code run_bench(const bench_options& options) {
  const steady_time started = std::chrono::steady_clock::now();
  check_references(options);
  bench_files files = open_files(options);
  machine_watch machine(options.common.workers.launcher.empty());
  return with_fleet(options.common, device_facts::read,
                    [&](worker_fleet& fleet) { return measure(options, files, fleet, started, machine); });
}

}  // namespace prumo::bench
