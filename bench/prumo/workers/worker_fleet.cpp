// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/worker_fleet.hpp"

#include "privacy/recorded_words.hpp"
#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"
#include "terminal/text.hpp"
#include "terminal/units.hpp"
#include "workers/worker_discovery.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

json blank_entry(const fleet_device& device) {
  const auto& summary = device.summary;
  return {{"id", device.id},
          {"backend", summary.backend},
          {"name", summary.name.empty() ? json() : json(summary.name)},
          {"threads", summary.threads ? json(*summary.threads) : json()},
          {"facts", json::object()},
          {"peaks", json::array()},
          {"ceilings", json::array()}};
}

}  // namespace

std::string fleet_device::label() const { return threads ? fmt::format("{} ({})", id, format_threads(*threads)) : id; }

bool has_transfers(const protocol::device_summary& device) {
  // Only host devices have a number of threads.
  return device.transfers.value_or(!device.threads);
}

worker_fleet::worker_fleet(std::vector<worker_launch> launches, worker_client::options how) {
  for (worker_launch& launch : launches) workers_.emplace_back(std::move(launch), how);
}

void worker_fleet::start() {
  for (worker_client& worker : workers_) worker.launch();
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    worker_client& worker = workers_[index];
    try {
      const protocol::hello_answer& hello = worker.greet();
      for (const protocol::device_summary& summary : hello.devices) add_device(index, hello, summary);
      add_warnings(worker, hello);
    } catch (const worker_failure& failure) {
      const bool broken = failure.why() != worker_failure::reason::unavailable;
      unusable_[index] = {broken || failure.said().empty() ? failure.what() : failure.said(), failure.what(), broken};
      notes_.emplace_back(failure.what());
    } catch (const request_refused& refusal) {
      const std::string note = fmt::format("worker '{}' refused to start: {}", worker.name(), refusal.what());
      unusable_[index] = {refusal.what(), note, true};
      notes_.push_back(note);
    }
  }
}

void worker_fleet::add_device(std::size_t worker, const protocol::hello_answer& hello,
                              const protocol::device_summary& summary) {
  const std::string& name = workers_[worker].name();
  const bool taken = std::ranges::any_of(devices_, [&](const fleet_device& it) { return it.id == summary.id; });
  fleet_device device;
  device.of_other_build = workers_[worker].how_launched().of_other_build;
  device.id = device.of_other_build ? summary.id + std::string(other_build_suffix)
              : taken               ? fmt::format("{}@{}", summary.id, name)
                                    : summary.id;
  device.own_id = summary.id;
  device.worker = worker;
  device.peer = !is_own_backend(hello.worker.backend);
  device.summary = summary;
  device.entry = entry_of(device, hello);
  if (!own_host_ && !device.peer && !device.of_other_build && !has_transfers(summary)) own_host_ = device;
  devices_.push_back(std::move(device));
}

json worker_fleet::entry_of(const fleet_device& device, const protocol::hello_answer& hello) const {
  json entry = blank_entry(device);
  entry["worker"] = {{"name", workers_[device.worker].name()},
                     {"version", hello.worker.version},
                     {"versions", hello.worker.versions},
                     {"build", hello.worker.build},
                     {"environment", recorded_variables(hello.worker.environment)}};
  return entry;
}

void worker_fleet::add_warnings(const worker_client& worker, const protocol::hello_answer& hello) {
  for (const std::string& warning : hello.worker.warnings) {
    std::string note = fmt::format("{}: {}", worker.name(), sanitize(warning));
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
  }
}

bool worker_fleet::matches(const fleet_device& device, const std::string& filter) const {
  return filter == "all" || filter == device.id || filter == device.own_id || filter == device.summary.backend ||
         filter == workers_[device.worker].name();
}

bool worker_fleet::is_wanted(const fleet_device& device, std::span<const std::string> filters,
                             std::span<const std::string> named_workers, std::span<const std::string> peers) const {
  const auto matched = [&](const std::string& it) { return matches(device, it); };
  if (std::ranges::any_of(filters, matched)) return true;
  const std::string& worker = workers_[device.worker].name();
  if (device.peer && std::ranges::any_of(peers, matched)) {
    // Filters that name devices of this peer choose among them.
    return std::ranges::none_of(filters, [&](const std::string& it) { return names_peer(it, worker); });
  }
  // Of another build's devices those stay that have a partner: match_builds().
  return filters.empty() &&
         (!device.peer || device.of_other_build || std::ranges::find(named_workers, worker) != named_workers.end());
}

