// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crossover/crossover.hpp"

#include "command_line/options/measuring_arguments.hpp"
#include "command_line/options/option_values.hpp"
#include "command_line/options/worker_arguments.hpp"
#include "command_line/verbs/common.hpp"
#include "command_line/verbs/outputs.hpp"
#include "command_line/verbs/verb.hpp"
#include "crossover/crossover_report.hpp"
#include "measure/machine_state.hpp"
#include "plan/plan_selection.hpp"
#include "privacy/anonymous.hpp"
#include "results/published_figures.hpp"
#include "results/run_conditions.hpp"
#include "results/run_record.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/plural.hpp"
#include "terminal/progress.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text_plot.hpp"
#include "workers/worker_discovery.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// What the options of `prumo crossover` say.
struct crossover_options {
  fleet_options common;
  measure_options measure;
  plan_options plan;              ///< of every operation
  std::vector<std::string> ops;   ///< empty: a product and its sum
  std::vector<std::string> data;  ///< of devices with their own memory; empty: all
  size_range bytes, rows;
  bool plot = false;
  bool list_only = false;
  bool force = false;
  bool anonymous = false;
  std::string output;
  std::vector<std::string> command;
};

std::vector<crossover_workload> workloads_of(const crossover_options& options) {
  std::vector<crossover_workload> workloads;
  workloads.reserve(options.ops.size() + 1);
  for (const std::string& op : options.ops) workloads.push_back(operation_workload(op, options.plan, options.bytes));
  if (workloads.empty()) workloads.push_back(product_and_sum_workload(options.plan, options.rows));
  return workloads;
}

/// Refuses names that no worker knows.
void check_names(const crossover_workload& workload, const worker_fleet& fleet) {
  std::vector<std::string> notes;
  for (const plan_options& part : workload.parts(workload.smallest)) std::ignore = choose_ops(part, fleet, notes);
}

exit_code code_of(const std::vector<json>& results) {
  const auto is_wrong = [](const json& it) { return it.at("verified") == false; };
  if (std::ranges::any_of(results, is_wrong)) return exit_code::no;
  const bool failed = std::ranges::any_of(results, [](const json& it) { return it.at("status") == "failed"; });
  return failed ? exit_code::machine_cannot : exit_code::done;
}

exit_code finish(const crossover_options& options, const output_file& output, const results_writer& writer,
                 json crossings, const machine_watch& machine, exit_code code) {
  json document = writer.document();
  document["run"]["crossovers"] = std::move(crossings);
  document["run"]["state"] = machine.state();
  if (const std::string concern = machine.concern_at_end(); !concern.empty()) {
    document["run"]["warnings"].push_back(concern);
    print_notes(std::vector{concern});
  }
  if (options.anonymous) document = anonymized(std::move(document));
  closing_writes writes;
  if (!output.had_content() || writer.has_measured()) writes.write(output, dump_results(document));
  return writes.tell(code);
}

