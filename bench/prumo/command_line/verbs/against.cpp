// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/against.hpp"

#include "comparison/comparison.hpp"
#include "comparison/comparison_gate.hpp"
#include "comparison/report/comparison_table.hpp"
#include "comparison/source.hpp"
#include "comparison/two_builds.hpp"
#include "results/process_runs.hpp"
#include "terminal/standard_output.hpp"
#include "workers/worker_discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// True for two names of one file, and for copies.
bool is_same_program(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  if (!fs::is_regular_file(a, failed) || !fs::is_regular_file(b, failed)) return false;
  if (fs::equivalent(a, b, failed)) return true;
  if (fs::file_size(a, failed) != fs::file_size(b, failed)) return false;
  std::ifstream one(a, std::ios::binary);
  std::ifstream other(b, std::ios::binary);
  using bytes = std::istreambuf_iterator<char>;
  return one && other && std::equal(bytes(one), bytes(), bytes(other), bytes());
}

judge_options judge_options_of(const bench_options& options) {
  judge_options judged_with;
  if (options.gate) judged_with.margin = *options.gate;
  judged_with.seed = options.measure.seed;
  judged_with.plan = {options.measure.process_runs,
                      std::max(options.measure.process_runs, options.measure.most_process_runs)};
  return judged_with;
}

/// \param builds must outlive what is returned
comparison judged_builds(const two_builds& builds, const judge_options& judged_with) {
  comparison_side before;
  before.label = "before";
  before.sources = {&builds.before};
  comparison_side after;
  after.label = "after";
  after.sources = {&builds.after};
  comparison found = join_versions(std::move(before), std::move(after));
  judge_cases(found, judged_with, true);
  return found;
}

}  // namespace

json against_record(const bench_options& options) {
  return {{"build", options.against}, {"suffix", other_build_suffix}};
}

std::vector<std::string> same_program_notes(const worker_fleet& fleet) {
  std::vector<std::string> notes;
  for (const fleet_device& own : fleet.devices()) {
    for (const fleet_device& other : fleet.devices()) {
      if (own.of_other_build || !other.of_other_build || own.own_id != other.own_id) continue;
      if (own.threads != other.threads) continue;
      const auto& program = fleet.worker(own.worker).how_launched().command.back();
      if (!is_same_program(program, fleet.worker(other.worker).how_launched().command.back())) continue;
      std::string note =
          fmt::format("{}: both builds have the same worker program, so any difference is chance", own.id);
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
    }
  }
  return notes;
}

json drop_unpaired(const json& document) {
  const std::string suffix(other_build_suffix);
  std::map<std::string, std::vector<std::string>> states;
  const auto name_of = [&](const json& result) {
    auto device = result.at("device").get<std::string>();
    if (device.ends_with(suffix)) device.resize(device.size() - suffix.size());
    return fmt::format("{}\n{}\n{}", result.at("key").dump(), device, result.at("implementation").dump());
  };
  for (const json& result : document.at("results")) {
    states[name_of(result)].push_back(
        fmt::format("{} {}", result.at("status").get<std::string>(), samples_by_run(result).size()));
  }
  json kept = json::array();
  for (const json& result : document.at("results")) {
    const std::vector<std::string>& both = states.at(name_of(result));
    if (both.size() == 2 && both.front() == both.back()) kept.push_back(result);
  }
  return kept;
}

std::size_t next_process_runs(const json& document, const bench_options& options, std::size_t finished) {
  const judge_options judged_with = judge_options_of(options);
  if (finished >= judged_with.plan.most) return finished;
  const two_builds builds = split_builds(source_of_results(document, "this build"));
  const comparison found = judged_builds(builds, judged_with);
  const gate_report report = report_gate(found, judged_with);
  const verdict_counts counts = count_verdicts(found);
  const bool gate_is_open = report.outcome == gate_outcome::inconclusive && report.noisy > 0;
  const bool is_open = options.gate ? gate_is_open : counts.unclear > counts.not_slower;
  if (!is_open) return finished;
  const std::size_t next = next_look(judged_with.plan, finished);
  print_error(
      fmt::format("prumo: after {} process runs {} of {} cases are open; measuring goes on to run {}, and at most {}\n",
                  finished, options.gate ? report.noisy : counts.unclear - counts.not_slower, found.cases.size(), next,
                  judged_with.plan.most));
  return next;
}

build_report report_builds(const json& document, const bench_options& options, const text_style& style) {
  const two_builds builds = split_builds(source_of_results(document, "this build"));
  comparison_view view;
  view.judged_with = judge_options_of(options);
  view.gated = options.gate.has_value();
  const comparison found = judged_builds(builds, view.judged_with);
  return {comparison_table(found, view, style), report_gate(found, view.judged_with).outcome};
}

}  // namespace prumo::bench
