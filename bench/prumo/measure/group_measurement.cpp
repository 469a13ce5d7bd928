// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/group_measurement.hpp"

#include "measure/power_states.hpp"
#include "measure/steady_cases.hpp"
#include "statistics/stopping.hpp"
#include "terminal/interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;
using steady = std::chrono::steady_clock;

/// Of the time that a case may use beside the necessary, what its verification may take.
constexpr double verify_share = 0.25;

/// What a case may use at most, in units of what it may use beside the necessary.
constexpr double most_of_share = 1.25;

/// The most that a probe samples at a time.
constexpr double longest_probe_seconds = 0.25;

}  // namespace

/// Cases and probes that are in memory at the same time.
struct group_measurer::batch {
  std::vector<member*> cases;
  std::vector<live_probe*> probes;

  [[nodiscard]] bool any_open() const {
    return std::ranges::any_of(cases, [](const member* it) { return it->measured.open(); });
  }
  /// A probe takes its turn as long as there is a case that it may bound.
  [[nodiscard]] bool is_needed(const live_probe& probe) const {
    return std::ranges::any_of(cases, [&](const member* it) {
      return it->measured.open() && it->planned->device == probe.group.cases.front().device;
    });
  }
};

/// Who is asked for samples in a round.
struct group_measurer::turn {
  live_case* measured;
  live_probe* probe;  ///< null for a case
  std::size_t device;

  [[nodiscard]] bool has_samples() const { return measured->samples().size() > (probe == nullptr ? 0 : probe->first); }
};

live_case::fit group_measurer::prepare(const planned_group& group, member& which, bool may_wait) {
  const auto begun = steady::now();
  const bool was_prepared = which.measured.is_prepared();
  live_case::fit fits = which.measured.prepare(true);
  // Probes can be prepared again, and the group's own are measured alone if there is no room.
  if (fits == live_case::fit::no_memory && ceilings_.release(!may_wait)) fits = which.measured.prepare(true);
  if (fits == live_case::fit::no_memory && !may_wait) fits = which.measured.prepare(false);
  if (fits == live_case::fit::yes && !was_prepared) {
    times_.learn_prepare(group, *which.planned, seconds_since(begun));
  }
  return fits;
}

void group_measurer::prepare(live_probe& probe) {
  if (probe.measured.is_prepared()) return;
  const auto begun = steady::now();
  if (probe.measured.prepare(true) != live_case::fit::yes) return;
  times_.learn_prepare(probe.group, probe.group.cases.front(), seconds_since(begun));
}

void group_measurer::release(const planned_group& group, member& which) {
  const bool was_prepared = which.measured.is_prepared();
  const auto begun = steady::now();
  which.measured.release();
  if (was_prepared) times_.learn_release(group, *which.planned, seconds_since(begun));
}

void group_measurer::verify(const planned_group& group, const group_setting& setting, batch& now) {
  for (member* it : now.cases) {
    if (!it->measured.open() || !fleet_.worker(it->measured.device().worker).has("verify")) continue;
    throw_if_interrupted();
    const double least = times_.verify_seconds(group, *it->planned, time_model::least_verify_budget);
    const double budget = times_.verify_budget(group, *it->planned, least + verify_share * setting.case_seconds);
    const auto begun = steady::now();
    it->measured.verify(budget, times_.call_seconds(group, *it->planned));
    if (it->measured.open()) times_.learn_verify(group, *it->planned, budget, seconds_since(begun));
  }
}

/// The flops that a worker counts. Where it finds that they are wrong, its cases end with what it says.
json group_measurer::counted_flops(const planned_group& group, const group_setting& setting,
                                   std::vector<member>& cases) {
  const std::string key =
      fmt::format("{} {} {} {}", group.op, group.dtype, group.shape.dump(), group.parameters.dump());
  if (const auto known = counted_.find(key); known != counted_.end()) return known->second;
  const double limit = setting.options.count_limit;
  json counted;
  std::vector<std::size_t> asked;
  for (const planned_case& planned : group.cases) {
    const std::size_t worker = fleet_.devices()[planned.device].worker;
    if (planned.outcome || std::ranges::find(asked, worker) != asked.end()) continue;
    asked.push_back(worker);
    const double expected = times_.count_seconds(group, planned, limit);
    const auto begun = steady::now();
    try {
      auto request =
          make_case_request<protocol::count_request>(group.op, group.dtype, "right", group.shape, group.parameters);
      request.limit = limit;
      counted = fleet_.worker(worker).count(request, expected);
    } catch (const request_refused& refusal) {
      for (member& it : cases) {
        const bool is_its_own = fleet_.devices()[it.planned->device].worker == worker;
        if (refusal.kind() == "failed" && is_its_own && it.measured.open()) {
          it.measured.record().end_refused(refusal.kind(), refusal.what());
        }
      }
      continue;
    } catch (const worker_failure&) {
      continue;
    }
    if (!counted.is_null()) {
      times_.learn_count(group, planned, limit, seconds_since(begun));
      break;
    }
  }
  if (!counted.is_null()) counted_[key] = counted;
  return counted;
}

