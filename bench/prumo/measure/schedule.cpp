// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/schedule.hpp"

#include "measure/finished_results.hpp"
#include "measure/power_states.hpp"
#include "measure/time_shares.hpp"
#include "results/process_runs.hpp"
#include "results/result_fields.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Reasons that begin so are no verdict on the case: a resumed run tries again.
constexpr std::string_view no_time = "no time was left";

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
      times_(fleet),
      ceilings_(fleet, options),
      measurer_(fleet, times_, ceilings_) {
  times_.begin_process_run();
}

bool scheduler::is_finished(const planned_group& group, const planned_case& which, std::size_t process_run) const {
  const json stub = group.result_stub(fleet_, which);
  const json* known = writer_.find(stub.at("key").get<std::string>(), stub.at("device").get<std::string>(),
                                   which.implementation.value_or(""));
  if (known == nullptr || !is_final(*known)) return false;
  return known->at("status") != "ok" || samples_by_run(*known).size() > process_run;
}

void scheduler::drop_settled(planned_group& group) const {
  std::erase_if(group.cases, [&](const planned_case& it) {
    const json stub = group.result_stub(fleet_, it);
    const json* known = writer_.find(stub.at("key").get<std::string>(), stub.at("device").get<std::string>(),
                                     it.implementation.value_or(""));
    return known != nullptr && is_settled_for_all_runs(*known);
  });
}

void scheduler::begin_process_run(std::size_t number) {
  process_run_ = number;
  ceilings_.release(true);
  const steady_time begun = std::chrono::steady_clock::now();
  fleet_.restart(number % 2 == 1);
  times_.begin_process_run();
  restart_seconds_ = seconds_since(begun);
}

std::vector<planned_group> scheduler::open_groups(const bench_plan& plan, std::size_t process_run) const {
  std::vector<planned_group> groups;
  std::map<std::string, std::size_t> types;
  for (const planned_group& group : plan.groups) {
    types.emplace(group.dtype, types.size());
    planned_group rest = group;
    rest.process_run = process_run;
    std::erase_if(rest.cases, [&](const planned_case& it) { return is_finished(group, it, process_run); });
    if (process_run % 2 == 1) std::ranges::reverse(rest.cases);
    if (!rest.cases.empty()) groups.push_back(std::move(rest));
  }
  // Groups of one size and type share their probes; calls that take long come last of all, so that they cannot use up
  // what the others need.
  constexpr double long_call = 0.1;
  std::ranges::stable_sort(groups, {}, [&](const planned_group& group) {
    double call = times_.usual_call_seconds(group, group.cases.front());
    if (call < long_call) call = 0;
    return std::tuple(call, group.size_of_probes().value_or(0), types.at(group.dtype));
  });
  return groups;
}

/// The cases, as group_needs numbers them, that do not fit into the time.
std::vector<std::size_t> scheduler::cases_too_long(std::span<const planned_group> groups, const group_needs& all,
                                                   double available) const {
  if (!options_.leaves_out_whole_groups) return too_long(all.least, available);
  std::vector<double> of_groups;
  std::vector<std::size_t> group_of_case;
  for (const planned_group& group : groups) {
    double sum = 0;
    for (std::size_t i = 0; i < group.cases.size(); ++i) {
      sum += all.least[group_of_case.size()];
      group_of_case.push_back(of_groups.size());
    }
    of_groups.push_back(sum);
  }
  const std::vector<std::size_t> given_up = too_long(of_groups, available);
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < group_of_case.size(); ++place) {
    if (std::ranges::binary_search(given_up, group_of_case[place])) places.push_back(place);
  }
  return places;
}

void scheduler::leave_out(planned_group& group, std::span<const std::size_t> places, const group_needs& all) {
  for (const std::size_t place : places) {
    if (place >= group.cases.size()) break;
    planned_case& it = group.cases[place];
    if (it.outcome) continue;
    const double call = all.calls[place];
    // It is verified and measured: two calls at least.
    const bool is_long = 2 * call > 0.5 * all.least[place];
    if (!is_long) times_.doubt_chores(it);
    // Tables tell equal reasons once, so the usual one has no number of its case.
    const std::string why = is_long ? fmt::format("one call takes about {}, too long for", format_duration(call))
                                    : "to prepare, verify and measure it takes longer than what is left of";
    it.outcome = settled_outcome{
        "skipped", fmt::format("{}: {} a budget of {}; name the size with --size, give a longer --time-budget, or "
                               "--resume this file",
                               no_time, why, format_duration(options_.budget_seconds))};
  }
}

void scheduler::tell_overlong(double seconds) {
  if (overlong_) return;
  overlong_ = true;
  progress_.clear();
  print_error(
      fmt::format("prumo: note: calling each chosen case once takes about {}, longer than the budget of {}. Each case "
                  "is verified and gets one sample, however long that takes\n",
                  format_duration(seconds), format_duration(options_.budget_seconds)));
}

/// What the states of power will take that the first process run owes.
double scheduler::power_state_seconds(std::span<const planned_group> groups) const {
  std::ptrdiff_t owed = 0;
  for (const planned_group& group : groups) {
    if (group.process_run > 0) break;
    owed += std::ranges::count_if(
        group.cases, [&](const planned_case& it) { return !it.outcome && measurer_.owes_power_states(it, options_); });
  }
  return static_cast<double>(owed) * power_states_seconds;
}

