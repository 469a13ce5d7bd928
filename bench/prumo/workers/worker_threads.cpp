// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// worker_fleet::spread_over_threads()
#include "terminal/program_error.hpp"
#include "workers/thread_sweep.hpp"
#include "workers/worker_fleet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

bool is_of_host(const fleet_device& device) { return device.missing.empty() && !has_transfers(device.summary); }

void refuse_without_host(const std::vector<fleet_device>& devices) {
  if (std::ranges::any_of(devices, is_of_host)) return;
  std::vector<std::string> chosen;
  for (const fleet_device& it : devices) chosen.push_back(it.id);
  throw program_error(exit_code::wrong_usage,
                      fmt::format("--threads chooses the number of host threads, but {} {} of the host; add openmp:0 "
                                  "to --device, or leave --threads out",
                                  fmt::join(chosen, ", "), chosen.size() > 1 ? "are no devices" : "is no device"));
}

}  // namespace

/// The facts of the host from a worker whose threads nothing confines: what the user's shell says of places, and how
/// many threads it wants, would else hide processors.
json worker_fleet::facts_of_all_processors() {
  if (!own_host_) {
    throw program_error(exit_code::machine_cannot,
                        "--threads needs prumo's own worker for the host, which knows the processors, and there is "
                        "none; build it, or leave out --no-search");
  }
  const worker_client& own = workers_[own_host_->worker];
  worker_client unconfined(own.how_launched().behind(words_for_all_processors()), own.settings());
  try {
    const json device = unconfined.device(own_host_->own_id);
    unconfined.quit();
    return device.at("facts");
  } catch (const request_refused&) {
    return {};  // then numbers of threads can be chosen, and no places
  }
}

/// The device as the worker, which was started with this many threads, offers it.
fleet_device worker_fleet::with_threads(const fleet_device& device, int threads, std::size_t worker) {
  fleet_device spread = device;
  spread.worker = worker;
  spread.threads = threads;
  spread.summary.threads = threads;
  spread.entry["threads"] = threads;
  try {
    const protocol::hello_answer& hello = workers_[worker].greet();
    spread.entry = entry_of(spread, hello);
    add_warnings(workers_[worker], hello);
    const auto told = std::ranges::find(hello.devices, device.own_id, &protocol::device_summary::id);
    const bool obeys = told != hello.devices.end() && (!told->threads || *told->threads == threads);
    if (!obeys) {
      const std::string does =
          told == hello.devices.end() ? "is not there" : "works with " + std::to_string(*told->threads);
      spread.fixed_threads =
          fmt::format("{} {} although its environment says {}, so its number of threads cannot be chosen", device.id,
                      does, threads);
    }
  } catch (const worker_failure& failure) {
    spread.missing = failure.what();
  } catch (const request_refused& refusal) {
    spread.missing = refusal.what();
  }
  return spread;
}

void worker_fleet::spread_over_threads(std::span<const std::string> words) {
  refuse_without_host(devices_);
  const host_processors host = host_processors::from_facts(facts_of_all_processors());
  const std::vector<int> numbers = thread_numbers(words, host);

  std::map<std::pair<std::size_t, int>, std::size_t> started;  // by worker and number of threads
  for (const fleet_device& device : devices_) {
    if (!is_of_host(device)) continue;
    for (const int threads : numbers) {
      if (!started.emplace(std::pair(device.worker, threads), workers_.size()).second) continue;
      const worker_client& as_found = workers_[device.worker];
      const thread_binding binding = device.peer ? thread_binding::by_mask : thread_binding::by_openmp;
      worker_launch launch = as_found.how_launched().behind(words_for_threads(threads, host.places(threads), binding));
      launch.threads = threads;
      workers_.emplace_back(std::move(launch), as_found.settings()).launch();
    }
  }

  std::vector<fleet_device> spread;
  for (const fleet_device& device : devices_) {
    if (!is_of_host(device)) {
      spread.push_back(device);
      continue;
    }
    // What it warned of when its threads were as the shell left them.
    std::erase_if(notes_, [&](const std::string& it) { return it.starts_with(workers_[device.worker].name() + ": "); });
    for (const int threads : numbers) {
      spread.push_back(with_threads(device, threads, started.at({device.worker, threads})));
      if (!spread.back().missing.empty()) absent_.push_back(spread.back().label());
    }
  }
  devices_ = std::move(spread);
  drop_devices([](const fleet_device&) { return false; });  // ends the workers that nobody needs any more
}

}  // namespace prumo::bench
