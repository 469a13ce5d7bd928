// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.hpp"

#include "command_help.hpp"
#include "nearest_name.hpp"
#include "program_error.hpp"
#include "run_record.hpp"
#include "units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

namespace prumo::bench {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw program_error(exit_code::wrong_usage, message); }

/// Every occurrence of an option takes one word with values separated by commas.
std::vector<std::string> split_list(const char* option, const std::vector<std::string>& words) {
  std::vector<std::string> values;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      if (end == begin) refuse(fmt::format("{}: an empty name in '{}'", option, word));
      values.push_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return values;
}

/// `name=number,...`; whole numbers above zero where `extents` is set.
std::map<std::string, double> read_assignments(const char* option, const std::vector<std::string>& words,
                                               bool extents) {
  std::map<std::string, double> values;
  for (const std::string& entry : split_list(option, words)) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, std::min(equals, entry.size()));
    const std::string text = equals == std::string::npos ? std::string() : entry.substr(equals + 1);
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    const bool whole = std::trunc(value) == value && value >= 0 && value < 9e15;
    if (name.empty() || used == 0 || used != text.size() || !std::isfinite(value) || (extents && !whole)) {
      refuse(fmt::format("{}: '{}' is not NAME={}", option, entry, extents ? "EXTENT (a whole number)" : "NUMBER"));
    }
    if (!values.emplace(name, value).second) refuse(fmt::format("{}: '{}' is given twice", option, name));
  }
  return values;
}

/// Runs a reader of a quantity and puts the option in front of its complaint.
template <typename Reader>
auto read_quantity(const char* option, Reader reader) {
  try {
    return reader();
  } catch (const unit_error& error) {
    refuse(fmt::format("{}: {}", option, error.what()));
  }
}

double read_budget(const std::string& text) {
  if (text == "none") return std::numeric_limits<double>::infinity();
  return read_quantity("--time-budget", [&] { return parse_duration(text); });
}

/// Words as they stand on the command line, before they are read.
struct raw_options {
  std::vector<std::string> workers, devices, ops, sizes, shape, dtypes, layouts, data, host_memory, caches,
      implementations, compute_modes, parameters;
  std::string launcher, worker_timeout, time_budget, case_limit, target_noise, output, csv, count_limit;
  std::size_t minimum_samples = 0;
  std::uint64_t seed = 1;
  bool quick = false, full = false, no_search = false, no_verify = false, no_probe = false, resume = false,
       list = false, verbose = false, json = false;
};

CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description, const std::string& type) {
  return app.add_option(name, target, description)->allow_extra_args(false)->type_name(type);
}

void add_common(CLI::App& app, raw_options& raw) {
  app.group("");
  add_words(app, "--device", raw.devices, "devices to measure: ids or backends; all but peers unless told", "LIST")
      ->group("Where");
  add_words(app, "--worker", raw.workers, "one more worker, for instance an older build or another framework",
            "NAME=COMMAND")
      ->group("Where");
  app.add_flag("--no-search", raw.no_search, "take only the workers named by --worker")->group("Where");
  app.add_option("--launcher", raw.launcher, "command in front of every worker's, for instance 'ssh node7'")
      ->type_name("COMMAND")
      ->group("Where");
  app.add_option("--worker-timeout", raw.worker_timeout,
                 "longest wait for any answer of a worker (default: by request)")
      ->type_name("DURATION")
      ->group("Where");
  app.add_option("-o,--output", raw.output, "write the results (JSON) there; - is standard output")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("-v,--verbose", raw.verbose, "show what workers write to their standard error")->group("Output");
}

