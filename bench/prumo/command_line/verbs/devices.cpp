// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/device_ceilings.hpp"
#include "command_line/options/option_values.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/common.hpp"
#include "command_line/verbs/outputs.hpp"
#include "command_line/verbs/verb.hpp"
#include "privacy/anonymous.hpp"
#include "reports/device_table.hpp"
#include "results/results_file.hpp"
#include "terminal/standard_output.hpp"
#include "workers/unserved_gpus.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

/// What the options of `prumo devices` say.
struct devices_options {
  fleet_options common;
  bool probe = true;
  bool json = false;
  bool list_only = false;
  bool force = false;
  bool anonymous = false;
  std::string output;
  std::vector<std::string> command;
};

using nlohmann::json;

exit_code show(const devices_options& options, const output_file& output, worker_fleet& fleet) {
  if (options.common.devices.empty()) {  // else the fleet was narrowed down to what was asked for
    std::vector<std::string> backends;
    for (const fleet_device& device : fleet.devices()) backends.push_back(device.summary.backend);
    for (std::string& note : notes_on_unserved_gpus(backends)) fleet.add_note(std::move(note));
  }
  for (const fleet_device& device : fleet.devices()) {
    if (!device.missing.empty()) fleet.add_note(fmt::format("{} is missing: {}", device.id, device.missing));
  }
  std::erase_if(fleet.devices(), [](const fleet_device& it) { return !it.missing.empty(); });
  print_notes(fleet.notes());
  if (options.list_only) {
    list_devices(fleet);
    return exit_code::done;
  }
  if (options.probe) measure_device_ceilings(fleet, std::vector<std::string>{"f32", "f64"});
  json document = devices_document(options.command, fleet);
  if (options.anonymous) document = anonymized(std::move(document));
  fleet.quit();
  closing_writes writes;
  writes.write(output, dump_results(document));
  const bool output_taken = output.is_standard_output();
  if (!options.json) {
    const text_style style = style_for(output_taken ? STDERR_FILENO : STDOUT_FILENO);
    print_report(devices_table(document.at("devices"), style), output_taken);
  } else if (!output_taken) {
    print_output(dump_results(document));
  }
  return writes.tell(exit_code::done);
}

exit_code run_devices(const devices_options& options) {
  if (!options.list_only) check_distinct(std::vector<named_file>{{"-o", options.output}});
  const output_file output = options.list_only ? output_file() : open_results(options.output, options.force);
  return with_fleet(options.common, options.list_only ? device_facts::skip : device_facts::read,
                    [&](worker_fleet& fleet) { return show(options, output, fleet); });
}

class devices_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    workers_.add_to(app);
    app.add_flag("--no-probe", no_probe_, "do not measure ceilings")->group("How");
    add_output(app, "-o,--output", options_.output, "write a results file without results; - is standard output");
    add_force(app, options_.force);
    add_anonymous(app, options_.anonymous);
    app.add_flag("--json", options_.json, "print the document instead of the table")->group("Output");
    app.add_flag("--list", options_.list_only, "print the devices' ids only")->group("Output");
  }

  exit_code run(std::vector<std::string> command) override {
    options_.common = workers_.read();
    options_.probe = !no_probe_;
    options_.command = std::move(command);
    return run_devices(options_);
  }

 private:
  worker_arguments workers_;
  devices_options options_;
  bool no_probe_ = false;
};

}  // namespace

const verb devices_verb{
    "devices", "what is here: units, clocks, caches, peaks, measured ceilings",
    "Shows the devices of this machine: units, clocks, caches, power, the theoretical peaks with where each number "
    "comes from, and measured ceilings.",
    R"(Examples:
  prumo devices                       everything, ceilings measured in some seconds
  prumo devices --no-probe            at once, without ceilings
  prumo devices --list                the ids alone, for --device
  prumo devices --device openmp:0 --json
  prumo devices -o here.json          a results file without results

Exit codes: 0 done; 2 wrong usage; 3 no such device; 130 interrupted.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<devices_call>(); }};

}  // namespace prumo::bench
