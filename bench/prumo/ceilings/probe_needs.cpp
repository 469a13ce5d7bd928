// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/probe_needs.hpp"

#include "results/result_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

bool is_copy_of_host(std::string_view ceiling) { return ceiling == "h2d" || ceiling == "d2h"; }

/// The worker's case that measures a ceiling.
std::string op_of(std::string_view ceiling) {
  if (ceiling == "product") return "gemm";
  return std::string(is_copy_of_host(ceiling) ? "copy" : ceiling);
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The implementations of a probe that are measured. Those of an operation that serves as a probe are no ways to do the
/// same as fast as possible, so its first one is taken.
std::vector<std::optional<std::string>> implementations_of(const protocol::case_description& probe) {
  if (probe.kind != "probe" || probe.implementations.size() < 2) return {std::nullopt};
  return {probe.implementations.begin(), probe.implementations.end()};
}

/// The extents of square products that come close to what a unit can do: large ones, but short beside a request. Which
/// of two sizes is faster depends on the device, and on how long it can hold its highest clock.
std::vector<double> extents_of_products(const fleet_device& device, const compute_unit& unit) {
  constexpr double longest_seconds = 0.02;
  constexpr double smallest = 1024, largest = 8192, usual_flops = 1e12;
  const json& peaks = field(device.entry, "/peaks");
  const compute_peaks peak = find_compute_peaks(peaks, unit);
  const double flops = peak.max_clock.value_or(peak.measured_clock.value_or(usual_flops));
  double extent = smallest;
  while (extent < largest && 2 * std::pow(2 * extent, 3) < longest_seconds * flops) extent *= 2;
  return {extent / 2, extent};
}

std::string key_of(const probe_need& need, const fleet_device& device, const planned_group& group) {
  const bool is_sized = ceiling_named(need.ceilings.front()).is_sized;
  return fmt::format("{} {} {} {} {} {} {} {} {} {:.0f}", need.op, need.which.implementation.value_or(""),
                     device.label(), need.dtype, need.compute_mode, need.shape.dump(), need.which.cache,
                     need.which.dispatch, need.which.host_memory.value_or(""),
                     is_sized ? group.size_of_probes().value_or(0) : 0);
}

}  // namespace

std::string probed_type(std::string_view ceiling, const worker_fleet& fleet, const fleet_device& device,
                        const std::string& dtype) {
  const protocol::case_description* probe = fleet.find_case(device, op_of(ceiling));
  if (probe == nullptr) return {};
  // Launches are the same for all types, and products of another type no ceiling.
  if (ceiling != "launch" && holds(probe->dtypes, dtype)) return dtype;
  return ceiling != "product" && holds(probe->dtypes, "f32") ? "f32" : "";
}

compute_unit unit_of(const fleet_device& device, const planned_group& group) {
  return find_compute_unit(field(device.entry, "/peaks"), cost_model::from_json(group.model).unit, group.dtype,
                           group.compute_mode);
}

std::vector<probe_need> ways_to_probe(std::string_view ceiling, const worker_fleet& fleet, const planned_group& group,
                                      const planned_case& which) {
  const fleet_device& device = fleet.devices()[which.device];
  probe_need need;
  need.op = op_of(ceiling);
  need.dtype = probed_type(ceiling, fleet, device, group.dtype);
  if (need.dtype.empty()) return {};
  const protocol::case_description& probe = *fleet.find_case(device, need.op);
  const ceiling_kind& kind = ceiling_named(ceiling);
  need.ceilings = {kind.name};
  // Arithmetic and launches touch no memory worth rotating over; what memory and arithmetic allow is the device's
  // matter, however calls reach it.
  need.which = {which.device,
                "resident",
                std::nullopt,
                kind.is_cached ? which.cache : "hot",
                std::nullopt,
                std::nullopt,
                ceiling == "launch" ? which.dispatch : "recorded"};
  std::vector<probe_need> ways;
  const auto add = [&](probe_need way) {
    way.key = key_of(way, device, group);
    ways.push_back(std::move(way));
  };
  if (ceiling == "product") {
    const compute_unit unit = unit_of(device, group);
    if (!unit.is_tensor() || !holds(probe.compute_modes, group.compute_mode)) return {};
    need.compute_mode = group.compute_mode;
    for (const double extent : extents_of_products(device, unit)) {
      const auto whole = static_cast<std::int64_t>(extent);
      need.shape = {{"m", whole}, {"n", whole}, {"k", whole}};
      add(need);
    }
  } else if (is_copy_of_host(ceiling)) {
    need.ceilings = {ceiling_named("h2d").name, ceiling_named("d2h").name};
    need.which.data = "transferred";
    need.which.host_memory = which.host_memory;
    add(need);
  } else {
    for (const auto& implementation : implementations_of(probe)) {
      need.which.implementation = implementation;
      add(need);
    }
  }
  return ways;
}

std::vector<std::string_view> memory_ceilings(const worker_fleet& fleet, const planned_group& group,
                                              const planned_case& which) {
  const auto measurable = [&](std::initializer_list<std::string_view> ceilings) {
    std::vector<std::string_view> found;
    for (const std::string_view it : ceilings) {
      if (!probed_type(it, fleet, fleet.devices()[which.device], group.dtype).empty()) found.push_back(it);
    }
    return found;
  };
  std::vector<std::string_view> own;
  switch (memory_roof_of(group)) {
    case memory_roof::read: own = measurable({"read"}); break;
    case memory_roof::write: own = measurable({"write"}); break;
    case memory_roof::copy: own = measurable({"copy"}); break;
    case memory_roof::triad: own = measurable({"triad"}); break;
    case memory_roof::best: break;
  }
  return own.empty() ? measurable({"copy", "triad"}) : own;
}

}  // namespace prumo::bench
