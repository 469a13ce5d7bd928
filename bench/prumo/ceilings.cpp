// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

namespace prumo::bench {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> probes{"copy", "triad", "read", "fma"};

/// Arithmetic from registers does not depend on the size of arrays.
bool depends_on_size(std::string_view probe) { return probe != "fma"; }

std::string value_key(std::string_view probe, const std::string& device, const planned_group& group,
                      const std::string& cache) {
  if (!depends_on_size(probe)) return fmt::format("{} {} {}", probe, device, group.dtype);
  return fmt::format("{} {} {} {:.0f} {}", probe, device, group.dtype, group.bytes_per_array.value_or(0), cache);
}

bool needs_ceilings(const planned_case& it) { return !it.outcome && it.data == "resident"; }

}  // namespace

std::map<std::string, std::vector<planned_case>> ceiling_store::missing(const planned_group& group) const {
  std::map<std::string, std::vector<planned_case>> wanted;
  std::set<std::string> seen;
  if (!group.bytes_per_array) return wanted;
  for (const planned_case& it : group.cases) {
    if (!needs_ceilings(it)) continue;
    const fleet_device& device = fleet_.devices()[it.device];
    for (const char* probe : probes) {
      const case_description* described = fleet_.find_case(device, probe);
      if (!described) continue;  // `copy` may be an operation of its own right and still is a ceiling
      if (std::ranges::find(described->dtypes, group.dtype) == described->dtypes.end()) continue;
      const std::string key = value_key(probe, device.id, group, it.cache);
      if (values_.contains(key) || !seen.insert(key).second) continue;
      // Arithmetic touches no memory worth rotating over.
      const std::string cache = depends_on_size(probe) ? it.cache : "hot";
      wanted[probe].push_back({it.device, "resident", std::nullopt, cache, std::nullopt, std::nullopt});
    }
  }
  return wanted;
}

std::size_t ceiling_store::count_needed(const bench_plan& plan) const {
  std::set<std::string> keys;
  for (const planned_group& group : plan.groups) {
    for (const auto& [probe, cases] : missing(group)) {
      for (const planned_case& it : cases) {
        keys.insert(value_key(probe, fleet_.devices()[it.device].id, group, it.cache));
      }
    }
  }
  return keys.size();
}

bool ceiling_store::measure_for(const planned_group& group, const group_setting& setting, double seconds) {
  const auto wanted = missing(group);
  for (const auto& [probe, cases] : wanted) {
    if (seconds_until(setting.deadline) <= 0) break;
    for (const planned_case& it : cases) {
      values_[value_key(probe, fleet_.devices()[it.device].id, group, it.cache)] = std::nullopt;
    }
    planned_group probing;
    worker_client& worker = fleet_.worker(fleet_.devices()[cases.front().device].worker);
    try {
      const resolve_answer resolved =
          worker.resolve(probe, group.dtype, group.bytes_per_array, json::object(), "right", json::object());
      probing.op = probe;
      probing.dtype = group.dtype;
      probing.layout = "right";
      probing.compute_mode = "strict";
      probing.shape = resolved.shape;
      probing.parameters = resolved.parameters;
      probing.model = resolved.model;
      probing.bytes_per_array = group.bytes_per_array;
      probing.footprint_bytes = resolved.footprint_bytes;
      probing.cases = cases;
    } catch (const request_refused&) {
      continue;
    } catch (const worker_failure&) {
      continue;
    }
    const bool counts_flops = probe == "fma";
    const json work =
        probing.model.is_object() ? probing.model.value(counts_flops ? "flops" : "bytes", json()) : json();
    if (!work.is_number() || work.get<double>() <= 0) continue;
    group_setting probe_setting = setting;
    probe_setting.verify = false;
    probe_setting.count = false;
    probe_setting.deadline = after_seconds(seconds * static_cast<double>(cases.size()));
    const auto results = measurer_.measure(probing, probe_setting);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (results[i].result.at("status") != "ok") continue;
      fleet_device& device = fleet_.devices()[cases[i].device];
      const double rate = work.get<double>() / results[i].result.at("time_s").at("median").get<double>();
      values_[value_key(probe, device.id, group, cases[i].cache)] = rate;
      device.entry["ceilings"].push_back(
          {{"probe", probe},
           {"dtype", group.dtype},
           {"bytes_per_array",
            depends_on_size(probe) ? json(static_cast<std::uint64_t>(*group.bytes_per_array)) : json()},
           {"cache", cases[i].cache},
           {"unit", counts_flops ? "flop/s" : "B/s"},
           {"value", rate}});
    }
  }
  return !wanted.empty();
}

measured_ceilings ceiling_store::find(const planned_group& group, const planned_case& which) const {
  const std::string& device = fleet_.devices()[which.device].id;
  const auto value = [&](const char* probe) -> std::optional<double> {
    const auto found = values_.find(value_key(probe, device, group, which.cache));
    return found == values_.end() ? std::nullopt : found->second;
  };
  return {value("copy"), value("triad"), value("read"), value("fma")};
}

}  // namespace prumo::bench
