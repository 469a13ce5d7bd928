// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/common.hpp"

#include "results/results_schema.hpp"
#include "results/run_record.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text.hpp"
#include "workers/worker_discovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// A device that lies about itself must not spoil the file: what breaks the format is dropped and told.
void drop_invalid_facts(worker_fleet& fleet) {
  for (fleet_device& device : fleet.devices()) {
    const json document = {{"schema", results_schema_name}, {"devices", json::array({device.entry})}};
    for (const schema_violation& violation : validate_results(document)) {
      if (!violation.path.starts_with("/devices/")) continue;
      fleet.add_note(fmt::format("{}: its facts break the format at {}: {}; they are left out", device.id,
                                 violation.path, violation.message));
      device.entry["name"] = device.summary.name.empty() ? json() : json(device.summary.name);
      device.entry["threads"] = device.summary.threads ? json(*device.summary.threads) : json();
      device.entry["facts"] = json::object();
      device.entry["peaks"] = json::array();
      break;
    }
  }
}

void open_fleet(worker_fleet& fleet, const fleet_options& options, device_facts facts) {
  fleet.start();
  std::vector<std::string> named;
  for (const std::string& entry : options.workers.named) named.push_back(entry.substr(0, entry.find('=')));
  fleet.select_devices(options.devices, named, options.workers.peers);
  if (!options.workers.against.empty()) fleet.match_builds();
  if (!options.threads.empty()) fleet.spread_over_threads(options.threads);
  if (facts == device_facts::read) fleet.read_facts();
  drop_invalid_facts(fleet);
}

}  // namespace

exit_code with_fleet(const fleet_options& options, device_facts facts,
                     const std::function<exit_code(worker_fleet&)>& use) {
  const interrupt_guard guard;
  prepare_environment(options.workers.folders);
  if (options.workers.launcher.empty()) check_thread_variables(!options.threads.empty());
  worker_fleet fleet(discover_workers(options.workers), options.client);
  try {
    open_fleet(fleet, options, facts);
    const exit_code code = use(fleet);
    if (fleet.absent().empty() || code != exit_code::done) return code;
    print_error(
        fmt::format("prumo: not there, although asked for or part of prumo: {}\n", fmt::join(fleet.absent(), ", ")));
    return exit_code::machine_cannot;
  } catch (const interrupted&) {
    print_error("prumo: interrupted: nothing was finished\n");
    return exit_code::interrupted;
  }
}

void list_devices(const worker_fleet& fleet) {
  for (const fleet_device& device : fleet.devices()) {
    print_output(fmt::format("{}  {}\n", sanitize(device.id), sanitize(device.summary.name)));
  }
}

json devices_document(const std::vector<std::string>& command, const worker_fleet& fleet) {
  return {{"schema", results_schema_name},
          {"run", make_run_record(command, fleet.worker_versions(), fleet.notes())},
          {"devices", fleet.device_entries()},
          {"results", json::array()}};
}

void print_notes(std::span<const std::string> notes) {
  for (const std::string& note : notes) print_error(fmt::format("prumo: note: {}\n", sanitize(note)));
}

void print_report(std::string_view text, bool output_is_taken) {
  if (output_is_taken) {
    print_error(text);
  } else {
    print_output(text);
  }
}

exit_code exit_code_of(gate_outcome outcome) {
  switch (outcome) {
    case gate_outcome::passed: return exit_code::done;
    case gate_outcome::failed: return exit_code::no;
    case gate_outcome::inconclusive: break;
  }
  return exit_code::inconclusive;
}

}  // namespace prumo::bench
