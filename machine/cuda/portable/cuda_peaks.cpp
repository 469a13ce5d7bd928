// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_peaks.hpp"

#include "cuda_rates.hpp"
#include "gpu_peaks.hpp"

#include <string>

namespace prumo::machine::cuda {

namespace {

constexpr multiprocessor_name sm{"SM", "multiprocessors"};

const char* lanes_name(dtype type) {
  switch (type) {
    case dtype::f32: return "FP32";
    case dtype::f64: return "FP64";
    case dtype::f16: return "FP16";
    case dtype::bf16: return "BF16";
    case dtype::f8_e4m3: return "FP8";
    default: break;
  }
  return "?";
}

peak vector_peak(const device_facts& facts, compute_capability capability, dtype type, peak_clock clock) {
  peak result = blank_peak(peak_unit::vector, type, clock);
  rate lanes = vector_rate(capability, type, facts.name);
  dtype computed = type;
  std::string remark;
  if (dtype_size(type) == 2 && lanes.value) {
    const rate wide = vector_rate(capability, dtype::f32, facts.name);
    if (wide.value && *lanes.value < *wide.value) {
      // No code may exceed a ceiling, and code that converts to f32 is faster here.
      remark = *lanes.value == 0 ? "; " + std::string(dtype_name(type)) + " is computed in f32"
                                 : "; computed in f32, faster than the " + std::to_string(*lanes.value) + " lanes of " +
                                       std::string(dtype_name(type));
      lanes = wide;
      computed = dtype::f32;
      result.accumulator = dtype::f32;
    }
  }
  if (!lanes.value) {
    result.source = lanes.source;
    return result;
  }
  set_flop_peak(result, facts, sm, 2 * *lanes.value,
                std::to_string(*lanes.value) + " " + lanes_name(computed) + " lanes x 2", "lanes by " + lanes.source);
  if (result.value) result.source += remark;
  return result;
}

peak memory_peak(const device_facts& facts, peak_clock clock) {
  peak result = blank_peak(peak_unit::memory, std::nullopt, clock);
  if (is_true(facts, "mig")) {
    result.source = "a MIG instance has a part of the memory's bandwidth that is not known";
  } else {
    set_memory_peak(result, facts, 2, "");
  }
  return result;
}

}  // namespace

std::vector<peak> peaks_of_cuda(const device_facts& facts) {
  const auto capability = parse_capability(text_of(facts, "compute_capability")).value_or(compute_capability{});
  std::vector<peak> peaks;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
      peaks.push_back(vector_peak(facts, capability, type, clock));
    }
  }
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f8_e4m3, dtype::f32, dtype::f64}) {
    if (const auto flops = tensor_rate(capability, type, facts.name)) {
      const bool rounds = type == dtype::f32;
      add_tensor_peaks(peaks, facts, sm, type, flops->value, rounds ? "TF32 flop" : "flop", flops->source,
                       rounds ? "tf32" : "");
    }
  }
  for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) peaks.push_back(memory_peak(facts, clock));
  return peaks;
}

}  // namespace prumo::machine::cuda