void group_measurer::sample_in_turns(const planned_group& group, const group_setting& setting, batch& now) {
  std::vector<turn> turns;
  for (live_probe* it : now.probes) {
    if (it->measured.is_prepared() && now.is_needed(*it))
      turns.push_back({&it->measured, it, it->group.cases.front().device});
  }
  for (member* it : now.cases) {
    if (it->measured.open()) turns.push_back({&it->measured, nullptr, it->planned->device});
  }
  const auto takes_turn = [&](const turn& it) {
    return it.measured->open() && (it.probe == nullptr || now.is_needed(*it.probe));
  };
  const auto count = static_cast<double>(std::max<std::size_t>(1, turns.size()));
  const double left = std::max(0.0, seconds_until(setting.deadline));
  const double share = std::min(setting.case_seconds, left / count);
  const double rounds = rounds_of_a_share(setting.options.process_runs);
  pace chosen = choose_pace(share, rounds);
  // A case that is short needs less than its share. Its rounds must be enough for the interval of its median.
  chosen.slice_seconds = choose_pace(std::min(share, useful_seconds(setting.options, 0)), rounds).slice_seconds;
  // The machine settles while each is called for the first time.
  for (const turn& it : turns) {
    if (chosen.settle_seconds > 0 && takes_turn(it)) it.measured->sample(chosen.settle_seconds, true);
  }
  double allowed = 0;
  for (const turn& it : turns) {
    allowed += std::min(setting.case_seconds, useful_seconds(setting.options, it.measured->interval_seconds()));
  }
  const steady_time deadline = std::min(setting.deadline, after_seconds(allowed));
  for (std::size_t round = 0; now.any_open(); ++round) {
    throw_if_interrupted();
    if (setting.on_step) setting.on_step(group.label());
    double round_seconds = 0;
    double longest = 0;
    for (const turn& it : turns) {
      // Who takes long gets fewer samples, not the time of the others.
      const double next = it.measured->next_seconds(chosen.slice_seconds);
      const bool spent = it.measured->sampled_seconds() + next > most_of_share * setting.case_seconds;
      if (it.probe == nullptr && it.measured->open() && spent && it.has_samples()) {
        it.measured->stop(stop_reason::budget);
      }
      if (takes_turn(it)) round_seconds += next;
      if (it.probe == nullptr) longest = std::max(longest, next);
    }
    // Beside calls that take seconds, a probe of some milliseconds would tell of a moment only.
    const double probe_seconds = std::clamp(0.05 * longest, chosen.slice_seconds, longest_probe_seconds);
    // Rounds are whole, so that all see the same machine; after the last, only who has no sample yet is asked.
    const bool late = seconds_until(deadline) < round_seconds;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const turn& it = turns[(first_of_round(round, turns.size()) + i) % turns.size()];
      if (!takes_turn(it) || (late && it.has_samples())) continue;
      it.measured->sample(it.probe == nullptr ? chosen.slice_seconds : probe_seconds, false);
    }
    for (const turn& it : turns) {
      it.measured->record().end_round();
      if (it.probe != nullptr) continue;
      it.measured->check_stop();
      if (late && it.measured->open()) it.measured->stop(stop_reason::budget);
    }
    stop_steady(setting, turns, chosen.slice_seconds, seconds_until(deadline));
  }
}

/// Cases stop whose noise is known, and for which the time that is left is too short. What they leave is for the
/// others.
void group_measurer::stop_steady(const group_setting& setting, std::span<const turn> turns, double slice_seconds,
                                 double left_seconds) {
  // Versions are compared round by round, and what disturbs both cancels: the noise of one tells nothing of that.
  if (setting.options.process_runs > 1) return;
  std::vector<live_case*> cases;
  std::vector<steady_candidate> candidates;
  std::map<std::size_t, double> probe_seconds;
  for (const turn& it : turns) {
    if (!it.measured->open()) continue;
    const double turn_seconds = it.measured->next_seconds(slice_seconds);
    if (it.probe != nullptr) {
      probe_seconds[it.device] += turn_seconds;
      continue;
    }
    const std::optional<steady_noise> noise = it.measured->find_noise();
    if (!noise) continue;
    const double own = most_of_share * setting.case_seconds - it.measured->sampled_seconds();
    cases.push_back(it.measured);
    candidates.push_back({*noise, it.measured->target_noise(), turn_seconds, own, it.device});
  }
  const std::vector<bool> stops = which_stop(candidates, probe_seconds, left_seconds);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (stops[i]) cases[i]->stop(stop_reason::steady);
  }
}

