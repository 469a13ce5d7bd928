// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_peaks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace prumo::machine::host {

namespace {

/// A number in few digits: `2`, `0.5`, `3741`.
std::string digits(double value) {
  char text[32];
  if (std::abs(value) >= 100) {
    std::snprintf(text, sizeof(text), "%.0f", value);
  } else {
    std::snprintf(text, sizeof(text), "%.3g", value);
  }
  return text;
}

/// The processor time that kernels get, in cores.
double usable_cores(const device_facts& facts) {
  double cores = facts.threads;
  if (facts.cpu_quota) cores = std::min(cores, *facts.cpu_quota);
  return cores;
}

std::optional<double> clock_of(const core_kind& kind, peak_clock clock) {
  if (clock == peak_clock::max) return kind.clock_max_mhz;
  return kind.clock_vector_mhz ? kind.clock_vector_mhz : kind.clock_measured_mhz;
}

/// Why the peak of this kind of core cannot be known; empty if it can.
std::string what_is_unknown(const core_kind& kind, peak_clock clock) {
  if (!kind.cores) return "the number of cores is not known";
  if (!kind.fma_pipes || !kind.vector_bits) {
    return "the number of vector pipes is not known" +
           (kind.fma_pipes_source.empty() ? std::string() : ": " + kind.fma_pipes_source);
  }
  if (clock_of(kind, clock)) return {};
  return clock == peak_clock::max ? "the system reports no maximum clock" : "the clock was not measured";
}

peak vector_peak(const device_facts& facts, dtype type, peak_clock clock) {
  peak result;
  result.unit = peak_unit::vector;
  result.type = type;
  result.clock = clock;
  const bool is_narrow = dtype_size(type) == 2;
  if (is_narrow) result.accumulator = dtype::f32;
  const dtype computed = is_narrow ? dtype::f32 : type;

  if (facts.core_kinds.empty()) {
    result.source = "the number of cores is not known";
    return result;
  }
  double rest = usable_cores(facts);
  double sum = 0;
  std::string product;
  std::string pipes;
  for (const core_kind& kind : facts.core_kinds) {
    const double cores = std::min(rest, static_cast<double>(kind.cores.value_or(0)));
    if (kind.cores && cores <= 0) continue;
    if (const std::string reason = what_is_unknown(kind, clock); !reason.empty()) {
      result.source = reason + (facts.core_kinds.size() > 1 ? " (" + kind.name + " cores)" : "");
      result.clock_mhz.reset();
      return result;
    }
    rest -= cores;
    const double megahertz = *clock_of(kind, clock);
    const double lanes = *kind.vector_bits / (8.0 * static_cast<double>(dtype_size(computed)));
    sum += cores * *kind.fma_pipes * lanes * 2 * megahertz * 1e6;
    if (!result.clock_mhz) result.clock_mhz = megahertz;
    product += (product.empty() ? "" : " + ") + digits(cores) + (kind.name == "core" ? "" : " " + kind.name) +
               (cores == 1 ? " core" : " cores") + " x " + digits(*kind.fma_pipes) +
               (*kind.fma_pipes == 1 ? " pipe" : " pipes") + " x " + digits(lanes) + " lanes x 2 x " +
               digits(megahertz) + " MHz";
    pipes += "; pipes of " + std::to_string(*kind.vector_bits) + " bits: " + kind.fma_pipes_source;
  }
  if (product.empty()) {
    result.source = "no core is left to the threads";
    return result;
  }
  result.value = sum;
  result.source = product + pipes +
                  (clock == peak_clock::max ? "; the system's maximum clock" : "; clock measured under vector load");
  if (facts.cpu_quota && *facts.cpu_quota < facts.threads) result.source += "; cores limited by the control group";
  if (is_narrow) result.source += "; " + std::string(dtype_name(type)) + " is computed in f32";
  return result;
}

bool has(const device_facts& facts, const char* instruction_set) {
  if (!facts.instruction_sets) return false;
  const auto& sets = *facts.instruction_sets;
  return std::find(sets.begin(), sets.end(), instruction_set) != sets.end();
}

void add_tensor_peaks(const device_facts& facts, std::vector<peak>& peaks) {
  const auto add = [&](dtype type, const std::string& units) {
    if (units.empty()) return;
    peak entry;
    entry.unit = peak_unit::tensor;
    entry.type = type;
    entry.accumulator = dtype::f32;
    entry.source = units + ": present, not modelled";
    peaks.push_back(std::move(entry));
  };
  std::string bf16_units = has(facts, "amx_bf16") ? "AMX" : "";
  if (has(facts, "avx512_bf16")) bf16_units += bf16_units.empty() ? "AVX512-BF16" : " and AVX512-BF16";
  if (has(facts, "bf16")) bf16_units = "BFMMLA";
  add(dtype::bf16, bf16_units);
}

}  // namespace

std::vector<peak> peaks_of_host(const device_facts& facts) {
  std::vector<peak> peaks;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    for (const peak_clock clock : {peak_clock::max, peak_clock::measured}) {
      peaks.push_back(vector_peak(facts, type, clock));
    }
  }
  add_tensor_peaks(facts, peaks);
  peak memory;
  memory.unit = peak_unit::memory;
  memory.source = facts.virtual_machine.value_or(false)
                      ? "not known: a virtual machine does not show the memory modules"
                      : "not known without DMI, which tells the number and speed of the memory modules";
  peaks.push_back(std::move(memory));
  return peaks;
}

}  // namespace prumo::machine::host