fleet_device worker_fleet::missing_device(std::size_t worker, const std::string& id, const std::string& why) const {
  fleet_device device;
  device.id = device.own_id = id;
  device.worker = worker;
  device.peer = !is_own_backend(workers_[worker].name());
  device.summary.backend = id.substr(0, id.find(':'));
  device.missing = why;
  device.entry = blank_entry(device);
  return device;
}

std::optional<fleet_device> worker_fleet::explain_missing(const std::string& asked) const {
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    const std::string& name = workers_[index].name();
    if (is_own_backend(name) || !names_peer(asked, name)) continue;
    if (const auto why = unusable_.find(index); why != unusable_.end()) {
      return missing_device(index, asked, why->second.why);
    }
    std::vector<std::string> known;
    for (const fleet_device& it : devices_) {
      if (it.worker == index) known.push_back(it.own_id);
    }
    return missing_device(
        index, asked,
        fmt::format("{} reaches no device '{}' here; it reaches: {}", name, asked, fmt::join(known, ", ")));
  }
  return std::nullopt;
}

/// Workers that the user named, and prumo's own, which belong to every run whose filters do not leave them out.
std::vector<fleet_device> worker_fleet::broken_workers(std::span<const std::string> filters,
                                                       std::span<const std::string> named_workers) const {
  const bool every = filters.empty() || std::ranges::find(filters, "all") != filters.end();
  std::vector<fleet_device> found;
  for (const auto& [index, failed] : unusable_) {
    const std::string& name = workers_[index].name();
    if (workers_[index].how_launched().of_other_build) continue;
    const bool named = std::ranges::find(named_workers, name) != named_workers.end();
    if (named || (every && failed.broken && is_own_backend(name))) {
      found.push_back(missing_device(index, name, failed.why));
    }
  }
  return found;
}

