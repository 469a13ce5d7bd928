// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Peaks as products of given numbers, identities of processors, and the measurements within sane limits.
#include "../clock_probe.hpp"
#include "../host_peaks.hpp"
#include "../processor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace prumo::machine::host {
namespace {

using namespace std::chrono_literals;

device_facts machine_of(int cores, double pipes, int bits, double clock_mhz) {
  device_facts facts;
  facts.threads = cores;
  core_kind kind;
  kind.name = "core";
  kind.cores = cores;
  kind.fma_pipes = pipes;
  kind.vector_bits = bits;
  kind.fma_pipes_source = "given";
  kind.clock_vector_mhz = clock_mhz;
  facts.core_kinds = {kind};
  return facts;
}

const peak& find(const std::vector<peak>& peaks, dtype type, peak_clock clock) {
  for (const peak& candidate : peaks) {
    if (candidate.unit == peak_unit::vector && candidate.type == type && candidate.clock == clock) return candidate;
  }
  throw std::logic_error("no such peak");
}

double flops_per_core_and_clock(double pipes, int bits, dtype type) {
  const auto peaks = peaks_of_host(machine_of(1, pipes, bits, 1000));
  return find(peaks, type, peak_clock::measured).value.value() / 1e9;
}

TEST(host_peaks, flops_per_core_and_clock_of_known_processors) {
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(2, 256, dtype::f32), 32);  // AVX2, Haswell to Zen 3
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(2, 512, dtype::f32), 64);  // AVX-512, Intel servers, Zen 5
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(1, 512, dtype::f32), 32);  // Zen 4: two cycles a vector
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(2, 128, dtype::f32), 16);  // Neoverse N1, N2
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(2, 256, dtype::f32), 32);  // Neoverse V1
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(4, 128, dtype::f32), 32);  // Neoverse V2
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(2, 512, dtype::f64), 32);
  EXPECT_DOUBLE_EQ(flops_per_core_and_clock(2, 512, dtype::bf16), 64);  // computed in f32
}

TEST(host_peaks, unknown_clock_is_no_peak) {
  const auto peaks = peaks_of_host(machine_of(4, 2, 256, 3000));
  const peak& at_max = find(peaks, dtype::f32, peak_clock::max);
  EXPECT_EQ(at_max.value, std::nullopt);
  EXPECT_EQ(at_max.clock_mhz, std::nullopt);
  EXPECT_EQ(at_max.source, "the system reports no maximum clock");
  const peak& measured = find(peaks, dtype::f32, peak_clock::measured);
  EXPECT_DOUBLE_EQ(measured.value.value(), 4 * 32 * 3e9);
  EXPECT_EQ(measured.clock_mhz, 3000);
  EXPECT_NE(measured.source.find("4 cores x 2 pipes x 8 lanes x 2 x 3000 MHz"), std::string::npos) << measured.source;
}

TEST(host_peaks, every_kind_of_core_adds_its_part) {
  device_facts facts = machine_of(2, 2, 256, 4000);
  facts.core_kinds[0].name = "performance";
  facts.core_kinds.push_back(facts.core_kinds[0]);
  facts.core_kinds[1].name = "efficiency";
  facts.core_kinds[1].cores = 4;
  facts.core_kinds[1].fma_pipes = 1;
  facts.core_kinds[1].clock_vector_mhz = 3000;
  facts.threads = 6;
  EXPECT_DOUBLE_EQ(find(peaks_of_host(facts), dtype::f32, peak_clock::measured).value.value(),
                   2 * 32 * 4e9 + 4 * 16 * 3e9);
  facts.threads = 3;  // the fastest cores first
  EXPECT_DOUBLE_EQ(find(peaks_of_host(facts), dtype::f32, peak_clock::measured).value.value(),
                   2 * 32 * 4e9 + 1 * 16 * 3e9);
  facts.core_kinds[1].fma_pipes.reset();
  EXPECT_EQ(find(peaks_of_host(facts), dtype::f32, peak_clock::measured).value, std::nullopt);
  facts.threads = 2;
  EXPECT_DOUBLE_EQ(find(peaks_of_host(facts), dtype::f32, peak_clock::measured).value.value(), 2 * 32 * 4e9);
}

TEST(host_peaks, threads_and_quota_limit_the_cores) {
  device_facts facts = machine_of(8, 2, 256, 3000);
  facts.threads = 4;
  EXPECT_DOUBLE_EQ(find(peaks_of_host(facts), dtype::f32, peak_clock::measured).value.value(), 4 * 32 * 3e9);
  facts.threads = 16;  // two a core
  EXPECT_DOUBLE_EQ(find(peaks_of_host(facts), dtype::f32, peak_clock::measured).value.value(), 8 * 32 * 3e9);
  facts.cpu_quota = 1.5;
  const auto peaks = peaks_of_host(facts);
  EXPECT_DOUBLE_EQ(find(peaks, dtype::f32, peak_clock::measured).value.value(), 1.5 * 32 * 3e9);
  EXPECT_NE(find(peaks, dtype::f32, peak_clock::measured).source.find("control group"), std::string::npos);
}

TEST(host_peaks, units_that_are_not_modelled_say_so) {
  device_facts facts = machine_of(1, 2, 512, 2000);
  facts.instruction_sets = {"avx512f", "avx512_bf16", "amx_tile", "amx_bf16"};
  int tensor = 0;
  for (const peak& entry : peaks_of_host(facts)) {
    if (entry.unit == peak_unit::tensor) {
      ++tensor;
      EXPECT_EQ(entry.value, std::nullopt);
      EXPECT_EQ(entry.source, "AMX and AVX512-BF16: present, not modelled");
    }
    if (entry.unit == peak_unit::memory) {
      EXPECT_EQ(entry.value, std::nullopt);
      EXPECT_NE(entry.source.find("not known without DMI"), std::string::npos);
    }
  }
  EXPECT_EQ(tensor, 1);
}

