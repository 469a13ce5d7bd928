// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Computes the theoretical peaks of GPUs: units x flop x clock. Each peak says where its factors come from.

#include "fact_lookup.hpp"

#include <string>

namespace prumo::machine {

/// What a maker calls its multiprocessors.
struct multiprocessor_name {
  const char* one;       ///< `SM`
  const char* in_words;  ///< `multiprocessors`
};

/// A peak that is not known yet.
inline peak blank_peak(peak_unit unit, std::optional<dtype> type, peak_clock clock) {
  peak result;
  result.unit = unit;
  result.type = type;
  result.clock = clock;
  return result;
}

/// Sets a peak to multiprocessors x flops x clock, in flop/s. `work` says in words what one multiprocessor does in one
/// clock, and `rate_source` where that number comes from.
inline void set_flop_peak(peak& result, const device_facts& facts, const multiprocessor_name& name, int flops,
                          const std::string& work, const std::string& rate_source) {
  if (!facts.cores) {
    result.source = std::string("the number of ") + name.in_words + " is not known";
    return;
  }
  const bool at_maximum = result.clock == peak_clock::max;
  const auto measured = facts.clock_vector_mhz ? facts.clock_vector_mhz : facts.clock_measured_mhz;
  const auto megahertz = at_maximum ? facts.clock_max_mhz : measured;
  if (!megahertz) {
    result.source = at_maximum ? "the driver reports no maximum clock" : "the clock was not measured";
    return;
  }
  result.clock_mhz = megahertz;
  result.value = *facts.cores * static_cast<double>(flops) * *megahertz * 1e6;
  result.source = std::to_string(*facts.cores) + " " + name.one + (*facts.cores == 1 ? " x " : "s x ") + work + " x " +
                  whole_digits(*megahertz) + " MHz; " + rate_source +
                  (at_maximum ? "; the driver's maximum clock" : "; clock measured under vector load");
}

/// Sets a peak to transfers per clock x memory clock x width of the bus, in bytes/s. `transfers_source` says where the
/// number of transfers comes from; it is empty if all such memories have the same number.
inline void set_memory_peak(peak& result, const device_facts& facts, int transfers,
                            const std::string& transfers_source) {
  const bool at_maximum = result.clock == peak_clock::max;
  const auto megahertz = number_of(facts, at_maximum ? "memory_clock_max_mhz" : "memory_clock_measured_mhz");
  const auto bits = number_of(facts, "memory_bus_bits");
  if (!bits) {
    result.source = "the width of the memory bus is not known";
  } else if (!megahertz) {
    result.source =
        at_maximum ? "the driver reports no maximum memory clock" : "the memory clock under load was not read";
  } else {
    result.clock_mhz = megahertz;
    result.value = transfers * *megahertz * 1e6 * *bits / 8;
    result.source =
        std::to_string(transfers) + " x " + whole_digits(*megahertz) + " MHz x " + whole_digits(*bits) + " bits / 8" +
        (transfers_source.empty() ? "" : "; " + transfers_source) +
        (at_maximum ? "; the driver's maximum memory clock" : "; memory clock that the driver reported under load");
  }
}

/// Adds the peaks of a tensor unit at both clocks. `flops` is what one multiprocessor does in one clock, and `unit` is
/// the unit of that number. If it is not known, `rate_source` says why. `inputs` is as in machine::peak.
inline void add_tensor_peaks(std::vector<peak>& peaks, const device_facts& facts, const multiprocessor_name& name,
                             dtype type, std::optional<int> flops, const std::string& unit,
                             const std::string& rate_source, std::string_view inputs = {}) {
  for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
    peak result = blank_peak(peak_unit::tensor, type, clock);
    if (dtype_size(type) <= 2) result.accumulator = dtype::f32;
    result.inputs = inputs;
    if (flops) {
      set_flop_peak(result, facts, name, *flops, std::to_string(*flops) + " " + unit,
                    "dense; flop per clock of " + rate_source);
    } else {
      result.source = rate_source;
    }
    peaks.push_back(std::move(result));
  }
}

}  // namespace prumo::machine
