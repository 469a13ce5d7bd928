// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/two_builds.hpp"

#include "results/result_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace prumo::bench {

using nlohmann::json;

bool holds_two_builds(const json& run) {
  const auto against = run.find("against");
  return against != run.end() && against->is_object() && against->value("suffix", json()).is_string();
}

run_plan run_plan_of(const json& run) {
  const auto number = [&](const char* pointer) {
    const auto value = number_of(field(run, pointer));
    return value && *value >= 1 ? static_cast<std::size_t>(*value) : std::size_t{0};
  };
  const std::size_t fewest = std::max(number("/plan/process_runs"), fewest_runs);
  return {fewest, std::max(fewest, number("/plan/most_process_runs"))};
}

two_builds split_builds(const comparison_source& file) {
  const json& against = file.run.at("against");
  const auto suffix = against.at("suffix").get<std::string>();
  two_builds split;
  split.before.name = against.at("build").get<std::string>();
  split.after.name = file.name;
  for (comparison_source* side : {&split.before, &split.after}) {
    side->format = file.format;
    side->run = file.run;
  }
  // Whoever finds the run of one side on the other must not take them for the same.
  split.before.run["id"] = file.run.value("id", std::string()) + suffix;
  struct place {
    comparison_source* side;
    std::size_t index;
  };
  std::vector<place> places;
  for (const json& device : file.devices) {
    const auto id = device.at("id").get<std::string>();
    const bool is_before = id.ends_with(suffix);
    comparison_source& side = is_before ? split.before : split.after;
    places.push_back({&side, side.devices.size()});
    side.devices.push_back(device);
    if (is_before) side.devices.back()["id"] = id.substr(0, id.size() - suffix.size());
  }
  for (const measurement& row : file.rows) {
    const auto [side, index] = places.at(row.device);
    side->rows.push_back(row);
    side->rows.back().device = index;
    side->rows.back().result["device"] = side->devices[index].at("id");
  }
  return split;
}

}  // namespace prumo::bench
