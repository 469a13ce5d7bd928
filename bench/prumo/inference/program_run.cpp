// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/program_run.hpp"

#include "cases/deadlines.hpp"
#include "results/result_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// One process from its start to its end.
struct program_process {
  double elapsed = 0;
  json usage;
  json accuracy;
  std::string implementation;
};

program_process run_program(worker_client& client, const protocol::open_request& request, double expected) {
  program_process ran;
  const steady_time begun = std::chrono::steady_clock::now();
  client.launch();
  client.greet();
  const double started = seconds_since(begun);
  const protocol::open_answer opened = client.open(request, expected);
  const double opened_at = seconds_since(begun);
  const protocol::evaluate_answer told = client.evaluate(opened.session, expected);
  const double evaluated_at = seconds_since(begun);
  const std::optional<process_usage> used = client.quit();
  ran.elapsed = seconds_since(begun);
  ran.implementation = opened.implementation;
  const double load = opened.load_s.value_or(0);
  ran.usage = {{"start_s", started},
               {"load_s", opened.load_s ? json(load) : json()},
               {"place_s", std::max(0.0, opened_at - started - load)},
               {"compute_s", evaluated_at - opened_at},
               {"end_s", ran.elapsed - evaluated_at}};
  if (used) {
    ran.usage["user_s"] = used->user_s;
    ran.usage["system_s"] = used->system_s;
    ran.usage["cpu_share"] = (used->user_s + used->system_s) / ran.elapsed;
    ran.usage["peak_memory_bytes"] = used->peak_memory_bytes;
  }
  if (told.images > 0) {
    ran.accuracy = {{"correct", told.correct},
                    {"images", told.images},
                    {"share", static_cast<double>(told.correct) / static_cast<double>(told.images)}};
  }
  return ran;
}

}  // namespace

json measure_program(worker_fleet& fleet, const net_inputs& inputs, const net_place& place, int processes, json stub,
                     const std::function<void(int)>& on_step) {
  const fleet_device& device = fleet.devices()[place.device];
  case_record record(std::move(stub));
  if (!device.missing.empty()) {
    record.end("skipped", device.missing);
    return record.result();
  }
  const worker_client& running = fleet.worker(device.worker);
  protocol::open_request request = inputs.request();
  request.device = device.own_id;
  request.dtype = place.dtype;
  request.batch = place.batch;
  request.implementation = place.implementation;
  constexpr double slow_flops_per_second = 5e8;
  const double expected = static_cast<double>(inputs.net().facts.flops_inside) *
                          static_cast<double>(inputs.images() + place.batch) / slow_flops_per_second;
  std::vector<program_process> ran;
  try {
    for (int number = 0; number < processes; ++number) {
      on_step(number);
      worker_client client(running.how_launched(), running.settings());
      ran.push_back(run_program(client, request, expected));
      protocol::sample_answer sample;
      sample.samples = {ran.back().elapsed};
      record.add_sample(sample);
      record.end_round();
    }
  } catch (const request_refused& refusal) {
    record.end_refused(refusal.kind(), refusal.what());
  } catch (const worker_failure& failure) {
    record.end("failed", failure.what());
  }
  if (record.ended()) return record.result();
  protocol::prepare_answer prepared;
  prepared.implementation = ran.front().implementation;
  record.set_prepared(prepared);
  json result = record.finish(stop_reason::budget);
  std::ranges::sort(ran, {}, &program_process::elapsed);
  const program_process& median = ran[ran.size() / 2];
  result["usage"] = median.usage;
  if (!median.accuracy.is_null()) result["accuracy"] = median.accuracy;
  return result;
}

}  // namespace prumo::bench
