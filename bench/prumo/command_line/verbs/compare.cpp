// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/option_values.hpp"
#include "command_line/verbs/common.hpp"
#include "command_line/verbs/outputs.hpp"
#include "command_line/verbs/verb.hpp"
#include "comparison/choice.hpp"
#include "comparison/comparison_gate.hpp"
#include "comparison/report/comparison_document.hpp"
#include "comparison/report/comparison_table.hpp"
#include "comparison/two_builds.hpp"
#include "privacy/anonymous.hpp"
#include "results/published_figures.hpp"
#include "terminal/nearest_name.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text.hpp"
#include "workers/worker_discovery.hpp"
#include <prumo/files/file_identity.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

namespace prumo::bench {
namespace {

constexpr std::array values_to_show{comparison_value::time,     comparison_value::rate, comparison_value::elements,
                                    comparison_value::roofline, comparison_value::peak, comparison_value::energy};
constexpr std::array states_to_compare{compared_state::turns, compared_state::burst, compared_state::sustained};

/// The one of `values` that has this name.
template <typename Value, std::size_t Count>
Value read_named(const char* option, const std::string& name, const std::array<Value, Count>& values) {
  std::vector<std::string> names;
  for (const Value value : values) {
    if (to_string(value) == name) return value;
    names.emplace_back(to_string(value));
  }
  throw program_error(exit_code::wrong_usage,
                      fmt::format("{}: {}", option, unknown_name_message("value", name, names)));
}

/// Refuses to show a column of nothing.
void check_value_is_told(const comparison& of, comparison_value by) {
  const auto told = [&](const case_cell& cell) {
    const cell_figures figures = figures_of(cell);
    switch (by) {
      case comparison_value::time: return true;  // or the case failed, which is told
      case comparison_value::rate: return figures.gbytes || figures.gflops || figures.gelements;
      case comparison_value::elements: return figures.gelements.has_value();
      case comparison_value::roofline: return figures.roofline.has_value();
      case comparison_value::peak: return figures.peak.has_value();
      case comparison_value::energy: return figures.energy.has_value();
    }
    return true;
  };
  for (const compared_case& it : of.cases) {
    if (std::ranges::any_of(it.cells, told)) return;
  }
  throw program_error(
      exit_code::wrong_usage,
      fmt::format("--by {}: no file has this value for the cases to compare; --by time always works", to_string(by)));
}

/// Opens the file for a comparison. An earlier comparison can be made again, so it is replaced; anything else is
/// refused.
output_file open_comparison(const std::string& path) {
  output_file file(path);
  if (file.is_regular() && file.had_content()) check_is_comparison(path);
  print_losses(file);
  return file;
}

class compare_call : public verb_call {
 public:
  void add_options(CLI::App& app) override;
  exit_code run(std::vector<std::string> command) override;

 private:
  void check_inputs() const;
  [[nodiscard]] row_filters read_filters();
  [[nodiscard]] comparison_view read_view() const;

