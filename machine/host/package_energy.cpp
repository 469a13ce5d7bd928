// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "package_energy.hpp"

#include <utility>

namespace prumo::machine::host {

package_energy::package_energy(system_files files) : files_(std::move(files)) {
  const std::string root = "/sys/class/powercap/";
  // AMD's packages have the same name there.
  for (const std::string& zone : files_.names_in(root, "intel-rapl:")) {
    const auto name = files_.word(root + zone + "/name");
    if (!name || !name->starts_with("package")) continue;  // core, dram: parts of a package; psys: the whole machine
    const auto range = files_.integer(root + zone + "/max_energy_range_uj");
    counters_.push_back({root + zone, range && *range > 0 ? range : std::nullopt, std::nullopt, 0});
  }
}

bool package_energy::advance(counter& each) const {
  const auto now = files_.integer(each.folder + "/energy_uj");
  if (!now || *now < 0) return false;
  std::int64_t step = each.last ? *now - *each.last : 0;
  if (step < 0) {
    if (!each.range) return false;
    step += *each.range;
  }
  if (step < 0) return false;
  each.total += step;
  each.last = now;
  return true;
}

std::optional<double> package_energy::read() {
  const std::lock_guard lock(guard_);
  if (counters_.empty()) return std::nullopt;
  double joules = 0;
  bool complete = true;
  for (counter& each : counters_) {
    complete = advance(each) && complete;
    joules += static_cast<double>(each.total) * 1e-6;
  }
  if (!complete) {
    // The energy that is missing now would be missing from every later total.
    counters_.clear();
    return std::nullopt;
  }
  return joules;
}

}  // namespace prumo::machine::host
