// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hip_peaks.hpp"

#include "gpu_peaks.hpp"
#include "hip_rates.hpp"

#include <string>
#include <utility>

namespace prumo::machine::hip {

namespace {

constexpr multiprocessor_name compute_unit{"CU", "compute units"};

peak vector_peak(const device_facts& facts, const std::string& architecture, dtype type, peak_clock clock) {
  peak result = blank_peak(peak_unit::vector, type, clock);
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
  set_flop_peak(result, facts, compute_unit, *flops.value, std::to_string(*flops.value) + " flop",
                "flop per clock of " + flops.source + remark);
  return result;
}

peak memory_peak(const device_facts& facts, const std::string& architecture, peak_clock clock) {
  peak result = blank_peak(peak_unit::memory, std::nullopt, clock);
  const auto transfers = memory_transfers(architecture);
  const std::string partition = text_of(facts, "compute_partition");
  if (!partition.empty() && partition != "SPX") {
    result.source = "a compute partition (" + partition + ") shares the memory's bandwidth with its neighbours";
  } else if (!transfers) {
    result.source = "the transfers per clock of the memory are not known for " +
                    (architecture.empty() ? std::string("this GPU") : architecture);
  } else {
    set_memory_peak(result, facts, *transfers, "transfers per clock of " + architecture);
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
    if (const auto flops = matrix_rate(architecture, type)) {
      add_tensor_peaks(peaks, facts, compute_unit, type, flops->value, "flop", flops->source);
    }
  }
  for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
    peaks.push_back(memory_peak(facts, architecture, clock));
  }
  return peaks;
}

}  // namespace prumo::machine::hip