void add_bench(CLI::App& app, raw_options& raw) {
  add_common(app, raw);
  add_words(app, "--op", raw.ops, "operations (default: the sweep's)", "LIST")->group("What");
  add_words(app, "--size", raw.sizes, "bytes of one array: 2MB,8MB or 2MB:1GB, which doubles", "SIZES")->group("What");
  add_words(app, "--shape", raw.shape, "single extents: rows=100,columns=1024", "AXIS=N,...")->group("What");
  add_words(app, "--dtype", raw.dtypes, "types: f32, f64, f16, bf16 (default f32)", "LIST")->group("What");
  add_words(app, "--layout", raw.layouts, "right, left, strided (default right)", "LIST")->group("What");
  add_words(app, "--impl", raw.implementations, "implementations by name, or all (default: each worker's first)",
            "LIST")
      ->group("What");
  add_words(app, "--compute-mode", raw.compute_modes, "compute modes (default: the first, strict)", "LIST")
      ->group("What");
  add_words(app, "--set", raw.parameters, "parameters: alpha=2,trans_a=1", "NAME=NUMBER,...")->group("What");
  add_words(app, "--data", raw.data, "resident, transferred (default both, where there are transfers)", "LIST")
      ->group("What");
  add_words(app, "--host-memory", raw.host_memory,
            "pinned, pageable, for transferred data (default both; --quick: pinned)", "LIST")
      ->group("What");
  add_words(app, "--cache", raw.caches, "cold, hot (default cold)", "LIST")->group("What");
  CLI::Option* quick = app.add_flag("--quick", raw.quick, "two sizes in 15 seconds")->group("How long");
  app.add_flag("--full", raw.full, "every operation, type, layout, size and mode")->excludes(quick)->group("How long");
  app.add_option("--time-budget", raw.time_budget, "for the whole run (default 2min); none: no limit")
      ->type_name("DURATION")
      ->group("How long");
  app.add_option("--case-limit", raw.case_limit, "the most that one case gets (default 10s)")
      ->type_name("DURATION")
      ->group("How long");
  app.add_option("--target-noise", raw.target_noise,
                 "stop when the inter-quartile range is under this share of the median (default 0.5% GPU, 2% CPU)")
      ->type_name("PERCENT")
      ->group("How long");
  app.add_option("--min-samples", raw.minimum_samples, "fewest samples to judge the spread by (default 10)")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->group("How long");
  app.add_option("--seed", raw.seed, "of the generated data (default 1)")->type_name("N")->group("How");
  app.add_flag("--no-verify", raw.no_verify, "do not compare results with the reference")->group("How");
  app.add_flag("--no-probe", raw.no_probe, "do not measure ceilings")->group("How");
  app.add_option("--count-limit", raw.count_limit,
                 "operations up to which counted flops come from running the kernel; above, its closed form")
      ->type_name("N")
      ->group("How");
  app.add_option("--csv", raw.csv, "write the results as a table for spreadsheets, too")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--resume", raw.resume, "go on with the file of -o: what it has is kept")->group("Output");
  app.add_flag("--list", raw.list, "print the plan and measure nothing")->group("Output");
}

void add_devices(CLI::App& app, raw_options& raw) {
  add_common(app, raw);
  app.add_flag("--no-probe", raw.no_probe, "do not measure ceilings")->group("How");
  app.add_flag("--json", raw.json, "print the document instead of the table")->group("Output");
  app.add_flag("--list", raw.list, "print the devices' ids only")->group("Output");
}

common_options read_common(const raw_options& raw) {
  common_options common;
  common.workers.named = raw.workers;
  common.workers.search = !raw.no_search;
  common.workers.launcher = raw.launcher;
  common.workers.folders = worker_folders();
  common.devices = split_list("--device", raw.devices);
  common.workers.wanted_devices = common.devices;
  common.client.forward_errors = raw.verbose;
  if (!raw.worker_timeout.empty()) {
    common.client.time_limit = read_quantity("--worker-timeout", [&] { return parse_duration(raw.worker_timeout); });
  }
  return common;
}

plan_options read_plan(const raw_options& raw) {
  plan_options plan;
  plan.extent = raw.quick ? sweep::quick : raw.full ? sweep::full : sweep::normal;
  plan.ops = split_list("--op", raw.ops);
  for (const std::string& word : raw.sizes) {
    const auto sizes = read_quantity("--size", [&] { return parse_byte_sizes(word); });
    std::ranges::copy_if(sizes, std::back_inserter(plan.sizes),
                         [&](std::uint64_t bytes) { return std::ranges::find(plan.sizes, bytes) == plan.sizes.end(); });
  }
  plan.shape = read_assignments("--shape", raw.shape, true);
  plan.dtypes = split_list("--dtype", raw.dtypes);
  plan.layouts = split_list("--layout", raw.layouts);
  plan.data = split_list("--data", raw.data);
  plan.host_memory = split_list("--host-memory", raw.host_memory);
  plan.caches = split_list("--cache", raw.caches);
  plan.implementations = split_list("--impl", raw.implementations);
  plan.compute_modes = split_list("--compute-mode", raw.compute_modes);
  plan.parameters = read_assignments("--set", raw.parameters, false);
  return plan;
}