/// What each case of the current group may use beside the necessary. Leaves out what there is no time for.
void scheduler::share_time(std::vector<planned_group>& groups, std::size_t current, bool sizes_chosen,
                           needs_ahead& ahead, group_setting& setting) {
  setting.case_seconds = options_.case_limit_seconds;
  if (!std::isfinite(options_.budget_seconds)) return;
  const std::span<const planned_group> rest = std::span(groups).subspan(current);
  const auto restarts = static_cast<double>(groups.back().process_run - groups[current].process_run);
  const double left = seconds_until(deadline_) - restarts * restart_seconds_;
  group_needs all = ahead.from(groups, current, options_, times_, ceilings_);
  const double modest = all.modest_sum();
  if (all.least_sum + modest > left) {
    const double calls = called_seconds_ + all.calls_sum;
    // Before anything was measured estimates are not worth much.
    if (sizes_chosen && calls > options_.budget_seconds && current > 0) tell_overlong(calls);
    // What will be left out, unless others take less time than expected, must not keep time from them.
    const std::vector<std::size_t> places = cases_too_long(rest, all, left - modest);
    for (const std::size_t place : places) all.least_sum -= all.least[place];
    if (current > 0 && !overlong_) leave_out(groups[current], places, all);
  }
  constexpr double caution = 1.25;  // estimates err, and what is given away now will be missing at the end
  double spare = std::max(left - caution * all.least_sum, std::min(modest, left - all.least_sum));
  constexpr double state_share = 0.5;
  const double of_states = power_state_seconds(rest);
  setting.keeps_state_time = options_.states == state_choice::all || of_states <= state_share * spare;
  if (setting.keeps_state_time) spare -= of_states;
  double most = options_.case_limit_seconds;
  if (options_.process_runs > 1) {
    // The runs are compared with each other: each gets as much as the others, so that all are equally exact. What a
    // case leaves that settles soon is for those after it.
    const auto cases = static_cast<double>(std::ranges::count_if(all.least, [](double it) { return it > 0; }));
    const double even = (left - all.least_sum) / std::max(1.0, cases);
    most = std::clamp(even, 0.0, most);
  }
  setting.case_seconds = std::min(fair_level(all.useful, spare), most);
}

void scheduler::store_devices() {
  for (const fleet_device& device : fleet_.devices()) writer_.set_device(device.entry);
}

void scheduler::store(const planned_group& group, std::vector<measured_case> results) {
  store_devices();
  for (std::size_t i = 0; i < results.size(); ++i) {
    json& result = results[i].result;
    if (result.at("status") == "ok") called_seconds_ += result.at("time_s").at("median").get<double>();
    result = finished_result(group, group.cases[i], std::move(result), fleet_, ceilings_);
    if (options_.process_runs > 1) {
      const json* known = writer_.find(result.at("key").get<std::string>(), result.at("device").get<std::string>(),
                                       group.cases[i].implementation.value_or(""));
      result = join_process_runs(group.process_run > 0 ? known : nullptr, std::move(result), group.process_run);
    }
    writer_.add(std::move(result));
  }
  writer_.end_group();
}

/// The process runs from `first` to before `end`. \pre deadline_ is set
void scheduler::measure_runs(const bench_plan& plan, bool sizes_chosen, std::size_t first, std::size_t end) {
  std::vector<planned_group> groups;
  std::size_t open = 0;
  for (std::size_t run = first; run < end; ++run) {
    std::size_t of_run = 0;
    for (planned_group& group : open_groups(plan, run)) {
      of_run += group.cases.size();
      groups.push_back(std::move(group));
    }
    open += of_run;
    if (run == end - 1) kept_ = plan.case_count() - of_run;
  }
  const bool limited = std::isfinite(options_.budget_seconds);
  progress_.start(plan.case_count() * end);
  std::size_t done = plan.case_count() * end - open;
  needs_ahead ahead;
  group_setting setting;
  setting.options = options_;
  setting.deadline = deadline_;
  setting.on_step = [&](const std::string& what) {
    const std::string of = fmt::format("run {} of {}: ", process_run_ + 1, end);
    progress_.update((end > 1 ? of : "") + what, done,
                     limited ? std::optional(std::max(0.0, seconds_until(deadline_))) : std::nullopt);
  };
  for (std::size_t current = 0; current < groups.size(); ++current) {
    throw_if_interrupted();
    planned_group& group = groups[current];
    const std::size_t planned = group.cases.size();
    if (group.process_run > 0) drop_settled(group);
    if (!group.cases.empty()) {
      if (group.process_run != process_run_) begin_process_run(group.process_run);
      share_time(groups, current, sizes_chosen, ahead, setting);
      store(group, measurer_.measure(group, setting));
    }
    done += planned;
  }
}

run_outcome scheduler::run(const bench_plan& plan, bool sizes_chosen,
                           const std::function<std::size_t(std::size_t)>& next_runs) {
  const auto seconds = [](double value) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(value));
  };
  const bool limited = std::isfinite(options_.budget_seconds);
  // The end of the program, with the tables, is in the budget too.
  constexpr double share_of_budget = 0.97;
  constexpr double no_limit = 3e7;
  deadline_ = started_ + seconds(limited ? share_of_budget * options_.budget_seconds : no_limit);
  std::size_t finished = 0;
  std::size_t end = options_.process_runs;
  while (end > finished) {
    if (finished > 0 && limited) {
      const auto further = static_cast<double>(end - finished);
      deadline_ = after_seconds(options_.budget_seconds * further / static_cast<double>(options_.process_runs));
    }
    measure_runs(plan, sizes_chosen, finished, end);
    finished = end;
    if (next_runs) end = next_runs(finished);
  }
  run_outcome outcome;
  outcome.kept = kept_;
  for (const json& result : writer_.results()) {
    if (result.at("status") == "failed") ++(result.at("verified") == false ? outcome.wrong : outcome.failed);
    if (result.at("status") == "ok") ++outcome.measured;
    if (lacked_memory(result)) ++outcome.lacking_memory;
  }
  progress_.clear();
  ceilings_.release(true);
  return outcome;
}

}  // namespace prumo::bench
