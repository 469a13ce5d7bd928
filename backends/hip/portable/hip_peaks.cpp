// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hip_peaks.hpp"

#include "fact_lookup.hpp"
#include "hip_rates.hpp"

#include <string>
#include <utility>

namespace prumo::backend::hip {

namespace {

std::optional<double> clock_of(const device_facts& facts, peak_clock clock) {
  if (clock == peak_clock::max) return facts.clock_max_mhz;
  return facts.clock_vector_mhz ? facts.clock_vector_mhz : facts.clock_measured_mhz;
}

/// Compute units x flops x clock; `work` is the flops of one in words.
void multiply(const device_facts& facts, int flops, const std::string& work, const std::string& rate_source,
              peak& result) {
  if (!facts.cores) {
    result.source = "the number of compute units is not known";
    return;
  }
  const auto megahertz = clock_of(facts, result.clock);
  if (!megahertz) {
    result.source =
        result.clock == peak_clock::max ? "the driver tells no maximum clock" : "the clock was not measured";
    return;
  }
  result.clock_mhz = megahertz;
  result.value = *facts.cores * static_cast<double>(flops) * *megahertz * 1e6;
  result.source =
      std::to_string(*facts.cores) + (*facts.cores == 1 ? " CU x " : " CUs x ") + work + " x " +
      whole_digits(*megahertz) + " MHz; " + rate_source +
      (result.clock == peak_clock::max ? "; the driver's maximum clock" : "; clock measured under vector load");
}

peak vector_peak(const device_facts& facts, const std::string& architecture, dtype type, peak_clock clock) {
  peak result;
  result.unit = peak_unit::vector;
  result.type = type;
  result.clock = clock;
  rate flops = vector_rate(architecture, type, facts.name);
  std::string remark;
  if (dtype_size(type) == 2 && flops.value == 0) {
    flops = vector_rate(architecture, dtype::f32, facts.name);
    remark = "; " + std::string(dtype_name(type)) + " is computed in f32";
    result.accumulator = dtype::f32;
  }
  if (!flops.value) {
    result.source = flops.source;
    return result;
  }
  if (!flops.pairs.empty()) remark = "; " + flops.pairs + ", " + std::to_string(flops.plain) + " without" + remark;
  multiply(facts, *flops.value, std::to_string(*flops.value) + " flop", "flop a clock by " + flops.source + remark,
           result);
  return result;
}

void add_matrix_peaks(const device_facts& facts, const std::string& architecture, dtype type,
                      std::vector<peak>& peaks) {
  const auto flops = matrix_rate(architecture, type);
  if (!flops) return;
  for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
    peak result;
    result.unit = peak_unit::tensor;
    result.type = type;
    result.clock = clock;
    if (dtype_size(type) == 2) result.accumulator = dtype::f32;
    if (flops->value) {
      multiply(facts, *flops->value, std::to_string(*flops->value) + " flop", "dense; flop a clock by " + flops->source,
               result);
    } else {
      result.source = flops->source;
    }
    peaks.push_back(std::move(result));
  }
}

peak memory_peak(const device_facts& facts, const std::string& architecture, peak_clock clock) {
  peak result;
  result.unit = peak_unit::memory;
  result.clock = clock;
  const auto megahertz =
      number_of(facts, clock == peak_clock::max ? "memory_clock_max_mhz" : "memory_clock_measured_mhz");
  const auto bits = number_of(facts, "memory_bus_bits");
  const auto transfers = memory_transfers(architecture);
  const std::string partition = text_of(facts, "compute_partition");
  if (!partition.empty() && partition != "SPX") {
    result.source = "a compute partition (" + partition + ") shares the memory's bandwidth with its neighbours";
  } else if (!transfers) {
    result.source = "transfers a clock of the memory are not known of " +
                    (architecture.empty() ? std::string("this GPU") : architecture);
  } else if (!bits) {
    result.source = "the width of the memory bus is not known";
  } else if (!megahertz) {
    result.source = clock == peak_clock::max ? "the driver tells no maximum memory clock"
                                             : "the memory clock under load was not read";
  } else {
    result.clock_mhz = megahertz;
    result.value = *transfers * *megahertz * 1e6 * *bits / 8;
    result.source = std::to_string(*transfers) + " x " + whole_digits(*megahertz) + " MHz x " + whole_digits(*bits) +
                    " bits / 8; transfers a clock by " + architecture +
                    (clock == peak_clock::max ? "; the driver's maximum memory clock"
                                              : "; memory clock that the driver told under load");
  }
  return result;
}

}  // namespace

std::vector<peak> peaks_of_hip(const device_facts& facts) {
  const std::string architecture = architecture_name(facts.architecture.value_or(""));
  std::vector<peak> peaks;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
      peaks.push_back(vector_peak(facts, architecture, type, clock));
    }
  }
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
    add_matrix_peaks(facts, architecture, type, peaks);
  }
  for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
    peaks.push_back(memory_peak(facts, architecture, clock));
  }
  return peaks;
}

}  // namespace prumo::backend::hip