exit_code measure(const crossover_options& options, const output_file& output, worker_fleet& fleet, steady_time started,
                  machine_watch& machine) {
  if (!options.list_only) {
    machine.look_at_start(fleet);
    if (std::string concern = machine.concern_at_start(); !concern.empty()) fleet.add_note(std::move(concern));
  }
  print_notes(fleet.notes());
  const std::vector<crossover_workload> workloads = workloads_of(options);
  for (const crossover_workload& it : workloads) check_names(it, fleet);
  if (options.list_only) {
    for (const crossover_workload& it : workloads) {
      print_output(
          fmt::format("{}: {}, from {} to {}\n", it.name, it.title, it.text(it.smallest), it.text(it.largest)));
    }
    return exit_code::done;
  }
  json run = make_run_record(options.command, fleet.worker_versions(), fleet.notes());
  run["conditions"] = run_conditions(run, fleet.device_entries());
  results_writer writer(output, std::move(run), fleet.device_entries());
  if (options.anonymous) writer.set_anonymous();
  progress shown;
  writer.on_note([&](const std::string& note) {
    shown.clear();
    print_notes(std::vector{note});
  });
  shown.start(0);
  point_measurer measurer(fleet, writer, options.measure, [&](const std::string& what) { shown.update(what, 0); });
  const bool output_taken = output.is_standard_output();
  const text_style style = style_for(output_taken ? STDERR_FILENO : STDOUT_FILENO);
  json crossings = json::array();
  try {
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      const crossover_workload& workload = workloads[i];
      crossover_setting setting;
      setting.seconds = options.measure.budget_seconds / static_cast<double>(workloads.size());
      setting.deadline =
          started + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::chrono::duration<double>(std::min(setting.seconds * static_cast<double>(i + 1), 3e7)));
      setting.case_limit = options.measure.case_limit_seconds;
      setting.data = options.data;
      const crossover_curves curves = measure_crossover(workload, fleet, measurer, writer, setting);
      shown.clear();
      std::string report = (i > 0 ? "\n" : "") + crossover_table(workload, curves, style);
      for (const json& it : curves.crossings(workload)) crossings.push_back(it);
      if (options.plot) report += '\n' + crossover_plot(workload, curves, style);
      if (options.ops.empty()) {
        const std::vector<std::string> lesson{"mps"};
        report +=
            '\n' + published_times_table(load_published_sets(lesson, worker_folders()).front().document, curves, style);
      }
      print_report(report, output_taken);
    }
    machine.look_at_end(fleet);
  } catch (const interrupted&) {
    shown.clear();
    fleet.quit();
    machine.finish();
    exit_code code = exit_code::interrupted;
    if (!writer.results().empty()) code = finish(options, output, writer, std::move(crossings), machine, code);
    print_error(fmt::format("prumo: interrupted: {}\n",
                            plural(writer.results().size(), "result is finished", "results are finished")));
    return code;
  }
  fleet.quit();
  machine.finish();
  print_report(
      "time: median of a call by the wall clock, which is read when the device has finished a batch of calls. "
      "Who\nwaits "
      "for each call separately waits longer on a GPU, too\n",
      output_taken);
  return finish(options, output, writer, std::move(crossings), machine, code_of(writer.results()));
}

exit_code run_crossover(const crossover_options& options) {
  const steady_time started = std::chrono::steady_clock::now();
  if (!options.list_only) check_distinct(std::vector<named_file>{{"-o", options.output}});
  const output_file output = options.list_only ? output_file() : open_results(options.output, options.force);
  if (options.ops.empty())
    std::ignore = load_published_sets(std::vector<std::string>{"mps"}, worker_folders());  // before it is late
  machine_watch machine(options.common.workers.launcher.empty());
  return with_fleet(options.common, device_facts::read,
                    [&](worker_fleet& fleet) { return measure(options, output, fleet, started, machine); });
}

/// `LOW:HIGH` as two numbers. \throws program_error (wrong usage)
template <typename Read>
size_range read_range(const char* option, const std::string& text, const char* example, Read read) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw program_error(exit_code::wrong_usage,
                        fmt::format("{}: '{}' is not LOW:HIGH; for example {} {}", option, text, option, example));
  }
  const size_range range{read(text.substr(0, colon)), read(text.substr(colon + 1))};
  if (range.smallest >= range.largest) {
    throw program_error(
        exit_code::wrong_usage,
        fmt::format("{}: '{}' does not end above its beginning; for example {} {}", option, text, option, example));
  }
  return range;
}

class crossover_call : public verb_call {
 public:
  void add_options(CLI::App& app) override {
    workers_.add_to(app);
    add_words(app, "--op", ops_, "operations (default: the lesson's product and sum)", "LIST")->group("What");
    app.add_option("--size", size_, "smallest and largest size of one array, with --op (default 4KiB:64MiB)")
        ->type_name("LOW:HIGH")
        ->group("What");
    app.add_option("--rows", rows_, "smallest and largest number of rows, for the lesson's workload (default 70:7000)")
        ->type_name("LOW:HIGH")
        ->group("What");
    add_words(app, "--data", data_, "where the data of GPUs are: resident, transferred (default: both)", "LIST")
        ->group("What");
    add_words(app, "--host-memory", host_memory_, "host memory of transferred data: pinned, pageable (default: both)",
              "LIST")
        ->group("What");
    app.add_option("--dtype", dtype_, "the type (default f32)")->type_name("TYPE")->group("What");
    app.add_option("--cache", cache_,
                   "hot: arrays stay in the cache if they fit; cold: they come from memory (default hot)")
        ->type_name("STATE")
        ->group("What");
    app.add_option("--dispatch", dispatch_,
                   "single: the host launches each call, as a program does that calls an operation now and then; "
                   "recorded: short calls of a GPU are recorded once and replayed, as in a program that repeats the "
                   "same calls in a graph. This hides the cost of launching, so the GPU breaks even earlier (default "
                   "single)")
        ->type_name("HOW")
        ->group("What");
    measuring_.add_to(app, "1min");
    app.add_option("--plot", plot_, "auto (on a terminal), always, never")->type_name("WHEN")->group("Output");
    add_output(app, "-o,--output", output_, "write the results (JSON) to this file; - is standard output");
    add_force(app, force_);
    add_anonymous(app, anonymous_);
    app.add_flag("--list", list_, "print what would be measured, and measure nothing")->group("Output");
  }

