// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a device reports while it works: clocks, power, temperature, energy, and why it is slowed down.

#include <prumo/spaces.hpp>

#include <optional>
#include <string>
#include <vector>

namespace prumo::machine {

/// One reading of a device's sensors. What the device does not report is std::nullopt.
struct device_reading {
  std::optional<double> clock_mhz;         ///< of the cores (multiprocessors, compute units), at this moment
  std::optional<double> memory_clock_mhz;  ///< at this moment
  std::optional<double> power_w;           ///< of the whole device; many devices report an average over up to a second
  std::optional<double> temperature_c;     ///< of the device's chip, in degrees Celsius
  /// A running total in joules since some moment in the past, so only differences mean something. The counter advances
  /// in steps, every 20 to 100 ms on GPUs and every millisecond on processors. A difference over less than about ten
  /// steps has to count as unknown. It is the energy of the whole device (on a host: of all processor packages),
  /// including what other programs use.
  std::optional<double> energy_j;
  /// Why the clocks are held down at this moment: `power cap`, `thermal slowdown`, `hardware slowdown`, ... It is empty
  /// if nothing holds them down, and if the device does not say. An idle device and clocks that somebody set are no
  /// such reasons.
  std::vector<std::string> throttle;
};

// Every backend defines this for its spaces:
//   device_reading read_telemetry(const Exec& instance): neither waits for the instance's work nor starts any. It takes
//   about 10 us on a host that lets its energy be read. On a GPU it takes 50 us to some milliseconds, because the
//   driver is asked for each value. So call it before and after a measurement, never inside. Threads may call it at the
//   same time.
#define PRUMO_DECLARE_TELEMETRY(Space) device_reading read_telemetry(const Space& instance);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_TELEMETRY)
#undef PRUMO_DECLARE_TELEMETRY

}  // namespace prumo::machine
