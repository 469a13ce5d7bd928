// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/device_ceilings.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/common.hpp"
#include "command_line/verbs/verb.hpp"
#include "reports/device_table.hpp"
#include "terminal/output.hpp"
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
  std::string output;
  std::vector<std::string> command;
};

using nlohmann::json;

exit_code show(const devices_options& options, worker_fleet& fleet) {
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
  const json document = devices_document(options.command, fleet);
  fleet.quit();
  const bool to_output = options.json || options.output == "-";
  if (!options.output.empty()) write_file_atomically(options.output, dump_results(document));
  if (options.json && options.output != "-") print_lines(stdout, dump_results(document));
  if (!options.json) {
    print_report(devices_table(document.at("devices"), style_for(to_output ? STDERR_FILENO : STDOUT_FILENO)),
                 options.output);
  }
  return exit_code::done;
}

exit_code run_devices(const devices_options& options) {
  check_output(options.output);
  return with_fleet(options.common, options.list_only ? device_facts::skip : device_facts::read,
                    [&](worker_fleet& fleet) { return show(options, fleet); });
}

class devices_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    workers_.add_to(app);
    app.add_flag("--no-probe", no_probe_, "do not measure ceilings")->group("How");
    app.add_option("-o,--output", options_.output, "write a results file without results; - is standard output")
        ->type_name("FILE")
        ->group("Output");
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
