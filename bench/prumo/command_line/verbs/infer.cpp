// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/infer.hpp"

#include "ceilings/device_ceilings.hpp"
#include "command_line/verbs/bench_files.hpp"
#include "command_line/verbs/common.hpp"
#include "inference/inference_report.hpp"
#include "inference/inference_run.hpp"
#include "inference/net_implementations.hpp"
#include "inference/net_operations.hpp"
#include "measure/machine_state.hpp"
#include "measure/schedule.hpp"
#include "reports/bench_table.hpp"
#include "reports/suite_report.hpp"
#include "results/published_figures.hpp"
#include "results/result_fields.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/units.hpp"
#include "workers/worker_discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// What must be equal for two runs to be one.
json plan_record(const infer_options& options, const net_inputs& inputs) {
  std::vector<std::string> placements;
  for (const image_placement& it : options.plan.placements) placements.push_back(it.host_memory.value_or(it.data));
  return {{"net", inputs.net().description.name},
          {"net_sha256", inputs.net_sha256()},
          {"weights_sha256", inputs.weights_sha256()},
          {"data_sha256", inputs.data_sha256()},
          {"batches", options.plan.batches},
          {"dtypes", options.plan.dtypes},
          {"placements", placements},
          {"implementations", options.plan.implementations},
          {"ops", options.plan.ops},
          {"layers", options.plan.layers},
          {"net_level", options.plan.net},
          {"program", options.plan.program},
          {"verify", options.bench.measure.verify}};
}

/// What others published about the net, if there is anything.
std::string published_lines(const net_inputs& inputs, const json& document, const text_style& style) {
  if (!is_named_net(inputs.net().description)) return {};
  const std::vector<std::string> folders = worker_folders();
  const std::vector<std::string> known = published_set_names(folders);
  const std::vector<std::string> name{inputs.net().description.name};
  if (std::ranges::find(known, name.front()) == known.end()) return {};
  return published_tables(load_published_sets(name, folders), document, style) + '\n';
}

/// The results of operations, if there are any, as `prumo bench` shows them.
std::string operations_table(const json& document, const text_style& style) {
  json shown = document;
  json kept = json::array();
  for (const json& result : document.at("results")) {
    if (result.at("kind") == "op") kept.push_back(result);
  }
  if (kept.empty()) return {};
  shown["results"] = std::move(kept);
  return '\n' + paragraph("Operations by themselves", style, emphasis::heading) + bench_table(shown, style);
}

std::string taken_lines(const net_inputs& inputs, const text_style& style) {
  std::string lines;
  for (const std::string& it : inputs.taken()) lines += paragraph(it, style);
  return lines + '\n';
}

/// What the user may not expect of a batch of more images than there are; empty if there is none.
std::string note_of_repeats(const infer_options& options, const net_inputs& inputs) {
  const std::int64_t largest = std::ranges::max(options.plan.batches);
  if (!options.plan.batches_chosen || largest <= inputs.images()) return {};
  return fmt::format("a batch of {} takes some of the {} images more than once, and needs memory for all that it takes",
                     largest, inputs.images());
}

void print_list(const infer_options& options, const net_inputs& inputs, const worker_fleet& fleet,
                const std::vector<std::vector<std::optional<std::string>>>& implementations) {
  std::string text = taken_lines(inputs, style_for(STDOUT_FILENO));
  for (std::size_t device = 0; device < fleet.devices().size(); ++device) {
    for (const auto& implementation : implementations[device]) {
      const std::string way = implementation ? " " + sanitize(*implementation) : "";
      for (const std::string& dtype : options.plan.dtypes) {
        for (const std::int64_t batch : options.plan.batches) {
          text += fmt::format("{}{} {}, {} images a call\n", sanitize(fleet.devices()[device].id), way, dtype, batch);
        }
      }
    }
  }
  print_output(text);
}

