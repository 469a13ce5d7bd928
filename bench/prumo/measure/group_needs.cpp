// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/group_needs.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace prumo::bench {

namespace {

double modest_seconds(double useful) {
  constexpr double share_of_useful = 0.1;  // what the stopping rule asks for at least
  constexpr double longest = 0.25;
  return std::min(share_of_useful * useful, longest);
}

/// \param probes the keys of those that groups before this one will prepare; gets those of this one
group_needs needs_of_group(const planned_group& group, const measure_options& options, const time_model& times,
                           ceiling_store& ceilings, std::set<std::string>& probes) {
  group_needs all;
  double common = 0;
  // What it will count is not known yet.
  for (const probe_need& need : ceilings.needs(group, nullptr)) {
    const planned_group* probe = ceilings.describe(need, group);
    if (probe == nullptr) continue;
    const planned_case& planned = probe->cases.front();
    const bool is_new = !ceilings.is_prepared(need.key) && probes.insert(need.key).second;
    if (is_new) common += times.prepare_seconds(*probe, planned);
    common += times.first_sample_seconds(*probe, planned);
    all.useful.push_back(useful_seconds(options, times.call_seconds(*probe, planned)));
  }
  const auto open = std::ranges::count_if(group.cases, [](const planned_case& it) { return !it.outcome; });
  const bool is_first = group.process_run == 0;
  if (open > 0 && is_first) common += times.count_seconds(group, group.cases.front(), options.count_limit);
  for (const planned_case& it : group.cases) {
    double least = 0;
    double call = 0;
    if (!it.outcome) {
      call = times.call_seconds(group, it);
      least = common / static_cast<double>(open) + times.prepare_seconds(group, it) +
              times.first_sample_seconds(group, it) + times.release_seconds(group, it);
      if (options.verify && is_first) least += times.verify_seconds(group, it, time_model::least_verify_budget);
      all.useful.push_back(useful_seconds(options, call));
    }
    all.least.push_back(least);
    all.calls.push_back(call);
    all.least_sum += least;
    all.calls_sum += call;
  }
  return all;
}

}  // namespace

double group_needs::modest_sum() const {
  double sum = 0;
  for (const double seconds : useful) sum += modest_seconds(seconds);
  return sum;
}

void group_needs::add(const group_needs& others) {
  least.insert(least.end(), others.least.begin(), others.least.end());
  calls.insert(calls.end(), others.calls.begin(), others.calls.end());
  useful.insert(useful.end(), others.useful.begin(), others.useful.end());
  least_sum += others.least_sum;
  calls_sum += others.calls_sum;
}

group_needs needs_ahead::from(std::span<const planned_group> groups, std::size_t current,
                              const measure_options& options, const time_model& times, ceiling_store& ceilings) {
  const steady_time begun = std::chrono::steady_clock::now();
  of_groups_.resize(groups.size());
  std::set<std::string> probes;
  of_groups_[current] = needs_of_group(groups[current], options, times, ceilings, probes);
  if (begun >= next_estimate_) {
    for (std::size_t i = current + 1; i < groups.size(); ++i) {
      of_groups_[i] = needs_of_group(groups[i], options, times, ceilings, probes);
    }
    constexpr double times_as_long = 15;
    next_estimate_ = after_seconds(times_as_long * seconds_since(begun));
  }
  group_needs all;
  for (std::size_t i = current; i < groups.size(); ++i) all.add(of_groups_[i]);
  return all;
}

}  // namespace prumo::bench
