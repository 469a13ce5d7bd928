// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/ceilings.hpp"

#include "statistics/statistics.hpp"
#include "terminal/interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// A ceiling that allows less than this share of the time that another demands is none: both are measured in between.
constexpr double clearly = 0.33;

constexpr std::array<const char*, 6> every_probe{"copy", "triad", "read", "write", "fma", "launch"};

bool depends_on_size(std::string_view probe) { return probe != "fma" && probe != "launch"; }

std::optional<double>& value_of(measured_ceilings& ceilings, std::string_view probe) {
  if (probe == "copy") return ceilings.copy;
  if (probe == "triad") return ceilings.triad;
  if (probe == "read") return ceilings.read;
  if (probe == "write") return ceilings.write;
  return probe == "fma" ? ceilings.fma : ceilings.launch;
}

/// The type that a probe is measured with: the group's, or f32, in which 16-bit types are computed.
std::string probe_type(const protocol::case_description& probe, const std::string& dtype) {
  for (const std::string& type : {dtype, std::string("f32")}) {
    if (std::ranges::find(probe.dtypes, type) != probe.dtypes.end()) return type;
  }
  return {};
}

/// The implementations of a probe that are measured. Those of an operation that serves as a probe are no ways to do the
/// same as fast as possible, so the first one is taken.
std::vector<std::string> ways_of(const protocol::case_description& probe) {
  if (probe.kind != "probe" || probe.implementations.size() < 2) return {std::string()};
  return probe.implementations;
}

}  // namespace

std::string ceiling_store::key_of(std::string_view probe, const fleet_device& device, const planned_group& group,
                                  const planned_case& which, const std::string& implementation) const {
  if (probe == "launch") return fmt::format("{} {} {} {}", probe, implementation, device.label(), which.dispatch);
  const protocol::case_description* described = fleet_.find_case(device, std::string(probe));
  const std::string dtype = described == nullptr ? group.dtype : probe_type(*described, group.dtype);
  if (!depends_on_size(probe)) return fmt::format("{} {} {} {}", probe, implementation, device.label(), dtype);
  return fmt::format("{} {} {} {} {:.0f} {}", probe, implementation, device.label(), dtype,
                     group.size_of_probes().value_or(0), which.cache);
}

bool ceiling_store::offers(const fleet_device& device, const char* probe, const std::string& dtype) const {
  const protocol::case_description* described = fleet_.find_case(device, probe);
  return described != nullptr && !probe_type(*described, dtype).empty();
}

/// Those of the group's own traffic, else what stands in for them (see find_memory_ceiling()).
std::vector<const char*> ceiling_store::memory_probes(const fleet_device& device, const planned_group& group) const {
  const auto offered = [&](std::initializer_list<const char*> probes) {
    std::vector<const char*> found;
    for (const char* probe : probes) {
      if (offers(device, probe, group.dtype)) found.push_back(probe);
    }
    return found;
  };
  std::vector<const char*> own;
  switch (memory_roof_of(group)) {
    case memory_roof::read: own = offered({"read"}); break;
    case memory_roof::write: own = offered({"write"}); break;
    case memory_roof::copy: own = offered({"copy"}); break;
    case memory_roof::triad: own = offered({"triad"}); break;
    case memory_roof::best: break;
  }
  return own.empty() ? offered({"copy", "triad"}) : own;
}

std::vector<probe_need> ceiling_store::needs_of(const char* probe, std::size_t device, const planned_group& group,
                                                const planned_case& which) const {
  const fleet_device& of = fleet_.devices()[device];
  if (!offers(of, probe, group.dtype)) return {};
  std::vector<probe_need> needs;
  for (const std::string& way : ways_of(*fleet_.find_case(of, probe))) {
    // Arithmetic and launches touch no memory worth rotating over; what memory and arithmetic allow is the device's
    // matter, however calls reach it.
    needs.push_back({probe, device, depends_on_size(probe) ? which.cache : "hot",
                     std::string_view(probe) == "launch" ? which.dispatch : "recorded",
                     way.empty() ? std::nullopt : std::optional(way), key_of(probe, of, group, which, way)});
  }
  return needs;
}

std::optional<ceiling_store::value_range> ceiling_store::of_group(const char* probe, const fleet_device& device,
                                                                  const planned_group& group,
                                                                  const planned_case& which) const {
  const protocol::case_description* described = fleet_.find_case(device, probe);
  if (described == nullptr) return std::nullopt;
  std::optional<value_range> best;
  for (const std::string& way : ways_of(*described)) {
    const auto found = of_group_.find(key_of(probe, device, group, which, way));
    if (found == of_group_.end()) continue;
    if (!best) best = found->second;
    const bool is_time = std::string_view(probe) == "launch";
    const auto better = [&](double a, double b) { return is_time ? std::min(a, b) : std::max(a, b); };
    best = value_range{better(best->typical, found->second.typical), better(best->fastest, found->second.fastest)};
  }
  return best;
}

