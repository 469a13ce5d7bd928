// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/ceilings.hpp"

#include "results/result_fields.hpp"
#include "terminal/interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// A ceiling that allows less than this share of the time that another demands is none: both are measured in between.
constexpr double clearly = 0.33;

/// What a call of a probe does, in the unit of its ceiling without `/s`. 0 for a launch.
double work_of(const live_probe& probe, std::string_view ceiling) {
  const cost_model model = cost_model::from_json(probe.group.model);
  const std::string_view unit = ceiling_named(ceiling).unit;
  if (ceiling == "h2d" || ceiling == "d2h") return probe.measured.record().copied_bytes(ceiling == "h2d");
  if (unit == "B/s") return model.bytes.value_or(0);
  if (unit == "flop/s") return model.flops.value_or(0);
  return unit == "op/s" ? model.elements.value_or(0) : 0;
}

std::span<const double> samples_of(const live_probe& probe, std::string_view ceiling) {
  const case_record& record = probe.measured.record();
  if (ceiling == "h2d" || ceiling == "d2h") return record.copy_samples(ceiling == "h2d");
  return record.samples();
}

}  // namespace

std::vector<probe_need> ceiling_store::needs(const planned_group& group, const json& counted) const {
  std::vector<probe_need> wanted;
  std::set<std::string> seen;
  // What fresh processes repeat is judged by the ceilings of the first.
  if (!options_.probe_ceilings || !group.bytes_per_array || group.process_run > 0) return wanted;
  const cost_model model = cost_model::from_json(group.model);
  for (const planned_case& it : group.cases) {
    if (it.outcome) continue;
    const auto add = [&](std::string_view ceiling) {
      for (probe_need& need : ways_to_probe(ceiling, fleet_, group, it)) {
        if (seen.insert(need.key).second) wanted.push_back(std::move(need));
      }
    };
    if (it.data != "resident") {
      add("h2d");
      continue;
    }
    measured_ceilings known = find(group, it).typical;
    // What may bound it: ceilings, and the seconds that they allow, if known.
    std::vector<std::pair<std::string, std::optional<double>>> arithmetic;
    double roof_seconds = 0;
    const auto consider = [&](const std::string& ceiling, double amount) {
      if (amount <= 0) return;
      const auto rate = known.by_name(ceiling);
      arithmetic.emplace_back(ceiling, rate ? std::optional(amount / *rate) : std::nullopt);
      roof_seconds = std::max(roof_seconds, arithmetic.back().second.value_or(0));
    };
    const bool is_tensor = unit_of(fleet_.devices()[it.device], group).is_tensor();
    // An implementation that is asked for by name may be one that leaves the tensor unit alone.
    if (it.implementation || !is_tensor) consider("fma", model.flops.value_or(0));
    if (is_tensor) consider("product", model.flops.value_or(0));
    for (const std::string_view kind : kinds_with_rates()) {
      const auto count = counted.is_object() ? counted.find(kind) : counted.end();
      if (count != counted.end()) consider(rate_of_kind(kind), number_of(*count).value_or(0));
    }
    const auto memory = find_memory_ceiling(known, memory_roof_of(group));
    const double memory_seconds = memory ? model.bytes.value_or(0) / memory->value : 0;
    roof_seconds = std::max(roof_seconds, memory_seconds);
    if (!memory || memory_seconds >= clearly * roof_seconds) {
      for (const std::string_view ceiling : memory_ceilings(fleet_, group, it)) add(ceiling);
    }
    for (const auto& [ceiling, seconds] : arithmetic) {
      if (!seconds || *seconds >= clearly * roof_seconds) add(ceiling);
    }
    if (!known.launch || *known.launch >= clearly * roof_seconds) add("launch");
  }
  return wanted;
}

