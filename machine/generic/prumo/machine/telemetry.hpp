// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a device tells about itself while it works: clocks, power, temperature, energy, and why it is slowed down.

#include <prumo/spaces.hpp>

#include <optional>
#include <string>
#include <vector>

namespace prumo::machine {

/// One look at a device's sensors. What it does not tell is std::nullopt.
struct device_reading {
  std::optional<double> clock_mhz;         ///< of the cores (multiprocessors, compute units), at this moment
  std::optional<double> memory_clock_mhz;  ///< at this moment
  std::optional<double> power_w;           ///< of the whole device; on many an average over up to a second
  std::optional<double> temperature_c;     ///< of the device's chip, in degrees Celsius
  /// A running total in joules since some moment of the past: only differences mean something. The counter behind it
  /// advances in steps, each 20 to 100 ms on GPUs and each 1 ms on processors; whoever takes a difference over less
  /// than some ten steps has to call it unknown. It is the energy of the whole device (host: of all processor
  /// packages), whatever else runs there.
  std::optional<double> energy_j;
  /// Why the clocks are held down at this moment: `power cap`, `thermal slowdown`, `hardware slowdown`, ...; empty
  /// where nothing holds them or nothing is told. An idle device and clocks that somebody set are not among the
  /// reasons.
  std::vector<std::string> throttle;
};

// Every backend defines this for its spaces:
//   device_reading read_telemetry(const Exec& instance): neither waits for the instance's work nor starts any. It takes
//   some 10 us on a host (where the energy is readable) and from 50 us to some milliseconds on a GPU, whose driver is
//   asked for each value: call it around a measurement, never inside. Threads may call it at the same time.
#define PRUMO_DECLARE_TELEMETRY(Space) device_reading read_telemetry(const Space& instance);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_TELEMETRY)
#undef PRUMO_DECLARE_TELEMETRY

}  // namespace prumo::machine