  std::vector<std::string> files_, to_;
  std::vector<std::string> ops_, sizes_, dtypes_, layouts_, data_, caches_, dispatches_, compute_modes_, devices_,
      implementations_;
  std::vector<std::string> references_;
  std::string by_ = "time", state_ = "turns", gate_, base_, output_, csv_;
  bool all_ = false, each_implementation_ = false, anonymous_ = false;
};

void compare_call::add_options(CLI::App& app) {
  app.add_option("files", files_, "results of prumo, nvbench or Google Benchmark; - is standard input")
      ->type_name("FILE...")
      ->required();
  app.add_option("--to", to_, "files of the second side: the files in front of --to are `before`, these are `after`")
      ->type_name("FILE...")
      ->group("What");
  add_words(app, "--with", references_, "compare with figures that others published: theano-2017, mps, ...", "LIST")
      ->group("What");
  app.add_option("--base", base_, "show devices side by side, relative to this one")
      ->type_name("DEVICE")
      ->group("What");
  add_words(app, "--device", devices_, "only these devices", "LIST")->group("What");
  add_words(app, "--impl", implementations_, "only these implementations; all: a column for each", "LIST")
      ->group("What");
  add_words(app, "--op", ops_, "only these operations", "LIST")->group("What");
  add_words(app, "--size", sizes_, "only arrays of these sizes: 2MiB,8MiB or 2MiB:1GiB", "SIZES")->group("What");
  add_words(app, "--dtype", dtypes_, "only these types", "LIST")->group("What");
  add_words(app, "--layout", layouts_, "only these layouts", "LIST")->group("What");
  add_words(app, "--data", data_, "only resident or transferred", "LIST")->group("What");
  add_words(app, "--cache", caches_, "only cold or hot", "LIST")->group("What");
  add_words(app, "--dispatch", dispatches_, "only recorded or single", "LIST")->group("What");
  add_words(app, "--compute-mode", compute_modes_, "only these compute modes", "LIST")->group("What");
  app.add_option("--by", by_, "the value to show: time, rate, elements, roofline, peak, energy (default time)")
      ->type_name("VALUE")
      ->group("How");
  app.add_option("--state", state_,
                 "the times to compare: turns (default: measured in turns with other cases), burst (short work after "
                 "idling), sustained (after seconds of work at the case alone); `prumo bench --power-states all` "
                 "measures the last two")
      ->type_name("STATE")
      ->group("How");
  app.add_option("--gate", gate_,
                 "exit with 1 if a case became slower by more than this, and with 4 if the runs do not tell (for two "
                 "versions, three process runs of each or more)")
      ->type_name("PERCENT")
      ->group("How");
  add_output(app, "-o,--output", output_,
             "write the comparison (JSON) to this file; - is standard output. An earlier comparison is replaced, "
             "anything else is not");
  add_output(app, "--csv", csv_, "also write it as CSV, for spreadsheets");
  add_anonymous(app, anonymous_);
  app.add_flag("--all,--list", all_, "show everything that differs between the runs, and every case without a partner")
      ->group("Output");
}

row_filters compare_call::read_filters() {
  row_filters filters;
  filters.ops = split_list("--op", ops_);
  filters.dtypes = split_list("--dtype", dtypes_);
  filters.layouts = split_list("--layout", layouts_);
  filters.data = split_list("--data", data_);
  filters.caches = split_list("--cache", caches_);
  filters.dispatches = split_list("--dispatch", dispatches_);
  filters.compute_modes = split_list("--compute-mode", compute_modes_);
  filters.devices = split_list("--device", devices_);
  filters.implementations = split_list("--impl", implementations_);
  each_implementation_ = std::erase(filters.implementations, "all") > 0;
  for (const std::string& word : sizes_) {
    for (const std::uint64_t bytes : read_quantity("--size", [&] { return parse_byte_sizes(word); })) {
      filters.sizes.push_back(bytes);
    }
  }
  return filters;
}

comparison_view compare_call::read_view() const {
  comparison_view view;
  view.by = read_named("--by", by_, values_to_show);
  view.all = all_;
  if (!gate_.empty()) {
    view.gated = true;
    view.judged_with.margin = read_quantity("--gate", [&] { return parse_percentage(gate_); });
  }
  return view;
}

void compare_call::check_inputs() const {
  const auto inputs = std::ranges::count_if(files_, is_standard_input) + std::ranges::count_if(to_, is_standard_input);
  if (inputs > 1) throw program_error(exit_code::wrong_usage, "standard input (-) can be read once only");
}

exit_code compare_call::run(std::vector<std::string> command) {
  comparison_view view = read_view();
  const compared_state state = read_named("--state", state_, states_to_compare);
  const row_filters filters = read_filters();
  if (!to_.empty() && (!base_.empty() || each_implementation_ || !references_.empty())) {
    throw program_error(exit_code::wrong_usage,
                        "--to compares two versions of a device, but --base, --with and --impl all show devices side "
                        "by side; choose one of the two");
  }
  check_inputs();
  std::vector<std::string> inputs = files_;
  inputs.insert(inputs.end(), to_.begin(), to_.end());
  check_distinct(std::vector<named_file>{{"-o", output_}, {"--csv", csv_}}, inputs);
  const output_file document = open_comparison(output_);
  const output_file table = open_table(csv_, true, comparison_csv_head);

  std::vector<comparison_source> sources;
  for (const std::vector<std::string>* paths : {&files_, &to_}) {
    for (const std::string& path : *paths) sources.push_back(load_source(path));
  }
  if (anonymous_) {
    for (comparison_source& source : sources) {
      for (std::string& word : command) word = anonymized_text(word, source.run);
      source = anonymized(std::move(source));
    }
  }
  const bool interleaved = sources.size() == 1 && base_.empty() && !each_implementation_ && references_.empty() &&
                           holds_two_builds(sources[0].run);
  if (interleaved) {
    view.judged_with.plan = run_plan_of(sources.front().run);
    two_builds split = split_builds(sources.front());
    split.before.notes = sources.front().notes;
    sources = {std::move(split.before), std::move(split.after)};
  }
  for (published_set& set : load_published_sets(split_list("--with", references_), worker_folders())) {
    sources.push_back(source_of_results(std::move(set.document), set.name));
  }
  keep_rows(sources, filters);
  take_state(sources, state);
  std::vector<std::string> notes;
  for (const comparison_source& source : sources) {
    for (const std::string& note : source.notes) {
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    }
  }
  comparison_request request;
  request.base = base_;
  request.each_implementation = each_implementation_;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t of_other_side = interleaved ? 1 : to_.size();
    const bool other_side = i >= files_.size() && i < files_.size() + of_other_side;
    (other_side ? request.to : request.files).push_back(&sources[i]);
  }
  comparison compared = choose_comparison(request);
  compared.state = state;
  if (view.gated && compared.mode != comparison_mode::versions) {
    throw program_error(exit_code::wrong_usage,
                        "--gate judges two versions of a device, but these are devices side by side; name the files "
                        "of the two versions: prumo compare BEFORE --to AFTER --gate 3%");
  }
  check_value_is_told(compared, view.by);
  // Only the samples of turns were taken in turns with those of the other build.
  judge_cases(compared, view.judged_with, interleaved && state == compared_state::turns);
  notes.insert(notes.end(), compared.notes.begin(), compared.notes.end());
  for (std::string& note : notes) note = sanitize(note);
  print_notes(notes);
  compared.notes = notes;