const planned_group* ceiling_store::describe(const probe_need& need, const planned_group& group) {
  const auto known = described_.find(need.key);
  if (known != described_.end()) return known->second.cases.empty() ? nullptr : &known->second;
  planned_group& probe = described_[need.key];  // without cases where it is refused
  try {
    probe.op = need.op;
    probe.dtype = need.dtype;
    probe.layout = "right";
    probe.compute_mode = need.compute_mode;
    auto request = make_case_request<protocol::resolve_request>(
        probe.op, probe.dtype, probe.layout, need.shape.is_null() ? json::object() : need.shape, json::object());
    const std::optional<double> bytes = group.size_of_probes();
    if (need.shape.is_null() && bytes) {
      request.bytes_per_array = static_cast<std::int64_t>(*bytes);
    }
    probe.set_resolved(fleet_.worker(fleet_.devices()[need.which.device].worker).resolve(request));
    probe.bytes_per_array = bytes;
    probe.cases.push_back(need.which);
    return &probe;
  } catch (const request_refused&) {
    return nullptr;
  } catch (const worker_failure&) {
    return nullptr;
  }
}

std::vector<live_probe*> ceiling_store::begin(const planned_group& group, const json& counted) {
  return begin(group, needs(group, counted));
}

std::vector<live_probe*> ceiling_store::begin(const planned_group& group, const std::vector<probe_need>& wanted) {
  of_group_.clear();
  current_.clear();
  for (const probe_need& need : wanted) current_.insert(need.key);
  std::erase_if(probes_, [&](auto& entry) {
    live_probe& probe = *entry.second;
    const bool differs = probe.group.bytes_per_array != group.size_of_probes() || probe.group.dtype != group.dtype;
    const bool is_large = !probe.need.shape.is_null();
    const bool is_sized = ceiling_named(probe.need.ceilings.front()).is_sized;
    const bool goes = (is_large || (is_sized && differs)) && !current_.contains(entry.first);
    if (goes) probe.measured.release();
    return goes;
  });
  std::vector<live_probe*> begun;
  for (const probe_need& need : wanted) {
    const planned_group* described = describe(need, group);
    if (described == nullptr) continue;
    auto& probe = probes_[need.key];
    if (!probe) {
      probe = std::make_unique<live_probe>(
          live_probe{*described, live_case(*described, described->cases.front(), fleet_, options_), need});
    }
    if (probe->measured.record().ended()) continue;  // it failed before and would again
    probe->first = probe->measured.samples().size();
    probe->first_round = probe->measured.record().rounds().size();
    begun.push_back(probe.get());
  }
  return begun;
}

bool ceiling_store::release(bool all) {
  bool any = false;
  for (auto& [key, probe] : probes_) {
    if (!probe->measured.is_prepared() || (!all && current_.contains(key))) continue;
    probe->measured.release();
    any = true;
  }
  return any;
}

/// Takes over what the probe measured of a ceiling since the group began.
void ceiling_store::learn(const live_probe& probe, std::string_view ceiling) {
  const ceiling_kind& kind = ceiling_named(ceiling);
  const double work = work_of(probe, ceiling);
  const std::span<const double> all = samples_of(probe, ceiling);
  if ((kind.unit != "s" && work <= 0) || probe.first >= all.size()) return;
  const auto own = all.subspan(probe.first);
  const auto rounds = std::span(probe.measured.record().rounds()).subspan(probe.first_round);
  const auto [place, is_new] =
      known_.try_emplace(fmt::format("{} {}", probe.need.key, ceiling), known_ceiling{{}, ceiling_samples(work)});
  place->second.samples.add(own, rounds);
  ceiling_samples now(work);
  now.add(own, rounds);
  ceiling_value value = now.value();
  // Whatever it reached at any time of the run is possible.
  const double fastest_of_run = place->second.samples.value().fastest;
  value.fastest = now.is_time() ? std::min(value.fastest, fastest_of_run) : std::max(value.fastest, fastest_of_run);
  of_group_[probe.need.key].insert_or_assign(std::string(ceiling), value);
  if (!is_new) return;
  const planned_case& planned = probe.need.which;
  json& entry = place->second.entry;
  entry = {{"device", planned.device},
           {"probe", ceiling},
           {"dtype", probe.need.dtype},
           {"bytes_per_array", kind.is_sized ? json(static_cast<std::uint64_t>(*probe.group.bytes_per_array)) : json()},
           {"cache", planned.cache},
           {"unit", kind.unit}};
  if (kind.unit == "s") entry["dispatch"] = planned.dispatch;
  if (planned.host_memory) entry["host_memory"] = *planned.host_memory;
  if (planned.implementation) entry["implementation"] = *planned.implementation;
  if (!probe.need.shape.is_null()) {
    entry["compute_mode"] = probe.need.compute_mode;
    entry["shape"] = probe.need.shape;
  }
}

