// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_calls.hpp"
#include <prumo/machine/telemetry.hpp>
#include <prumo/protocol/messages.hpp>
#include <prumo/protocol/seconds_since.hpp>
#include <prumo/serving/sampling.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace prumo::worker {

/// Appends the texts that are not there yet.
inline void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& it : more) {
    if (std::ranges::find(all, it) == all.end()) all.push_back(it);
  }
}

/// Measures for about this many seconds, and reads what the device tells of itself meanwhile. `copies` are the calls,
/// if they contain copies, or null.
template <class Exec>
protocol::sample_answer measure_sample(const Exec& instance, protocol::sampler& sampled, double seconds,
                                       const copying_calls<Exec>* copies) {
  // The energy of shorter measurements is not known, because counters of energy advance in steps (telemetry.hpp). These
  // are ten steps of a GPU's counter and twenty of a processor's.
  constexpr double least_energy_seconds = is_host_space<Exec> ? 0.02 : 1;
  sampled.calibrate();
  const bool holds_samples = sampled.holds_samples();
  const machine::device_reading before = machine::read_telemetry(instance);
  const auto begun = std::chrono::steady_clock::now();
  protocol::sample_times times = sampled.sample(seconds);
  const double elapsed = protocol::seconds_since(begun);
  const machine::device_reading after = machine::read_telemetry(instance);
  protocol::sample_answer answer;
  answer.samples = times.device.empty() ? times.wall : std::move(times.device);
  answer.wall = std::move(times.wall);
  answer.batch = times.batch;
  if (copies != nullptr) {
    answer.transfer = {std::move(times.h2d), std::move(times.d2h), copies->h2d_bytes(), copies->d2h_bytes()};
  }
  answer.clock_mhz = after.clock_mhz;
  answer.temperature_c = after.temperature_c;
  answer.throttle = after.throttle;
  append(answer.throttle, before.throttle);
  // Samples of the calibration were taken before the first reading, so this answer cannot tell their energy.
  if (!holds_samples && before.energy_j && after.energy_j && elapsed >= least_energy_seconds) {
    answer.energy_j = *after.energy_j - *before.energy_j;
    answer.power_w = *answer.energy_j / elapsed;
  }
  return answer;
}

}  // namespace prumo::worker
