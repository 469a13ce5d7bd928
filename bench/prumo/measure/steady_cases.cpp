// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/steady_cases.hpp"

#include <algorithm>
#include <set>

namespace prumo::bench {

std::vector<bool> which_stop(std::span<const steady_candidate> candidates,
                             const std::map<std::size_t, double>& probe_seconds, double left_seconds) {
  std::vector<bool> stops(candidates.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    double round_seconds = 0;
    std::set<std::size_t> devices;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!stops[i]) continue;
      round_seconds += candidates[i].turn_seconds;
      devices.insert(candidates[i].device);
    }
    for (const auto& [device, seconds] : probe_seconds) {
      if (devices.contains(device)) round_seconds += seconds;
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const steady_candidate& it = candidates[i];
      if (!stops[i]) continue;
      const double further = std::min(left_seconds / round_seconds, it.own_seconds / it.turn_seconds);
      if (is_out_of_reach(it.noise, further, it.target_noise)) continue;
      stops[i] = false;
      changed = true;
    }
  }
  return stops;
}

}  // namespace prumo::bench
