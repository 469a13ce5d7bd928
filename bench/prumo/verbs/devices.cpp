// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings.hpp"
#include "device_table.hpp"
#include "group_measurement.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "run_record.hpp"
#include "verbs/common.hpp"
#include "verbs/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <unistd.h>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// The size of one array for ceilings: far beyond caches, and well inside a device's memory.
double probe_bytes(const fleet_device& device) {
  constexpr double standard = 128.0 * 1024 * 1024;
  const json available = device.entry.at("facts").value("memory_available_bytes", json());
  if (!available.is_number()) return standard;
  double bytes = standard;
  while (bytes * 16 > available.get<double>() && bytes > 1024 * 1024) bytes /= 2;
  return bytes;
}

void measure_ceilings(worker_fleet& fleet) {
  group_measurer measurer(fleet);
  ceiling_store ceilings(fleet, measurer);
  progress shown;
  shown.start(0);
  group_setting setting;
  setting.deadline = after_seconds(60);
  setting.on_step = [&](const std::string& what) { shown.update(what, 0); };
  for (std::size_t index = 0; index < fleet.devices().size(); ++index) {
    for (const char* dtype : {"f32", "f64"}) {
      planned_group group;
      group.dtype = dtype;
      group.bytes_per_array = probe_bytes(fleet.devices()[index]);
      group.cases.push_back({index, "resident", std::nullopt, "cold", std::nullopt, std::nullopt});
      ceilings.measure_for(group, setting, 0.5);
    }
  }
  shown.clear();
}

exit_code show(const devices_options& options, worker_fleet& fleet) {
  open_fleet(fleet, options.common, !options.list_only);
  print_notes(fleet.notes());
  if (options.list_only) {
    for (const fleet_device& device : fleet.devices()) fmt::print("{}  {}\n", device.id, device.summary.name);
    return exit_code::done;
  }
  if (options.probe) measure_ceilings(fleet);
  json run = make_run_record(options.command, fleet);
  const json document = {{"schema", "prumo.results/1"},
                         {"run", std::move(run)},
                         {"devices", fleet.device_entries()},
                         {"results", json::array()}};
  fleet.quit();
  const bool to_output = options.json || options.output == "-";
  if (!options.output.empty()) write_file_atomically(options.output, dump_results(document));
  if (options.json && options.output != "-") fmt::print("{}", dump_results(document));
  if (!options.json) {
    print_report(devices_table(document.at("devices"), style_for(to_output ? STDERR_FILENO : STDOUT_FILENO)),
                 options.output);
  }
  return exit_code::done;
}

}  // namespace

exit_code run_devices(const devices_options& options) {
  const interrupt_guard guard;
  if (!options.output.empty() && options.output != "-") {
    std::ignore = results_writer(options.output, json::object(), json::array());
  }
  extend_python_path(options.common.workers.folders);
  worker_fleet fleet(discover_workers(options.common.workers), options.common.client);
  try {
    return show(options, fleet);
  } catch (const interrupted&) {
    fmt::print(stderr, "prumo: interrupted\n");
    return exit_code::interrupted;
  }
}

}  // namespace prumo::bench