void ceiling_store::end() {
  for (const std::string& key : current_) {
    const auto found = probes_.find(key);
    if (found == probes_.end()) continue;
    live_probe& probe = *found->second;
    for (const std::string_view ceiling : probe.need.ceilings) learn(probe, ceiling);
    probe.first = probe.measured.samples().size();
    probe.first_round = probe.measured.record().rounds().size();
  }
  store_entries();
}

/// Of several ways to measure a ceiling, the fastest counts.
void ceiling_store::store_entries() {
  std::map<std::string, const known_ceiling*> best;  // by what else entries tell
  for (const auto& [key, known] : known_) {
    json what = known.entry;
    what.erase("implementation");
    what.erase("shape");
    const known_ceiling*& place = best[what.dump()];
    if (place == nullptr ||
        ceiling_samples::is_better(known.samples.value(), place->samples.value(), known.samples.is_time())) {
      place = &known;
    }
  }
  std::map<std::size_t, json> entries;
  for (const auto& [what, known] : best) {
    json entry = known->entry;
    known->samples.store(entry);
    const auto device = entry.at("device").get<std::size_t>();
    entry.erase("device");
    entries[device].push_back(std::move(entry));
  }
  for (auto& [device, list] : entries) fleet_.devices()[device].entry["ceilings"] = std::move(list);
}

void ceiling_store::measure(std::size_t device, const std::string& dtype, double bytes_per_array,
                            const std::string& cache, steady_time deadline) {
  planned_group group;
  group.dtype = dtype;
  group.bytes_per_array = bytes_per_array;
  const planned_case whole{device, "resident", std::nullopt, cache, std::nullopt, std::nullopt};
  measured_ceilings known = find_nearest(group, whole);
  std::vector<probe_need> wanted;
  for (const ceiling_kind& kind : every_ceiling()) {
    if (kind.name == "product" || (kind.is_sized && !kind.is_cached)) continue;  // of a mode, or of a host's memory
    if (probed_type(kind.name, fleet_, fleet_.devices()[device], dtype) != dtype) continue;
    if (!kind.is_sized && known.by_name(kind.name)) continue;
    for (probe_need& need : ways_to_probe(kind.name, fleet_, group, whole)) wanted.push_back(std::move(need));
  }
  const std::vector<live_probe*> probes = begin(group, wanted);
  for (live_probe* it : probes) it->measured.prepare(false);
  constexpr double slice_seconds = 0.05;
  constexpr std::size_t least_rounds = 3;
  for (std::size_t round = 0; round < least_rounds || seconds_until(deadline) > 0; ++round) {
    throw_if_interrupted();
    for (live_probe* it : probes) {
      if (!it->measured.open()) continue;
      it->measured.sample(slice_seconds, round == 0);
      it->measured.record().end_round();
    }
  }
  end();
  release(true);
}

bool ceiling_store::is_prepared(const std::string& key) const {
  const auto found = probes_.find(key);
  return found != probes_.end() && found->second->measured.is_prepared();
}

}  // namespace prumo::bench