TEST(processor, instruction_sets_need_the_system_too) {
  x86_feature_words words;
  words.leaf1_edx = 1u << 26;
  words.leaf1_ecx = (1u << 28) | (1u << 12) | (1u << 29);
  words.leaf7_ebx = (1u << 5) | (1u << 16);
  words.enabled_states = 0x6;  // the system keeps 256-bit registers, not those of 512 bits
  EXPECT_EQ(x86_instruction_sets(words), (std::vector<std::string>{"sse2", "avx", "f16c", "fma", "avx2"}));
  words.enabled_states = 0xe7;
  EXPECT_EQ(vector_bits_of(x86_instruction_sets(words)), 512);
  words.enabled_states = 0;
  EXPECT_EQ(x86_instruction_sets(words), std::vector<std::string>{"sse2"});
}

TEST(processor, arm_features_and_parts) {
  EXPECT_EQ(arm_instruction_sets("fp asimd evtstrm asimdhp sve bf16"),
            (std::vector<std::string>{"neon", "neon_fp16", "sve", "bf16"}));
  EXPECT_EQ(vector_bits_of({"neon"}), 128);
  EXPECT_EQ(vector_bits_of({"neon", "sve"}), std::nullopt);
  EXPECT_EQ(arm_core_name(0x41, 0xd0c), "Neoverse-N1");
  EXPECT_EQ(arm_core_name(0x41, 0xfff), "");
}

double known_flops(const processor& subject) {
  const auto units = known_fma_units(subject);
  return units ? units->pipes * units->bits / 32 * 2 : 0;
}

TEST(processor, table_of_vector_units) {
  processor subject;
  subject.vendor = "AMD";
  subject.family = 0x19;
  subject.model = 0x11;
  EXPECT_EQ(known_flops(subject), 32);  // Zen 4
  subject.family = 0x1a;
  subject.model = 0x02;
  EXPECT_EQ(known_flops(subject), 64);  // Zen 5
  subject.vendor = "Intel";
  subject.family = 6;
  subject.model = 0x3f;
  EXPECT_EQ(known_flops(subject), 32);  // Haswell
  subject.model = 0x55;
  EXPECT_EQ(known_flops(subject), 0);  // Skylake server: by product
  processor arm;
  arm.implementer = 0x41;
  arm.part = 0xd0c;
  EXPECT_EQ(known_flops(arm), 16);
  arm.part = 0xd40;
  EXPECT_EQ(known_flops(arm), 32);
}

TEST(clock_probe, whole_numbers_of_pipes) {
  EXPECT_EQ(pipes_of_rate(1.97), 2.0);
  EXPECT_EQ(pipes_of_rate(0.98), 1.0);
  EXPECT_EQ(pipes_of_rate(0.5), 0.5);
  EXPECT_EQ(pipes_of_rate(1.5), std::nullopt);
  EXPECT_EQ(pipes_of_rate(0.1), std::nullopt);
}

TEST(clock_probe, clocks_lie_within_sane_limits) {
  if constexpr (!has_integer_chain) GTEST_SKIP() << "no chain of additions for this architecture";
  const auto now = probe_clock::now();
  const auto clock = measure_light_clock(now + 5ms, now + 15ms);
  ASSERT_TRUE(clock.has_value());
  EXPECT_GT(*clock, 500);
  EXPECT_LT(*clock, 7000);
}

TEST(clock_probe, no_core_starts_more_than_eight_vectors_a_cycle) {
  const auto kernels = fma_kernels(identify_processor(system_files()).instruction_sets);
  if (kernels.empty() || !has_integer_chain) GTEST_SKIP() << "no vector kernel for this processor";
  for (const fma_kernel& kernel : kernels) {
    // Another program may have the core for all of a measurement, but not for each of many.
    double largest = 0;
    for (int attempt = 0; attempt < 50 && largest <= 0.05; ++attempt) {
      const auto rate = measure_fma_rate(kernel, 4ms);
      ASSERT_TRUE(rate.has_value());
      largest = std::max(largest, *rate);
    }
    EXPECT_GT(largest, 0.05) << kernel.name;
    EXPECT_LT(largest, 8) << kernel.name;
  }
}

TEST(facts, of_the_present_machine) {
  const Kokkos::DefaultHostExecutionSpace instance;
  const device_facts quick = facts_of(instance, clock_probe::skip);
  EXPECT_FALSE(quick.name.empty());
  EXPECT_EQ(quick.id, quick.backend + ":0");
  EXPECT_EQ(quick.threads, concurrency_of(instance));
  EXPECT_EQ(quick.clock_measured_mhz, std::nullopt);

  const device_facts facts = facts_of(instance);
  if (facts.clock_measured_mhz) {
    EXPECT_GT(*facts.clock_measured_mhz, 500);
    EXPECT_LT(*facts.clock_measured_mhz, 7000);
  }
  for (const fact& each : flattened(facts)) {
    EXPECT_FALSE(each.name.empty());
    // What is unknown is null, never zero.
    if (const auto* number = std::get_if<std::int64_t>(&each.value.value)) {
      EXPECT_NE(*number, 0) << each.name;
    }
    if (const auto* number = std::get_if<double>(&each.value.value)) {
      EXPECT_GT(*number, 0) << each.name;
    }
  }
  for (const peak& entry : peaks_of(instance, facts)) {
    EXPECT_FALSE(entry.source.empty());
    if (entry.value) {
      EXPECT_GT(*entry.value, 0);
    }
  }
}

}  // namespace
}  // namespace prumo::machine::host