void worker_fleet::select_devices(std::span<const std::string> filters, std::span<const std::string> named_workers,
                                  std::span<const std::string> peers) {
  std::vector<std::string> asked(filters.begin(), filters.end());
  for (const std::string& peer : peers) {
    if (peer != "all") {
      asked.push_back(peer);
      continue;
    }
    for (const auto& [index, why] : unusable_) asked.push_back(workers_[index].name());
  }
  std::vector<fleet_device> missing = broken_workers(filters, named_workers);
  for (const fleet_device& it : missing) absent_.push_back(it.id);
  for (const std::string& name : asked) {
    const auto found = [&](const fleet_device& it) { return it.id == name || matches(it, name); };
    if (std::ranges::any_of(devices_, found) || std::ranges::any_of(missing, found)) continue;
    if (auto explained = explain_missing(name)) {
      missing.push_back(std::move(*explained));
      const bool by_name =
          std::ranges::find(filters, name) != filters.end() || std::ranges::find(peers, name) != peers.end();
      if (by_name) absent_.push_back(name);
      continue;
    }
    if (std::ranges::find(filters, name) == filters.end() || devices_.empty()) continue;
    std::vector<std::string> known;
    for (const fleet_device& device : devices_) known.push_back(device.id);
    std::string message = fmt::format("there is no device '{}'; there are: {}", name, fmt::join(known, ", "));
    if (!notes_.empty()) message += fmt::format(" ({})", fmt::join(notes_, "; "));
    throw program_error(exit_code::machine_cannot, message);
  }
  const auto unwanted = [&](const fleet_device& it) { return !is_wanted(it, filters, named_workers, peers); };
  // Where prumo has no worker of its own, peers are what is measured.
  const bool only_peers =
      filters.empty() && peers.empty() && std::ranges::all_of(devices_, unwanted) &&
      std::ranges::none_of(workers_, [](const worker_client& it) { return is_own_backend(it.name()); });
  if (!only_peers) drop_devices(unwanted);
  if (devices_.empty()) {
    std::string message = "no device to measure: ";
    if (workers_.empty()) {
      message +=
          "there is no worker program (prumo-worker-...) beside prumo, in ../libexec/prumo or in "
          "PRUMO_WORKER_PATH; build one, or name one with --worker NAME=COMMAND";
    } else if (!missing.empty() && missing.front().peer) {
      message += missing.front().missing;
    } else {
      message += fmt::format("{}", fmt::join(notes_, "; "));
    }
    throw program_error(exit_code::machine_cannot, message);
  }
  for (fleet_device& device : missing) {
    // Its rows tell it.
    if (const auto why = unusable_.find(device.worker); why != unusable_.end()) std::erase(notes_, why->second.note);
    devices_.push_back(std::move(device));
  }
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
  for (const fleet_device& it : devices_) {
    if (it.missing.empty()) (it.of_other_build ? other : own).push_back(it.own_id);
  }
  const auto alone = [&](const fleet_device& it) {
    // A second worker's device of the same name, `openmp:0@old`, is none of the two builds.
    if (!it.missing.empty() || (!it.of_other_build && it.id != it.own_id)) return true;
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
    const std::string why = fmt::format("{} has no such device", it.of_other_build ? "this build" : "the other build");
    notes_.push_back(fmt::format("{} is left out: {}", it.id, it.missing.empty() ? why : it.missing));
  }
  drop_devices(alone);
  for (const auto& [index, failed] : unusable_) {
    if (failed.broken && workers_[index].how_launched().of_other_build) absent_.push_back(workers_[index].name());
  }
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
    if (!device.missing.empty()) continue;
    try {
      const json facts = workers_[device.worker].device(device.own_id);
      for (const auto& [name, value] : facts.items()) {
        if (name != "id" && name != "backend") device.entry[name] = value;
      }
      if (device.threads) device.entry["threads"] = *device.threads;
    } catch (const worker_failure& failure) {
      notes_.emplace_back(failure.what());
    } catch (const request_refused& refusal) {
      notes_.push_back(fmt::format("{} does not tell its facts: {}", device.id, refusal.what()));
    }
  }
}

const protocol::case_description* worker_fleet::find_case(const fleet_device& device, const std::string& op) const {
  if (!device.missing.empty()) return nullptr;
  const auto& cases = workers_[device.worker].hello().cases;
  const auto found = std::ranges::find_if(cases, [&](const protocol::case_description& it) { return it.op == op; });
  return found == cases.end() ? nullptr : &*found;
}

json worker_fleet::parameters_for(const fleet_device& device, const std::string& op, json parameters) const {
  const protocol::case_description* const own = find_case(device, op);
  if (!own) return parameters;
  for (const fleet_device& other : devices_) {
    const protocol::case_description* const newer = find_case(other, op);
    if (!newer) continue;
    for (const protocol::named_number& it : newer->parameters) {
      if (std::ranges::find(own->parameters, it.name, &protocol::named_number::name) != own->parameters.end()) continue;
      const auto given = parameters.find(it.name);
      if (given != parameters.end() && given->get<double>() == it.fallback) parameters.erase(given);
    }
  }
  return parameters;
}

json worker_fleet::worker_versions() const {
  json versions = json::object();
  for (const fleet_device& device : devices_) {
    if (!device.missing.empty()) continue;
    const worker_client& client = worker(device.worker);
    const protocol::worker_description& told = client.hello().worker;
    versions["worker " + client.name()] = told.version.empty() ? json() : json(told.version);
    for (const auto& [name, value] : told.versions.items()) {
      if (value.is_string()) versions[client.name() + " " + name] = value;
    }
  }
  return versions;
}

json worker_fleet::device_entries() const {
  json entries = json::array();
  for (const fleet_device& device : devices_) entries.push_back(device.entry);
  return entries;
}

std::vector<int> worker_fleet::process_ids() const {
  std::vector<int> running;
  for (const worker_client& worker : workers_) {
    if (const auto process = worker.process_id()) running.push_back(*process);
  }
  return running;
}

void worker_fleet::quit() noexcept {
  for (worker_client& worker : workers_) worker.quit();
}

}  // namespace prumo::bench
