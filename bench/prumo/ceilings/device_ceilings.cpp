// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings/device_ceilings.hpp"

#include "cases/deadlines.hpp"
#include "ceilings/ceilings.hpp"
#include "results/result_fields.hpp"
#include "terminal/progress.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>

namespace prumo::bench {
namespace {

/// The size of one array for the ceilings of memory: far beyond caches, and well inside a device's memory.
double memory_bytes(const fleet_device& device) {
  constexpr double standard = 128.0 * 1024 * 1024;
  const double available = number_of(field(device.entry, "/facts/memory_available_bytes")).value_or(16 * standard);
  double bytes = standard;
  while (bytes * 16 > available && bytes > 1024 * 1024) bytes /= 2;
  return bytes;
}

/// The size of one array of which three stay in the last-level cache together; nothing where its size is not known.
std::optional<double> cache_bytes(const fleet_device& device) {
  const double cache = number_of(field(device.entry, "/facts/cache_llc_bytes")).value_or(0);
  if (cache < 1024 * 1024) return std::nullopt;
  double bytes = 64.0 * 1024;
  while (bytes * 16 <= cache) bytes *= 2;  // half of the cache is left to others
  return bytes;
}

}  // namespace

void measure_device_ceilings(worker_fleet& fleet, std::span<const std::string> dtypes) {
  constexpr double seconds = 1.5;  // for all probes of a type and size
  ceiling_store ceilings(fleet, {});
  progress shown;
  shown.start(0);
  for (std::size_t index = 0; index < fleet.devices().size(); ++index) {
    const fleet_device& device = fleet.devices()[index];
    for (const std::string& dtype : dtypes) {
      shown.update(fmt::format("{}: ceilings of memory, {}", device.id, dtype), 0);
      ceilings.measure(index, dtype, memory_bytes(device), "cold", after_seconds(seconds));
      const auto cached = cache_bytes(device);
      if (!cached) continue;
      shown.update(fmt::format("{}: ceilings of the cache, {}", device.id, dtype), 0);
      ceilings.measure(index, dtype, *cached, "hot", after_seconds(seconds));
    }
  }
  shown.clear();
}

}  // namespace prumo::bench
