// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rates/roofline.hpp"

#include "ceilings/device_ceilings.hpp"
#include "command_line/options/option_values.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/common.hpp"
#include "command_line/verbs/outputs.hpp"
#include "command_line/verbs/verb.hpp"
#include "privacy/anonymous.hpp"
#include "reports/roofline_report.hpp"
#include "results/results_file.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text_plot.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// What the options of `prumo roofline` say.
struct roofline_options {
  fleet_options common;
  std::vector<std::string> files;
  std::vector<std::string> dtypes;
  bool json_only = false;
  bool list_only = false;
  bool force = false;
  bool anonymous = false;
  std::string plot = "auto";
  std::string output;
  std::vector<std::string> command;
};

exit_code show(const roofline_options& options, const output_file& output, json document) {
  for (json& device : document["devices"]) device["rooflines"] = rooflines_json(rooflines_of(device, options.dtypes));
  if (options.anonymous) document = anonymized(std::move(document));
  closing_writes writes;
  writes.write(output, dump_results(document));
  const bool output_taken = output.is_standard_output();
  if (options.json_only) {
    if (!output_taken) print_output(dump_results(document));
    return writes.tell(exit_code::done);
  }
  const text_style style = style_for(output_taken ? STDERR_FILENO : STDOUT_FILENO);
  std::string report = roofline_table(document, options.dtypes, style);
  if (options.plot == "always" || (options.plot == "auto" && is_plot_wanted())) {
    report += roofline_plots(document, options.dtypes, style);
  }
  print_report(report, output_taken);
  return writes.tell(exit_code::done);
}

/// Refuses types that no probe has. Peers have no probes at all, which is no mistake of the user's.
void check_types(const std::vector<std::string>& dtypes, const worker_fleet& fleet) {
  std::vector<std::string> known;
  for (const fleet_device& device : fleet.devices()) {
    const protocol::case_description* fma = fleet.find_case(device, "fma");
    if (fma != nullptr) known.insert(known.end(), fma->dtypes.begin(), fma->dtypes.end());
  }
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (known.empty()) return;
  for (const std::string& dtype : dtypes) check_choice("--dtype", dtype, known);
}

/// The ceilings of this machine's devices, measured now.
exit_code measure(const roofline_options& options, const output_file& output, worker_fleet& fleet) {
  print_notes(fleet.notes());
  if (options.list_only) {
    list_devices(fleet);
    return exit_code::done;
  }
  check_types(options.dtypes, fleet);
  measure_device_ceilings(fleet, options.dtypes.empty() ? std::vector<std::string>{"f32", "f64"} : options.dtypes);
  json document = devices_document(options.command, fleet);
  fleet.quit();
  return show(options, output, std::move(document));
}

exit_code run_roofline(const roofline_options& options) {
  if (!options.list_only) check_distinct(std::vector<named_file>{{"-o", options.output}}, options.files);
  const output_file output = options.list_only ? output_file() : open_results(options.output, options.force);
  if (!options.files.empty()) {
    exit_code code = exit_code::done;
    for (const std::string& path : options.files) {
      json document = load_results(path);
      if (options.files.size() > 1 && !options.json_only) print_output(sanitize(path) + ":\n");
      code = show(options, output, std::move(document));
    }
    return code;  // several files have no output that could fail
  }
  return with_fleet(options.common, options.list_only ? device_facts::skip : device_facts::read,
                    [&](worker_fleet& fleet) { return measure(options, output, fleet); });
}

class roofline_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("files", options_.files, "results files, whose results are shown below their own roofs")
        ->type_name("FILE...");
    workers_.add_to(app);
    add_words(app, "--dtype", dtypes_, "types (default: f32 and f64; of files: all)", "LIST")->group("What");
    app.add_option("--plot", options_.plot, "auto (on a terminal), always, never")->type_name("WHEN")->group("Output");
    add_output(app, "-o,--output", options_.output, "write a results file with the roofs; - is standard output");
    add_force(app, options_.force);
    add_anonymous(app, options_.anonymous);
    app.add_flag("--json", options_.json_only, "print the document instead of the table")->group("Output");
    app.add_flag("--list", options_.list_only, "print the devices' ids only")->group("Output");
  }

  exit_code run(std::vector<std::string> command) override {
    options_.common = workers_.read();
    options_.dtypes = split_list("--dtype", dtypes_);
    check_choice("--plot", options_.plot, {"auto", "always", "never"});
    if (options_.files.size() > 1 && (options_.json_only || !options_.output.empty())) {
      throw program_error(exit_code::wrong_usage, "-o and --json take one results file: give one, or none to measure");
    }
    options_.command = std::move(command);
    return run_roofline(options_);
  }

 private:
  worker_arguments workers_;
  roofline_options options_;
  std::vector<std::string> dtypes_;
};

}  // namespace

const verb roofline_verb{
    "roofline", "measured ceilings and theoretical peaks, and operations below them",
    "Shows the ceilings of memory and arithmetic for each type, measured now or taken from results files, beside the "
    "theoretical peaks of each unit, and the ridge points: the number of flops per byte from which arithmetic is the "
    "limit.",
    R"(Examples:
  prumo roofline                      measure this machine's ceilings
  prumo roofline --dtype f32 --device openmp:0 -o roofs.json
  prumo bench -o r.json && prumo roofline r.json
                                      each result below the ceilings that the file has for it
  prumo roofline --json | jq '.devices[].rooflines'

Exit codes: 0 done; 2 wrong usage or input; 3 no such device; 130 interrupted.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<roofline_call>(); }};

}  // namespace prumo::bench
