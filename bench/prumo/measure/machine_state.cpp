// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/machine_state.hpp"

#include "results/result_fields.hpp"
#include "results/run_record.hpp"
#include "terminal/interrupt.hpp"

#include <array>
#include <chrono>
#include <thread>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// The counters of processor time advance every hundredth of a second.
constexpr std::chrono::milliseconds look_time{250};

/// The facts of a device that may change while it is measured.
constexpr std::array<const char*, 11> changing_facts{
    "power_source",  "power_limit_w", "governor",  "throttle", "other_processes",       "utilization_percent",
    "temperature_c", "clock_now_mhz", "cpu_quota", "turbo",    "memory_available_bytes"};

/// The counters, with what the running workers used as prumo's own.
load_reading read_load_of(const worker_fleet& fleet) {
  load_reading reading = read_load();
  for (const int process : fleet.process_ids()) reading.own += processor_seconds(process);
  return reading;
}

json state_of_device(const json& facts) {
  json state = json::object();
  if (!facts.is_object()) return state;
  for (const char* name : changing_facts) {
    if (facts.contains(name)) state[name] = facts.at(name);
  }
  return state;
}

}  // namespace

machine_watch::machine_watch(bool looks_at_host) : looks_at_host_(looks_at_host) {
  if (looks_at_host_) begun_ = read_load();
}

/// What others did since a reading, which is a quarter of a second ago or longer in the end.
json machine_watch::look_since(const load_reading& earlier, const worker_fleet& fleet) const {
  json host;
  if (looks_at_host_) {
    std::this_thread::sleep_until(earlier.when + look_time);
    throw_if_interrupted();
    host = load_between(earlier, read_load_of(fleet));
  }
  return {{"time", utc_now()}, {"host", std::move(host)}, {"devices", json::object()}};
}

void machine_watch::look_at_start(const worker_fleet& fleet) {
  json seen = look_since(begun_, fleet);
  for (const fleet_device& device : fleet.devices()) {
    if (device.missing.empty()) seen["devices"][device.label()] = state_of_device(field(device.entry, "/facts"));
  }
  state_["start"] = std::move(seen);
}

void machine_watch::look_at_end(worker_fleet& fleet) {
  json seen = look_since(read_load_of(fleet), fleet);
  for (const fleet_device& device : fleet.devices()) {
    worker_client& worker = fleet.worker(device.worker);
    if (!device.missing.empty() || !worker.alive()) continue;  // a worker that fell is not started for this
    try {
      json now = state_of_device(worker.device(device.own_id, false).at("facts"));
      now.erase("utilization_percent");  // prumo has just used the device
      seen["devices"][device.label()] = std::move(now);
    } catch (const worker_failure&) {
      // The results are there, and its state is not known.
    } catch (const request_refused&) {
    }
  }
  state_["end"] = std::move(seen);
}

void machine_watch::finish() {
  state_["during"] = {{"host", looks_at_host_ ? load_between(begun_, read_load()) : json()}};
}

std::string machine_watch::concern_at_start() const {
  return concern("/start/host", "this machine is busy: ",
                 ". Times will be too long, shares of ceilings may be wrong: stop what else runs, or wait");
}

std::string machine_watch::concern_at_end() const {
  return concern("/during/host", "this machine was busy while prumo measured: on average ",
                 ". Times may be too long: measure again when it is quiet");
}

/// A sentence about the load that a look found; empty if there was none.
std::string machine_watch::concern(const char* look, const char* begin, const char* end) const {
  const std::string load = describe_load(field(state_, look));
  return load.empty() ? std::string() : begin + load + end;
}

}  // namespace prumo::bench