bool group_measurer::owes_power_states(const planned_case& which, const measure_options& options) const {
  if (options.states == state_choice::all) return true;
  return options.states == state_choice::largest && which.is_largest_kernel &&
         has_transfers(fleet_.devices()[which.device].summary);
}

/// Each case that has time left, or for which time was kept, in the states `burst` and `sustained`. Peers are measured
/// in them like prumo, whether or not they tell their clock and energy.
void group_measurer::measure_states(const group_setting& setting, batch& now) {
  if (setting.options.states == state_choice::none) return;
  for (member* it : now.cases) {
    const case_record& record = it->measured.record();
    if (record.ended() || record.samples().empty()) continue;
    const bool owed = owes_power_states(*it->planned, setting.options);
    if (setting.options.states != state_choice::all) {
      if (!has_transfers(it->measured.device().summary)) continue;
      const double spare = setting.case_seconds - it->measured.sampled_seconds();
      if (!(owed && setting.keeps_state_time) && spare < power_states_seconds) continue;
    }
    if (seconds_until(setting.deadline) < power_states_seconds) continue;
    measure_power_states(it->measured, setting.deadline);
  }
}

void group_measurer::measure_batch(const planned_group& group, const group_setting& setting, batch& now) {
  const auto step = [&](const char* what) {
    if (setting.on_step) setting.on_step(fmt::format("{}{}", group.label(), what));
  };
  if (setting.options.verify && group.process_run == 0) {
    step(": verifying");
    verify(group, setting, now);
  }
  step("");
  sample_in_turns(group, setting, now);
  if (group.process_run == 0) {
    step(": burst and sustained");
    measure_states(setting, now);
  }
  for (const member* it : now.cases) times_.learn_call(group, *it->planned, it->measured.samples());
  for (const live_probe* it : now.probes) {
    times_.learn_call(it->group, it->group.cases.front(), it->measured.samples());
  }
}

std::vector<measured_case> group_measurer::measure(const planned_group& group, const group_setting& setting) {
  std::vector<member> cases;
  cases.reserve(group.cases.size());
  for (const planned_case& planned : group.cases) {
    cases.push_back({&planned, live_case(group, planned, fleet_, setting.options)});
  }
  std::vector<member*> waiting;
  for (member& it : cases) {
    if (it.measured.open()) waiting.push_back(&it);
  }
  // Which rates may bound the cases is told by what is counted.
  json counted;
  if (!waiting.empty() && group.process_run == 0) {
    if (setting.on_step) setting.on_step(fmt::format("{}: counting", group.label()));
    counted = counted_flops(group, setting, cases);
    for (member* it : waiting) it->measured.record().set_counted(counted);
  }
  const std::vector<live_probe*> probes = ceilings_.begin(group, counted);
  while (!waiting.empty()) {
    batch now;
    now.probes = probes;
    std::vector<member*> later;
    for (member* it : waiting) {
      throw_if_interrupted();
      if (setting.on_step) setting.on_step(fmt::format("{}: preparing", group.label()));
      switch (prepare(group, *it, !now.cases.empty())) {
        case live_case::fit::yes: now.cases.push_back(it); break;
        case live_case::fit::no_memory: later.push_back(it); break;
        case live_case::fit::ended: break;
      }
    }
    for (live_probe* it : probes) {
      if (now.is_needed(*it)) prepare(*it);
    }
    measure_batch(group, setting, now);
    for (member* it : now.cases) release(group, *it);
    waiting = std::move(later);
  }
  for (live_probe* it : probes) {
    // There was no room for it beside the cases: measured right after them.
    constexpr double alone_seconds = 0.1;
    if (it->measured.samples().size() > it->first) continue;
    prepare(*it);
    if (it->measured.open() && !it->measured.is_prepared() && ceilings_.release(true)) prepare(*it);
    if (it->measured.is_prepared()) it->measured.sample(alone_seconds, false);
    it->measured.record().end_round();
  }
  ceilings_.end();

  std::vector<measured_case> results;
  results.reserve(cases.size());
  for (const member& it : cases) results.push_back(it.measured.result());
  return results;
}

}  // namespace prumo::bench