  closing_writes writes;
  if (!document.is_none()) writes.write(document, dump_comparison(compared, view, command));
  if (!table.is_none()) writes.write(table, comparison_csv(compared));
  const bool taken = document.is_standard_output() || table.is_standard_output();
  print_report(comparison_table(compared, view, style_for(taken ? STDERR_FILENO : STDOUT_FILENO)), taken);

  const verdict_counts counts = count_verdicts(compared);
  const std::size_t judged = counts.same + counts.faster + counts.slower + counts.unclear;
  if (judged == 0 && counts.broke == 0 && (view.gated || counts.refused > 0)) {
    print_error("prumo: none of these cases could be compared; the table says why\n");
    return writes.tell(exit_code::wrong_usage);
  }
  return writes.tell(view.gated ? exit_code_of(report_gate(compared, view.judged_with).outcome) : exit_code::done);
}

}  // namespace

const verb compare_verb{
    "compare", "results across machines, devices or versions, with a verdict",
    "Compares results. Two files of one device are two versions of it: each case has a row with before, after, the "
    "ratio of "
    "their times with its interval, and a verdict. Several devices, in one file or many, stand side by side.",
    R"(Examples:
  prumo compare before.json after.json            two versions: ratios and intervals; one run each has no verdict
  prumo compare a1.json a2.json a3.json --to b1.json b2.json b3.json --gate 3%
                                                  three process runs of each, as verdicts and gates need them
  prumo compare both.json                         the two builds of `prumo bench --against OLD -o both.json`
  prumo compare laptop.json server.json           devices side by side
  prumo compare r.json --base openmp:0 --by roofline
                                                  devices of one run, shares of their own ceilings
  prumo compare r.json --device openmp:0 --impl all --op gemm
                                                  implementations side by side
  prumo compare r.json --with theano-2017 --by rate
                                                  published figures beside this machine
  prumo compare card0.json card1.json --state sustained
                                                  two cards at their power limits, with their clocks
  prumo compare old-nvbench.json new-nvbench.json
  prumo compare a.json b.json -o c.json --csv c.csv --all

Exit codes: 0 done; 1 the gate was not passed; 2 wrong usage or input, or nothing that can be compared; 3 this machine
cannot (a file that may not be read or written); 4 the gate is inconclusive: more process runs are needed.)",
    []() -> std::unique_ptr<verb_call> { return std::make_unique<compare_call>(); }};

}  // namespace prumo::bench
