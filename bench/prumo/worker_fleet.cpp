// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker_fleet.hpp"

#include "nearest_name.hpp"
#include "program_error.hpp"
#include "text_table.hpp"
#include "worker_discovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Backends of prumo itself; everything else is a peer.
constexpr std::array<std::string_view, 6> own_backends{"openmp", "cuda", "hip", "sycl", "threads", "serial"};

bool matches(const fleet_device& device, std::string_view worker_name, const std::string& filter) {
  return filter == "all" || filter == device.id || filter == device.own_id || filter == device.summary.backend ||
         filter == worker_name;
}

json blank_entry(const fleet_device& device) {
  const auto& summary = device.summary;
  return {{"id", device.id},
          {"backend", summary.backend},
          {"name", summary.name.empty() ? json() : json(summary.name)},
          {"threads", summary.threads},
          {"facts", json::object()},
          {"peaks", json::array()},
          {"ceilings", json::array()}};
}

}  // namespace

worker_fleet::worker_fleet(std::vector<worker_launch> launches, worker_client::options how) {
  for (worker_launch& launch : launches) workers_.emplace_back(std::move(launch), how);
}

void worker_fleet::start() {
  for (worker_client& worker : workers_) worker.launch();
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    worker_client& worker = workers_[index];
    try {
      const hello_answer& hello = worker.greet();
      for (const device_summary& summary : hello.devices) {
        fleet_device device;
        device.of_other_build = worker.how_launched().of_other_build;
        const bool taken = std::ranges::any_of(devices_, [&](const fleet_device& it) { return it.id == summary.id; });
        device.id = device.of_other_build ? summary.id + std::string(other_build_suffix)
                    : taken               ? fmt::format("{}@{}", summary.id, worker.name())
                                          : summary.id;
        device.own_id = summary.id;
        device.worker = index;
        device.peer = std::ranges::find(own_backends, hello.backend) == own_backends.end();
        device.summary = summary;
        device.entry = blank_entry(device);
        device.entry["worker"] = {{"name", worker.name()},
                                  {"version", hello.version},
                                  {"versions", hello.worker.value("versions", json())},
                                  {"build", hello.worker.value("build", json())},
                                  {"environment", hello.worker.value("environment", json())}};
        devices_.push_back(std::move(device));
      }
      for (const json& warning : hello.worker.value("warnings", json::array())) {
        if (warning.is_string()) {
          notes_.push_back(fmt::format("{}: {}", worker.name(), sanitize(warning.get<std::string>())));
        }
      }
    } catch (const worker_failure& failure) {
      notes_.emplace_back(failure.what());
    } catch (const request_refused& refusal) {
      notes_.push_back(fmt::format("worker '{}' refused to start: {}", worker.name(), refusal.what()));
    }
  }
}

void worker_fleet::select_devices(std::span<const std::string> filters, std::span<const std::string> named_workers) {
  if (devices_.empty()) {
    std::string message = "no device to measure: ";
    if (workers_.empty()) {
      message +=
          "there is no worker program (prumo-worker-...) beside prumo, in ../libexec/prumo or in "
          "PRUMO_WORKER_PATH; build one, or name one with --worker NAME=COMMAND";
    } else {
      message += fmt::format("{}", fmt::join(notes_, "; "));
    }
    throw program_error(exit_code::machine_cannot, message);
  }
  for (const std::string& filter : filters) {
    const bool found = std::ranges::any_of(
        devices_, [&](const fleet_device& it) { return matches(it, workers_[it.worker].name(), filter); });
    if (found) continue;
    std::vector<std::string> known;
    for (const fleet_device& device : devices_) known.push_back(device.id);
    std::string message = fmt::format("device '{}' is not there; there are: {}", filter, fmt::join(known, ", "));
    if (!notes_.empty()) message += fmt::format(" ({})", fmt::join(notes_, "; "));
    throw program_error(exit_code::machine_cannot, message);
  }
  const auto unwanted = [&](const fleet_device& device) {
    const std::string& worker_name = workers_[device.worker].name();
    if (filters.empty()) {
      // Of another build's devices those stay that have a partner: match_builds().
      return device.peer && !device.of_other_build &&
             std::ranges::find(named_workers, worker_name) == named_workers.end();
    }
    return std::ranges::none_of(filters, [&](const std::string& it) { return matches(device, worker_name, it); });
  };
  if (filters.empty() && std::ranges::all_of(devices_, unwanted)) return;
  drop_devices(unwanted);
}

