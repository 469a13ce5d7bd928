// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedule.hpp"

#include "interrupt.hpp"
#include "results_schema.hpp"
#include "stopping.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Reasons that begin so are no verdict on the case: a resumed run tries again.
constexpr std::string_view no_time = "no time was left";

/// What a group needs in comparison with others: small ones samples, large ones also time for data and references.
double weight(const planned_group& group) {
  constexpr double heavy_bytes = 256.0 * 1024 * 1024;
  const auto open = std::ranges::count_if(group.cases, [](const planned_case& it) { return !it.outcome; });
  return static_cast<double>(open) * (1 + group.footprint_bytes / heavy_bytes);
}

}  // namespace

bool is_final(const json& result) {
  if (result.at("status") == "failed") return false;
  const json& reason = result.at("reason");
  return !(reason.is_string() && reason.get_ref<const std::string&>().starts_with(no_time));
}

scheduler::scheduler(worker_fleet& fleet, results_writer& writer, progress& shown, measure_options options,
                     steady_time started)
    : fleet_(fleet),
      writer_(writer),
      progress_(shown),
      options_(options),
      started_(started),
      measurer_(fleet),
      ceilings_(fleet, measurer_) {}

planned_group scheduler::without_finished(const planned_group& group, std::size_t& kept) const {
  planned_group rest = group;
  std::erase_if(rest.cases, [&](const planned_case& it) {
    const json stub = group.result_stub(fleet_, it);
    const json* known = writer_.find(stub.at("key").get<std::string>(), stub.at("device").get<std::string>(),
                                     it.implementation.value_or(""));
    const bool finished = known != nullptr && is_final(*known);
    if (finished) ++kept;
    return finished;
  });
  return rest;
}

void scheduler::leave_out(planned_group& group, const std::string& reason) {
  for (planned_case& it : group.cases) {
    if (!it.outcome) it.outcome = settled_outcome{"skipped", reason};
  }
}

void scheduler::leave_out_long_cases(planned_group& group, double share) {
  // Verification, settling and one sample are a call each, and few operations reach the ceiling.
  constexpr double calls = 4;
  constexpr double shortest = 1;  // second: never left out for its length
  const auto flops = cost_model::from_json(group.model).flops;
  for (planned_case& it : group.cases) {
    if (it.outcome) continue;
    auto seconds = least_seconds(group, fleet_.devices()[it.device]);
    const auto ceiling = ceilings_.find(group, it).fma;
    if (flops && ceiling && *ceiling > 0) seconds = std::max(seconds.value_or(0), *flops / *ceiling);
    if (!seconds || *seconds * calls <= std::max(shortest, 3 * share)) continue;
    it.outcome = settled_outcome{
        "skipped", fmt::format("{}: one call takes {} or more, too long for a budget of {}; name the size with --size "
                               "or give a longer --time-budget",
                               no_time, format_duration(*seconds), format_duration(options_.budget_seconds))};
  }
}

void scheduler::store_devices() {
  for (const fleet_device& device : fleet_.devices()) writer_.set_device(device.entry);
}

json scheduler::checked(const planned_group& group, const planned_case& which, json result) const {
  if (const auto violations = validate_result(result); !violations.empty()) {
    // The numbers come from the worker: its mistake costs this case, not the run.
    const std::string& worker = fleet_.worker(fleet_.devices()[which.device].worker).name();
    result = group.result_stub(fleet_, which);
    result["reason"] = fmt::format("worker '{}' gave numbers that break the format at {}: {}", worker,
                                   violations.front().path, violations.front().message);
  }
  return result;
}

void scheduler::store(const planned_group& group, std::vector<measured_case> results, run_outcome& outcome) {
  store_devices();
  for (std::size_t i = 0; i < results.size(); ++i) {
    json& result = results[i].result;
    if (result.at("status") == "ok") {
      const fleet_device& device = fleet_.devices()[group.cases[i].device];
      derive_figures(result, group, device.entry.at("peaks"), ceilings_.find(group, group.cases[i]));
    }
    result = checked(group, group.cases[i], std::move(result));
    if (result.at("status") == "failed") ++(results[i].wrong ? outcome.wrong : outcome.failed);
    writer_.add(std::move(result));
  }
  writer_.end_group();
}

run_outcome scheduler::run(const bench_plan& plan, bool sizes_chosen) {
  run_outcome outcome;
  std::vector<planned_group> groups;
  double weight_left = 0;
  for (const planned_group& group : plan.groups) {
    planned_group rest = without_finished(group, outcome.kept);
    if (rest.cases.empty()) continue;
    weight_left += weight(rest);
    groups.push_back(std::move(rest));
  }

  const bool limited = std::isfinite(options_.budget_seconds);
  // The end of the program, with the tables, is in the budget too.
  const steady_time deadline =
      started_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                     std::chrono::duration<double>(limited ? 0.97 * options_.budget_seconds : 3e7));
  // On a machine that is busy with other things, ceilings must not use up the time of what was asked for.
  const steady_time probe_deadline = limited ? after_seconds(0.4 * seconds_until(deadline)) : deadline;
  double probe_seconds = 0;
  if (options_.probe_ceilings) {
    bench_plan rest;
    rest.groups = groups;
    const auto probes = static_cast<double>(std::max<std::size_t>(1, ceilings_.count_needed(rest)));
    probe_seconds = std::clamp(limited ? 0.15 * seconds_until(deadline) / probes : 1.0, 0.05, 1.0);
  }

  progress_.start(plan.case_count());
  std::size_t done = outcome.kept;
  group_setting setting;
  setting.options = options_;
  setting.verify = options_.verify;
  setting.on_step = [&](const std::string& what) {
    progress_.update(what, done, limited ? std::optional(std::max(0.0, seconds_until(deadline))) : std::nullopt);
  };
  bool first = true;
  for (planned_group& group : groups) {
    throw_if_interrupted();
    const double group_weight = weight(group);
    const std::size_t case_count = group.cases.size();
    if (options_.probe_ceilings) {
      setting.deadline = probe_deadline;
      ceilings_.measure_for(group, setting, probe_seconds);
    }
    const double left = seconds_until(deadline);
    const double share = budget_share(left, group_weight, weight_left);
    weight_left -= group_weight;
    if (left <= 0 && !first) {
      leave_out(group, fmt::format("{} of the budget of {}; give a longer --time-budget, or --resume this file",
                                   no_time, format_duration(options_.budget_seconds)));
    } else if (limited && !sizes_chosen) {
      leave_out_long_cases(group, share);
    }
    setting.deadline = after_seconds(std::min(share, options_.case_limit_seconds * static_cast<double>(case_count)));
    store(group, measurer_.measure(group, setting), outcome);
    done += case_count;
    first = false;
  }
  progress_.clear();
  return outcome;
}

}  // namespace prumo::bench