exit_code measure(const infer_options& options, const net_inputs& inputs, bench_files& files, worker_fleet& fleet,
                  progress& shown, steady_time started, machine_watch& machine) {
  std::vector<std::string> notes = fleet.notes();
  const auto implementations = net_implementations(fleet, options.plan.implementations);  // refuses unknown names
  if (options.bench.list_only) {
    print_notes(notes);
    print_list(options, inputs, fleet, implementations);
    return exit_code::done;
  }
  if (std::string repeats = note_of_repeats(options, inputs); !repeats.empty()) notes.push_back(std::move(repeats));
  machine.look_at_start(fleet);
  if (std::string concern = machine.concern_at_start(); !concern.empty()) notes.push_back(std::move(concern));
  print_notes(notes);

  results_writer writer = begin_results(options.bench, files, fleet, notes, plan_record(options, inputs), machine);
  if (options.bench.anonymous) writer.set_anonymous();
  writer.on_note([&](const std::string& note) {
    shown.clear();
    print_notes(std::vector{note});
  });
  const measure_options& how = options.bench.measure;
  const steady_time deadline = started + (after_seconds(how.budget_seconds) - after_seconds(0));
  inference_outcome outcome;
  try {
    if (how.probe_ceilings) {
      measure_device_ceilings(fleet, options.plan.dtypes);
      for (const fleet_device& device : fleet.devices()) writer.set_device(device.entry);
    }
    if (options.plan.ops) {
      constexpr double share = 0.4;
      measure_options of_op = how;
      of_op.budget_seconds = share * how.budget_seconds;
      of_op.states = state_choice::none;
      const bench_plan operations = plan_net_operations(inputs.net(), options.plan, fleet);
      print_notes(operations.notes);
      if (!operations.groups.empty()) {
        scheduler schedule(fleet, writer, shown, of_op, std::chrono::steady_clock::now());
        std::ignore = schedule.run(operations, true);
      }
    }
    outcome = inference_run(fleet, inputs, writer, shown, how, deadline).run(options.plan);
    machine.look_at_end(fleet);
  } catch (const interrupted&) {
    shown.clear();
    fleet.quit();
    machine.finish();
    return interrupted_end(options.bench, files, writer, seconds_since(started), machine);
  }
  const auto [resources, document, finished] = end_run(options.bench, files, writer, fleet, started, machine);
  const bool output_taken = files.take_standard_output();
  const text_style style = style_for(output_taken ? STDERR_FILENO : STDOUT_FILENO);
  std::string text = taken_lines(inputs, style) + inference_report(document, style) +
                     operations_table(document, style) + published_lines(inputs, document, style);
  if (outcome.kept > 0) text += "kept from the earlier run what was finished\n";
  text += finished.lines() + fmt::format("took {}\n", format_duration(seconds_since(started)));
  print_report(text, output_taken);
  if (outcome.wrong > 0) return finished.tell(exit_code::no);
  // Batches that nobody asked for may be too large for a machine; the table says which.
  const bool lacks = outcome.lacking_memory > 0 && options.plan.batches_chosen;
  if (lacks)
    print_error("prumo: a batch did not fit into memory; the table says what it needs. Choose a smaller --batch\n");
  if (document.at("results").empty()) {
    print_error(
        "prumo: nothing was measured: --transfer names images that are copied to a device, and no device here has a "
        "memory of its own. Measure --transfer resident\n");
  }
  if (outcome.failed > 0 || lacks || outcome.measured == 0) return finished.tell(exit_code::machine_cannot);
  return finished.tell(exit_code::done);
}

}  // namespace

exit_code run_infer(const infer_options& options) {
  const steady_time started = std::chrono::steady_clock::now();
  bench_files files = open_files(options.bench);
  progress shown;
  std::optional<net_inputs> inputs;
  try {
    const interrupt_guard guard;
    inputs.emplace(options.choice, worker_folders(), shown);
  } catch (const interrupted&) {
    shown.clear();
    print_error("prumo: interrupted: nothing was finished\n");
    return exit_code::interrupted;
  }
  machine_watch machine(options.bench.common.workers.launcher.empty());
  return with_fleet(options.bench.common, device_facts::read, [&](worker_fleet& fleet) {
    return measure(options, *inputs, files, fleet, shown, started, machine);
  });
}

}  // namespace prumo::bench
