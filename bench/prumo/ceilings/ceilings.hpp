// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "cases/live_case.hpp"
#include "cases/measure_options.hpp"
#include "plan/plan.hpp"
#include "rates/rates_and_shares.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// A probe that a group of cases is compared with.
struct probe_need {
  std::string probe;
  std::size_t device = 0;  ///< index in worker_fleet::devices()
  std::string cache;
  std::string dispatch;
  std::optional<std::string> implementation;  ///< if the probe has several: they are ways to do the same
  std::string key;                            ///< the same for all needs that one measurement serves
};

/// A probe while it is measured in turns with a group's cases.
struct live_probe {
  planned_group group;  ///< its own shape and cost, with its one case
  live_case measured;
  std::size_t first = 0;  ///< the first of its samples in the current group
};

/// The measured ceilings of the devices. The probes (`copy`, `triad`, `read`, `write`, `fma`, `launch`) that may bound
/// the cases of a group are measured in turns with these cases, at the same size, type and cache state. So case and
/// ceiling see the same machine. Probes stay prepared from group to group as long as size and type are the same. If a
/// probe has several implementations, all are measured, and the fastest is the ceiling.
class ceiling_store {
 public:
  ceiling_store(worker_fleet& fleet, measure_options options) : fleet_(fleet), options_(options) {}

  /// The probes that a group needs, as far as is known: the memory probe of its traffic and `fma`, unless the other of
  /// the two clearly bounds the group, and `launch` if calls may be that short.
  [[nodiscard]] std::vector<probe_need> needs(const planned_group& group) const;

  /// Begins a group, and returns the probes to measure in turns with it; these are valid until the next call. Probes of
  /// another size or type are released.
  [[nodiscard]] std::vector<live_probe*> begin(const planned_group& group);

  /// Frees the memory of probes that the current group does not need, or of `all`. \return true if there were any
  bool release(bool all);

  /// Ends a group: its ceilings become known, and the devices' `ceilings` are updated from all samples of the run.
  void end();

  /// Measures all probes of a device in turns, without any case, until the deadline. Those that are refused stay
  /// unknown. \throws interrupted
  void measure(std::size_t device, const std::string& dtype, double bytes_per_array, const std::string& cache,
               steady_time deadline);

  /// The ceilings for a case of the group that ended last: those measured with it, or else those of the nearest size.
  [[nodiscard]] measured_ceilings find(const planned_group& group, const planned_case& which) const;
  /// The same from the fastest sample of the run, or ten times the ceiling if there are too few samples.
  [[nodiscard]] measured_ceilings find_fastest(const planned_group& group, const planned_case& which) const;

  /// True if a probe is prepared under this key.
  [[nodiscard]] bool is_prepared(const std::string& key) const;
  /// The group of a probe, to estimate its time. Its shape comes from the worker. Null if the worker refuses.
  [[nodiscard]] const planned_group* describe(const probe_need& need, const planned_group& group);

 private:
  struct value_range {
    double typical;
    double fastest;
  };

  struct known_probe {
    nlohmann::json entry;         ///< of the device's `ceilings`
    double work = 0;              ///< bytes or flops of a call; 0: the time itself is the ceiling
    std::vector<double> samples;  ///< of the whole run
  };

  [[nodiscard]] std::vector<live_probe*> begin(const planned_group& group, const std::vector<probe_need>& wanted);
  /// A need for each implementation of the probe; none if the worker does not have the probe for the type.
  [[nodiscard]] std::vector<probe_need> needs_of(const char* probe, std::size_t device, const planned_group& group,
                                                 const planned_case& which) const;
  [[nodiscard]] std::string key_of(std::string_view probe, const fleet_device& device, const planned_group& group,
                                   const planned_case& which, const std::string& implementation) const;
  /// What the implementations of a probe reached with the group that ended last.
  [[nodiscard]] std::optional<value_range> of_group(const char* probe, const fleet_device& device,
                                                    const planned_group& group, const planned_case& which) const;
  [[nodiscard]] bool offers(const fleet_device& device, const char* probe, const std::string& dtype) const;
  [[nodiscard]] std::vector<const char*> memory_probes(const fleet_device& device, const planned_group& group) const;
  void store_entries();

  worker_fleet& fleet_;
  measure_options options_;
  std::map<std::string, planned_group> described_;
  std::map<std::string, std::unique_ptr<live_probe>> probes_;
  std::map<std::string, bool> current_;          ///< keys of the current group
  std::map<std::string, value_range> of_group_;  ///< measured with the current group
  std::map<std::string, known_probe> known_;
};

}  // namespace prumo::bench