  exit_code run(std::vector<std::string> command) override {
    crossover_options options;
    options.common = workers_.read();
    options.ops = split_list("--op", ops_);
    options.data = split_list("--data", data_);
    for (const std::string& it : options.data) check_choice("--data", it, {"resident", "transferred"});
    check_choice("--plot", plot_, {"auto", "always", "never"});
    options.plan.dtypes = {dtype_};
    options.plan.caches = {cache_};
    options.plan.dispatches = {dispatch_};
    options.plan.host_memory = split_list("--host-memory", host_memory_);
    // Hosts know resident data only, and composed times need the resident ones.
    const bool transferred =
        options.data.empty() || std::ranges::find(options.data, "transferred") != options.data.end();
    if (!transferred) options.plan.data = {"resident"};
    std::ignore = choose_axes(options.plan);
    read_sizes(options);
    options.measure.budget_seconds = 60;
    options.measure.minimum_seconds = 0.05;
    options.measure.count_limit = 1e5;
    measuring_.read_into(options.measure);
    options.plot = plot_ == "always" || (plot_ == "auto" && is_plot_wanted());
    options.list_only = list_;
    options.force = force_;
    options.anonymous = anonymous_;
    options.output = output_;
    options.command = std::move(command);
    return run_crossover(options);
  }

 private:
  void read_sizes(crossover_options& options) const {
    const char* useless = options.ops.empty() ? (size_.empty() ? nullptr : "--size")
                          : rows_.empty()     ? nullptr
                                              : "--rows";
    if (useless != nullptr) {
      throw program_error(exit_code::wrong_usage,
                          fmt::format("{} goes {} --op: --rows is for the lesson's workload, --size for operations",
                                      useless, options.ops.empty() ? "with" : "without"));
    }
    if (!size_.empty()) {
      options.bytes = read_range("--size", size_, "4KiB:64MiB", [](const std::string& text) {
        return static_cast<double>(read_quantity("--size", [&] { return parse_bytes(text); }));
      });
    }
    if (!rows_.empty()) {
      constexpr std::uint64_t most_rows = 1'000'000'000;
      options.rows = read_range("--rows", rows_, "70:7000", [](const std::string& text) {
        return static_cast<double>(read_whole_number("--rows", text, 1, most_rows));
      });
    }
  }

  worker_arguments workers_;
  measuring_arguments measuring_;
  std::vector<std::string> ops_, data_, host_memory_;
  std::string size_, rows_, dtype_ = "f32", cache_ = "hot", dispatch_ = "single", plot_ = "auto", output_;
  bool list_ = false, force_ = false, anonymous_ = false;
};

}  // namespace

const verb crossover_verb{
    "crossover", "the size from which a GPU is faster than the CPU, with and without transfers",
    "Searches for the size from which a GPU is faster than the CPU. It first measures a few sizes on every device, "
    "then bisects where the faster device changes. The host launches each call, as a program does; --dispatch recorded "
    "answers for a program that replays recorded calls. Without --op, the workload is that of a lesson on GPUs, (x @ "
    "y.T).sum(), between 70 x 30 and 7000 x 3000, and the lesson's published figures stand beside it. Its time is "
    "composed of the times of a product and a sum.",
    R"(Examples:
  prumo crossover                               the lesson's workload, within a minute
  prumo crossover --op gemm,add,sigmoid         break-even of single operations
  prumo crossover --op add --size 1KiB:1GiB --data transferred --host-memory pageable
  prumo crossover --op add --dispatch recorded  for a program that replays its calls as a graph
  prumo crossover --device all -o r.json        with peers; the points as results
  prumo crossover --plot always | less

Exit codes: 0 done, even if there is nothing to cross; 1 a result was wrong; 2 wrong usage; 3 this machine cannot (no
device, a case that failed); 130 interrupted.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<crossover_call>(); }};

}  // namespace prumo::bench