measure_options read_measure(const raw_options& raw) {
  measure_options measure;
  if (raw.quick) {
    measure.budget_seconds = 15;
    measure.minimum_seconds = 0.03;
    measure.minimum_samples = 5;
    measure.count_limit = 1e6;
  } else if (raw.full) {
    measure.budget_seconds = std::numeric_limits<double>::infinity();
    measure.count_limit = 1e9;
  }
  if (!raw.time_budget.empty()) measure.budget_seconds = read_budget(raw.time_budget);
  if (!raw.case_limit.empty()) {
    measure.case_limit_seconds = read_quantity("--case-limit", [&] { return parse_duration(raw.case_limit); });
  }
  if (!raw.target_noise.empty()) {
    measure.target_noise = read_quantity("--target-noise", [&] { return parse_percentage(raw.target_noise); });
  }
  if (raw.minimum_samples > 0) measure.minimum_samples = raw.minimum_samples;
  if (!raw.count_limit.empty()) {
    measure.count_limit = read_assignments("--count-limit", {"N=" + raw.count_limit}, false).at("N");
  }
  measure.seed = raw.seed;
  measure.verify = !raw.no_verify;
  measure.probe_ceilings = !raw.no_probe;
  return measure;
}

/// Names the word that CLI11 could not place, and the option that was meant.
std::string explain_extras(const CLI::App& app, const std::string& verb) {
  const std::vector<std::string> extras = app.remaining();
  const std::string word = extras.empty() ? std::string() : extras.front();
  if (!word.starts_with("-")) {
    return fmt::format("'{}' is one word too many; `prumo {} --help` shows what is understood", word, verb);
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string near = nearest_name(name, known);
  return fmt::format("unknown option '{}'{} `prumo {} --help` lists the options.", name,
                     near.empty() ? "." : fmt::format("; did you mean '{}'?", near), verb);
}

/// Examples stand in columns; newer versions of CLI11 would flow them into a paragraph.
template <class Formatter>
void keep_line_breaks(Formatter& formatter) {
  if constexpr (requires { formatter.enable_footer_formatting(false); }) {
    formatter.enable_footer_formatting(false);
    formatter.enable_description_formatting(false);
  }
}

}  // namespace

parsed_command parse_command_line(std::span<const std::string> words) {
  const std::string verb = words.size() > 1 ? words[1] : std::string("--help");
  if (verb == "--version" || verb == "-V") return text_request{fmt::format("prumo {}\n", program_version())};
  if (verb == "--list") return text_request{verbs_list()};
  if (verb == "--help" || verb == "-h" || verb == "help") return text_request{program_help()};
  const std::vector<std::string> verbs = verb_names();
  if (std::ranges::find(verbs, verb) == verbs.end()) {
    refuse(fmt::format("{} `prumo --help` explains them.",
                       unknown_name_message(verb.starts_with("-") ? "option" : "verb", verb, verbs)));
  }

  raw_options raw;
  CLI::App app(verb_description(verb), "prumo " + verb);
  verb == "bench" ? add_bench(app, raw) : add_devices(app, raw);
  app.footer(verb_examples(verb));
  app.get_formatter()->column_width(34);
  keep_line_breaks(*app.get_formatter());
  std::vector<std::string> rest(words.begin() + 2, words.end());
  std::ranges::reverse(rest);
  try {
    app.parse(rest);
  } catch (const CLI::CallForHelp&) {
    return text_request{app.help()};
  } catch (const CLI::ExtrasError&) {
    refuse(explain_extras(app, verb));
  } catch (const CLI::ParseError& error) {
    refuse(fmt::format("{}; `prumo {} --help` explains the options", error.what(), verb));
  }

  const std::vector<std::string> command(words.begin(), words.end());
  if (verb == "devices") {
    devices_options options{read_common(raw), !raw.no_probe, raw.json, raw.list, raw.output, command};
    return options;
  }
  bench_options options;
  options.common = read_common(raw);
  options.plan = read_plan(raw);
  options.measure = read_measure(raw);
  options.output = raw.output;
  options.csv = raw.csv;
  options.resume = raw.resume;
  options.list_only = raw.list;
  options.verbose = raw.verbose;
  options.command = command;
  if (options.resume && (options.output.empty() || options.output == "-")) {
    refuse("--resume goes on with a results file: name it with -o FILE");
  }
  return options;
}

}  // namespace prumo::bench