std::vector<probe_need> ceiling_store::needs(const planned_group& group) const {
  std::vector<probe_need> wanted;
  std::set<std::string> seen;
  // What fresh processes repeat is judged by the ceilings of the first.
  if (!options_.probe_ceilings || !group.bytes_per_array || group.process_run > 0) return wanted;
  const cost_model model = cost_model::from_json(group.model);
  for (const planned_case& it : group.cases) {
    if (it.outcome || it.data != "resident") continue;
    const fleet_device& device = fleet_.devices()[it.device];
    // An implementation that is asked for by name may be one that leaves the tensor unit alone.
    const json peaks = device.entry.value("peaks", json::array());
    const bool may_be_vector =
        it.implementation || !find_compute_unit(peaks, model.unit, group.dtype, group.compute_mode).is_tensor();
    measured_ceilings known = find(group, it);
    if (!may_be_vector) known.fma = std::nullopt;
    const auto memory = find_memory_ceiling(known, memory_roof_of(group));
    const double memory_seconds = memory ? model.bytes.value_or(0) / memory->value : 0;
    const double compute_seconds = known.fma ? model.flops.value_or(0) / *known.fma : 0;
    const double roof_seconds = std::max(memory_seconds, compute_seconds);
    const auto add = [&](const char* probe) {
      for (probe_need& need : needs_of(probe, it.device, group, it)) {
        if (seen.insert(need.key).second) wanted.push_back(std::move(need));
      }
    };
    if (!memory || memory_seconds >= clearly * roof_seconds) {
      for (const char* probe : memory_probes(device, group)) add(probe);
    }
    const bool computes = model.flops.value_or(0) > 0 && may_be_vector;
    if (computes && (!known.fma || compute_seconds >= clearly * roof_seconds)) add("fma");
    if (!known.launch || *known.launch >= clearly * roof_seconds) add("launch");
  }
  return wanted;
}

const planned_group* ceiling_store::describe(const probe_need& need, const planned_group& group) {
  const auto known = described_.find(need.key);
  if (known != described_.end()) return known->second.cases.empty() ? nullptr : &known->second;
  planned_group& probe = described_[need.key];  // without cases where it is refused
  const fleet_device& device = fleet_.devices()[need.device];
  try {
    probe.op = need.probe;
    probe.dtype = probe_type(*fleet_.find_case(device, need.probe), group.dtype);
    probe.layout = "right";
    probe.compute_mode = "strict";
    auto request = make_case_request<protocol::resolve_request>(probe.op, probe.dtype, probe.layout, json::object(),
                                                                json::object());
    const std::optional<double> bytes = group.size_of_probes();
    if (bytes) request.bytes_per_array = static_cast<std::int64_t>(*bytes);
    probe.set_resolved(fleet_.worker(device.worker).resolve(request));
    probe.bytes_per_array = bytes;
    probe.cases.push_back(
        {need.device, "resident", std::nullopt, need.cache, need.implementation, std::nullopt, need.dispatch});
    return &probe;
  } catch (const request_refused&) {
    return nullptr;
  } catch (const worker_failure&) {
    return nullptr;
  }
}

std::vector<live_probe*> ceiling_store::begin(const planned_group& group) { return begin(group, needs(group)); }