void worker_fleet::drop_devices(const std::function<bool(const fleet_device&)>& unwanted) {
  std::erase_if(devices_, unwanted);
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    const bool needed = std::ranges::any_of(devices_, [&](const fleet_device& it) { return it.worker == index; });
    if (!needed) workers_[index].quit();
  }
}

void worker_fleet::match_builds() {
  std::vector<std::string> own;
  std::vector<std::string> other;
  for (const fleet_device& it : devices_) (it.of_other_build ? other : own).push_back(it.own_id);
  const auto alone = [&](const fleet_device& it) {
    // A second worker's device of the same name, `openmp:0@old`, is none of the two builds.
    if (!it.of_other_build && it.id != it.own_id) return true;
    return std::ranges::find(it.of_other_build ? own : other, it.own_id) == (it.of_other_build ? own : other).end();
  };
  if (std::ranges::all_of(devices_, alone)) {
    std::string message =
        fmt::format("--against: the two builds have no device in common: this one has {}, the other one {}",
                    own.empty() ? "none" : fmt::format("{}", fmt::join(own, ", ")),
                    other.empty() ? "none" : fmt::format("{}", fmt::join(other, ", ")));
    if (!notes_.empty()) message += fmt::format(" ({})", fmt::join(notes_, "; "));
    throw program_error(exit_code::wrong_usage, message);
  }
  for (const fleet_device& it : devices_) {
    if (!alone(it) || (it.peer && it.of_other_build)) continue;
    notes_.push_back(fmt::format("{} is left out: {} has no such device", it.id,
                                 it.of_other_build ? "this build" : "the other build"));
  }
  drop_devices(alone);
}

void worker_fleet::restart(bool other_first) {
  std::vector<std::size_t> used;
  for (const bool other : {other_first, !other_first}) {
    for (const fleet_device& it : devices_) {
      if (it.of_other_build == other && std::ranges::find(used, it.worker) == used.end()) used.push_back(it.worker);
    }
  }
  for (worker_client& worker : workers_) worker.quit();
  for (const std::size_t index : used) {
    workers_[index].launch();
    try {
      workers_[index].greet();
    } catch (const worker_failure&) {
      // Whoever needs it next tries again, and tells.
    } catch (const request_refused&) {
    }
  }
}

void worker_fleet::read_facts() {
  for (fleet_device& device : devices_) {
    try {
      const json facts = workers_[device.worker].device(device.own_id);
      for (const auto& [name, value] : facts.items()) {
        if (name != "id" && name != "backend") device.entry[name] = value;
      }
    } catch (const worker_failure& failure) {
      notes_.emplace_back(failure.what());
    } catch (const request_refused& refusal) {
      notes_.push_back(fmt::format("{} does not tell its facts: {}", device.id, refusal.what()));
    }
  }
}

const case_description* worker_fleet::find_case(const fleet_device& device, const std::string& op) const {
  const auto& cases = workers_[device.worker].hello().cases;
  const auto found = std::ranges::find_if(cases, [&](const case_description& it) { return it.op == op; });
  return found == cases.end() ? nullptr : &*found;
}

json worker_fleet::device_entries() const {
  json entries = json::array();
  for (const fleet_device& device : devices_) entries.push_back(device.entry);
  return entries;
}

void worker_fleet::quit() noexcept {
  for (worker_client& worker : workers_) worker.quit();
}

}  // namespace prumo::bench
