// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of the measured ceilings are those of a case.
#include "ceilings/ceilings.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::bench {

using nlohmann::json;

std::optional<ceiling_value> ceiling_store::of_group(std::string_view ceiling, const planned_group& group,
                                                     const planned_case& which) const {
  const bool is_time = ceiling_named(ceiling).unit == "s";
  std::optional<ceiling_value> best;
  double fastest = 0;
  for (const probe_need& way : ways_to_probe(ceiling, fleet_, group, which)) {
    const auto measured = of_group_.find(way.key);
    if (measured == of_group_.end()) continue;
    const auto found = measured->second.find(ceiling);
    if (found == measured->second.end()) continue;
    const ceiling_value& value = found->second;
    const double reached = value.fastest;
    fastest = !best ? reached : is_time ? std::min(fastest, reached) : std::max(fastest, reached);
    if (!best || ceiling_samples::is_better(value, *best, is_time)) best = value;
  }
  if (best) best->fastest = fastest;
  return best;
}

measured_ceilings ceiling_store::find_nearest(const planned_group& group, const planned_case& which) const {
  const fleet_device& device = fleet_.devices()[which.device];
  const auto listed = device.entry.find("ceilings");
  if (listed == device.entry.end()) return {};
  const std::string host_memory = which.host_memory.value_or("");
  ceiling_conditions wanted{group.dtype,        which.cache,
                            which.dispatch,     static_cast<std::uint64_t>(group.bytes_per_array.value_or(0)),
                            group.compute_mode, host_memory};
  measured_ceilings found = find_ceilings(*listed, wanted);
  if (group.dtype == "f32") return found;
  wanted.dtype = "f32";
  measured_ceilings single = find_ceilings(*listed, wanted);
  for (const ceiling_kind& kind : every_ceiling()) {
    if (probed_type(kind.name, fleet_, device, group.dtype) == "f32") {
      found.by_name(kind.name) = single.by_name(kind.name);
    }
  }
  return found;
}

ceilings_of_case ceiling_store::find(const planned_group& group, const planned_case& which) const {
  ceilings_of_case found;
  found.typical = find_nearest(group, which);
  // A ceiling that clearly does not bind is not measured with every group.
  found.fastest = found.typical;
  for (const ceiling_kind& kind : every_ceiling()) {
    const auto own = of_group(kind.name, group, which);
    if (!own) continue;
    found.typical.by_name(kind.name) = own->typical;
    found.fastest.by_name(kind.name) = own->fastest;
    if (own->spread) found.intervals.emplace(kind.name, *own->spread);
  }
  return found;
}

}  // namespace prumo::bench