std::vector<live_probe*> ceiling_store::begin(const planned_group& group, const std::vector<probe_need>& wanted) {
  of_group_.clear();
  current_.clear();
  for (const probe_need& need : wanted) current_[need.key] = true;
  std::erase_if(probes_, [&](auto& entry) {
    const live_probe& probe = *entry.second;
    const bool other = depends_on_size(probe.group.op) &&
                       (probe.group.bytes_per_array != group.size_of_probes() || probe.group.dtype != group.dtype);
    if (other && !current_.contains(entry.first)) entry.second->measured.release();
    return other && !current_.contains(entry.first);
  });
  std::vector<live_probe*> begun;
  for (const probe_need& need : wanted) {
    const planned_group* described = describe(need, group);
    if (described == nullptr) continue;
    auto& probe = probes_[need.key];
    if (!probe) {
      probe = std::make_unique<live_probe>(
          live_probe{*described, live_case(*described, described->cases.front(), fleet_, options_)});
    }
    if (probe->measured.record().ended()) continue;  // it failed before and would again
    probe->first = probe->measured.samples().size();
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

void ceiling_store::end() {
  for (const auto& [key, is_current] : current_) {
    const auto found = probes_.find(key);
    if (found == probes_.end()) continue;
    live_probe& probe = *found->second;
    const std::span<const double> all = probe.measured.samples();
    if (probe.first >= all.size()) continue;
    const auto own = all.subspan(probe.first);
    const cost_model model = cost_model::from_json(probe.group.model);
    const std::string& name = probe.group.op;
    const bool is_launch = name == "launch";
    const double work = is_launch ? 0 : (name == "fma" ? model.flops : model.bytes).value_or(0);
    if (!is_launch && work <= 0) continue;
    const double median = summarize(own).median;
    // Few samples may all be of a slow moment: they prove nothing impossible.
    constexpr std::size_t enough = 10;
    const double fastest = all.size() < enough ? 0.1 * median : summarize(all).minimum;
    of_group_[key] = is_launch ? value_range{median, fastest} : value_range{work / median, work / fastest};
    known_probe& known = known_[key];
    known.samples.insert(known.samples.end(), own.begin(), own.end());
    probe.first = all.size();
    known.work = work;
    const planned_case& planned = probe.group.cases.front();
    const bool sized = depends_on_size(name);
    known.entry = {{"device", planned.device},
                   {"probe", name},
                   {"dtype", probe.group.dtype},
                   {"bytes_per_array", sized ? json(static_cast<std::uint64_t>(*probe.group.bytes_per_array)) : json()},
                   {"cache", planned.cache},
                   {"unit", is_launch       ? "s"
                            : name == "fma" ? "flop/s"
                                            : "B/s"}};
    if (is_launch) known.entry["dispatch"] = planned.dispatch;
    if (planned.implementation) known.entry["implementation"] = *planned.implementation;
  }
  store_entries();
}

void ceiling_store::measure(std::size_t device, const std::string& dtype, double bytes_per_array,
                            const std::string& cache, steady_time deadline) {
  planned_group group;
  group.dtype = dtype;
  group.bytes_per_array = bytes_per_array;
  const planned_case whole{device, "resident", std::nullopt, cache, std::nullopt, std::nullopt};
  std::vector<probe_need> wanted;
  for (const char* probe : every_probe) {
    const protocol::case_description* described = fleet_.find_case(fleet_.devices()[device], probe);
    if (described == nullptr || probe_type(*described, dtype) != dtype) continue;
    for (probe_need& need : needs_of(probe, device, group, whole)) wanted.push_back(std::move(need));
  }
  const std::vector<live_probe*> probes = begin(group, wanted);
  for (live_probe* it : probes) it->measured.prepare(false);
  constexpr double slice_seconds = 0.05;
  constexpr std::size_t least_rounds = 3;
  for (std::size_t round = 0; round < least_rounds || seconds_until(deadline) > 0; ++round) {
    throw_if_interrupted();
    for (live_probe* it : probes) {
      if (it->measured.open()) it->measured.sample(slice_seconds, round == 0);
    }
  }
  end();
  release(true);
}

/// Of several implementations of a probe, the fastest is the ceiling.
void ceiling_store::store_entries() {
  std::map<std::string, json> best;  // by what else entries tell
  for (const auto& [key, known] : known_) {
    json entry = known.entry;
    entry.erase("implementation");
    const std::string what = entry.dump();
    entry = known.entry;
    const double median = summarize(known.samples).median;
    entry["value"] = known.work > 0 ? known.work / median : median;
    const auto [place, is_first] = best.try_emplace(what, entry);
    if (!is_first && known.work > 0 && entry["value"] > place->second["value"]) place->second = entry;
  }
  std::map<std::size_t, json> entries;
  for (auto& [what, entry] : best) {
    const auto device = entry.at("device").get<std::size_t>();
    entry.erase("device");
    entries[device].push_back(std::move(entry));
  }
  for (auto& [device, list] : entries) fleet_.devices()[device].entry["ceilings"] = std::move(list);
}

measured_ceilings ceiling_store::find(const planned_group& group, const planned_case& which) const {
  const fleet_device& device = fleet_.devices()[which.device];
  const json known = device.entry.value("ceilings", json::array());
  const auto bytes = static_cast<std::uint64_t>(group.bytes_per_array.value_or(0));
  measured_ceilings found = find_ceilings(known, group.dtype, which.cache, which.dispatch, bytes);
  if (group.dtype != "f32") {
    measured_ceilings single = find_ceilings(known, "f32", which.cache, which.dispatch, bytes);
    for (const char* probe : {"copy", "triad", "read", "write", "fma"}) {
      const protocol::case_description* described = fleet_.find_case(device, probe);
      if (described == nullptr || probe_type(*described, group.dtype) != "f32") continue;
      value_of(found, probe) = value_of(single, probe);
    }
  }
  for (const char* probe : every_probe) {
    if (const auto own = of_group(probe, device, group, which)) value_of(found, probe) = own->typical;
  }
  return found;
}

measured_ceilings ceiling_store::find_fastest(const planned_group& group, const planned_case& which) const {
  const fleet_device& device = fleet_.devices()[which.device];
  measured_ceilings found;
  for (const char* probe : every_probe) {
    if (const auto own = of_group(probe, device, group, which)) value_of(found, probe) = own->fastest;
  }
  // A roof that clearly does not bind is not measured with every group.
  const measured_ceilings typical = find(group, which);
  if (!found.fma) found.fma = typical.fma;
  if (!find_memory_ceiling(found, memory_roof::best)) return typical;
  return found;
}

bool ceiling_store::is_prepared(const std::string& key) const {
  const auto found = probes_.find(key);
  return found != probes_.end() && found->second->measured.is_prepared();
}

}  // namespace prumo::bench
