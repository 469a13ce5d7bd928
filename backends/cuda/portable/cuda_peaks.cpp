// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_peaks.hpp"

#include "cuda_rates.hpp"

#include <cstdio>
#include <string>
#include <string_view>

namespace prumo::backend::cuda {

namespace {

const fact_value* extra(const device_facts& facts, std::string_view name) {
  for (const fact& each : facts.extras) {
    if (each.name == name) return &each.value;
  }
  return nullptr;
}

std::optional<double> number(const device_facts& facts, std::string_view name) {
  const fact_value* const found = extra(facts, name);
  if (found == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&found->value)) return *real;
  return std::nullopt;
}

std::string text(const device_facts& facts, std::string_view name) {
  const fact_value* const found = extra(facts, name);
  const auto* const known = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return known == nullptr ? std::string() : *known;
}

bool is_true(const device_facts& facts, std::string_view name) {
  const fact_value* const found = extra(facts, name);
  const auto* const known = found == nullptr ? nullptr : std::get_if<bool>(&found->value);
  return known != nullptr && *known;
}

std::string digits(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.0f", value);
  return buffer;
}

std::optional<double> clock_of(const device_facts& facts, peak_clock clock) {
  if (clock == peak_clock::max) return facts.clock_max_mhz;
  return facts.clock_vector_mhz ? facts.clock_vector_mhz : facts.clock_measured_mhz;
}

std::string where_clock_comes_from(peak_clock clock) {
  return clock == peak_clock::max ? "; the driver's maximum clock" : "; clock measured under vector load";
}

/// Multiprocessors x flops x clock; `work` is the flops of one in words.
void multiply(const device_facts& facts, int flops, const std::string& work, const std::string& rate_source,
              peak& result) {
  if (!facts.cores) {
    result.source = "the number of multiprocessors is not known";
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
  result.source = std::to_string(*facts.cores) + (*facts.cores == 1 ? " SM x " : " SMs x ") + work + " x " +
                  digits(*megahertz) + " MHz; " + rate_source + where_clock_comes_from(result.clock);
}

const char* lanes_name(dtype type) {
  switch (type) {
    case dtype::f32: return "FP32";
    case dtype::f64: return "FP64";
    case dtype::f16: return "FP16";
    case dtype::bf16: return "BF16";
  }
  return "?";
}

peak vector_peak(const device_facts& facts, compute_capability capability, dtype type, peak_clock clock) {
  peak result;
  result.unit = peak_unit::vector;
  result.type = type;
  result.clock = clock;
  rate lanes = vector_rate(capability, type, facts.name);
  dtype computed = type;
  std::string remark;
  if (dtype_size(type) == 2 && lanes.value) {
    const rate wide = vector_rate(capability, dtype::f32, facts.name);
    if (wide.value && *lanes.value < *wide.value) {
      // A ceiling is what nothing can exceed: code that converts to f32 is faster here.
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
  multiply(facts, 2 * *lanes.value, std::to_string(*lanes.value) + " " + lanes_name(computed) + " lanes x 2",
           "lanes by " + lanes.source, result);
  if (result.value) result.source += remark;
  return result;
}

void add_tensor_peaks(const device_facts& facts, compute_capability capability, dtype type, std::vector<peak>& peaks) {
  const auto flops = tensor_rate(capability, type, facts.name);
  if (!flops) return;
  for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
    peak result;
    result.unit = peak_unit::tensor;
    result.type = type;
    result.clock = clock;
    if (dtype_size(type) == 2) result.accumulator = dtype::f32;
    if (flops->value) {
      multiply(facts, *flops->value, std::to_string(*flops->value) + (type == dtype::f32 ? " TF32 flop" : " flop"),
               "dense; flop a clock by " + flops->source, result);
    } else {
      result.source = flops->source;
    }
    peaks.push_back(std::move(result));
  }
}

peak memory_peak(const device_facts& facts, peak_clock clock) {
  peak result;
  result.unit = peak_unit::memory;
  result.clock = clock;
  const auto megahertz = number(facts, clock == peak_clock::max ? "memory_clock_max_mhz" : "memory_clock_measured_mhz");
  const auto bits = number(facts, "memory_bus_bits");
  if (is_true(facts, "mig")) {
    result.source = "a MIG instance has a part of the memory's bandwidth that is not known";
  } else if (!bits) {
    result.source = "the width of the memory bus is not known";
  } else if (!megahertz) {
    result.source = clock == peak_clock::max ? "the driver tells no maximum memory clock"
                                             : "the memory clock under load was not read";
  } else {
    result.clock_mhz = megahertz;
    result.value = 2 * *megahertz * 1e6 * *bits / 8;
    result.source = "2 x " + digits(*megahertz) + " MHz x " + digits(*bits) + " bits / 8; " +
                    (clock == peak_clock::max ? "the driver's maximum memory clock"
                                              : "memory clock that the driver told under load");
  }
  return result;
}

}  // namespace

std::vector<peak> peaks_of_cuda(const device_facts& facts) {
  const auto capability = parse_capability(text(facts, "compute_capability")).value_or(compute_capability{});
  std::vector<peak> peaks;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
      peaks.push_back(vector_peak(facts, capability, type, clock));
    }
  }
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
    add_tensor_peaks(facts, capability, type, peaks);
  }
  for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) peaks.push_back(memory_peak(facts, clock));
  return peaks;
}

}  // namespace prumo::backend::cuda
