// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "cases/live_case.hpp"
#include "cases/measure_options.hpp"
#include "ceilings/ceiling_samples.hpp"
#include "ceilings/probe_needs.hpp"
#include "plan/plan.hpp"
#include "rates/rates_and_shares.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// A probe while it is measured in turns with a group's cases.
struct live_probe {
  planned_group group;  ///< its own shape and cost, with its one case
  live_case measured;
  probe_need need;
  std::size_t first = 0;        ///< the first of its samples in the current group
  std::size_t first_round = 0;  ///< the same of its rounds
};

/// The measured ceilings of the devices. The probes that may bound the cases of a group are measured in turns with
/// these cases, at the same size, type and cache state where these matter. So case and ceiling see the same machine.
/// Probes stay prepared from group to group as long as size and type are the same. If there are several ways to measure
/// a ceiling, all are measured, and the fastest counts.
class ceiling_store {
 public:
  ceiling_store(worker_fleet& fleet, measure_options options) : fleet_(fleet), options_(options) {}

  /// What a group needs, as far as is known: the ceilings of memory, of flops, and of each kind in `counted` (the flops
  /// that a worker counts, or null), unless another one clearly bounds the group; those of copies for transferred data;
  /// and `launch` if calls may be that short.
  [[nodiscard]] std::vector<probe_need> needs(const planned_group& group, const nlohmann::json& counted) const;

  /// Begins a group, and returns the probes to measure in turns with it; these are valid until the next call. Probes of
  /// another size or type are released.
  [[nodiscard]] std::vector<live_probe*> begin(const planned_group& group, const nlohmann::json& counted);

  /// Frees the memory of probes that the current group does not need, or of `all`. \return true if there were any
  bool release(bool all);

  /// Ends a group: its ceilings become known, and the devices' `ceilings` are updated from all samples of the run.
  void end();

  /// Measures all probes of a device in turns, without any case, until the deadline. Those that are refused stay
  /// unknown. What does not depend on the size is measured once. \throws interrupted
  void measure(std::size_t device, const std::string& dtype, double bytes_per_array, const std::string& cache,
               steady_time deadline);

  /// The ceilings for a case of the group that ended last.
  [[nodiscard]] ceilings_of_case find(const planned_group& group, const planned_case& which) const;

  /// True if a probe is prepared under this key.
  [[nodiscard]] bool is_prepared(const std::string& key) const;
  /// The group of a probe, to estimate its time. Its shape comes from the worker. Null if the worker refuses.
  [[nodiscard]] const planned_group* describe(const probe_need& need, const planned_group& group);

 private:
  /// Samples of the whole run, and the fields that tell what they are of.
  struct known_ceiling {
    nlohmann::json entry;
    ceiling_samples samples;
  };
  using values_by_ceiling = std::map<std::string, ceiling_value, std::less<>>;

  [[nodiscard]] std::vector<live_probe*> begin(const planned_group& group, const std::vector<probe_need>& wanted);
  /// The ceilings from the devices' entries: those of the nearest size.
  [[nodiscard]] measured_ceilings find_nearest(const planned_group& group, const planned_case& which) const;
  /// What the fastest way reached with the group that ended last.
  [[nodiscard]] std::optional<ceiling_value> of_group(std::string_view ceiling, const planned_group& group,
                                                      const planned_case& which) const;
  void learn(const live_probe& probe, std::string_view ceiling);
  void store_entries();

  worker_fleet& fleet_;
  measure_options options_;
  std::map<std::string, planned_group> described_;
  std::map<std::string, std::unique_ptr<live_probe>> probes_;
  std::set<std::string> current_;                      ///< keys of the current group
  std::map<std::string, values_by_ceiling> of_group_;  ///< by key, measured with the current group
  std::map<std::string, known_ceiling> known_;         ///< by key and ceiling
};

}  // namespace prumo::bench
