// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Facts, peaks and sensors of the GPU that is present.
#include <prumo/machine/device_facts.hpp>
#include <prumo/machine/telemetry.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

namespace prumo::machine {
namespace {

TEST(cuda_device, facts_and_peaks_lie_within_sane_limits) {
  const Kokkos::Cuda instance;
  const device_facts quick = facts_of(instance, clock_probe::skip);
  EXPECT_EQ(quick.id, "cuda:" + std::to_string(instance.cuda_device()));
  EXPECT_FALSE(quick.name.empty());
  EXPECT_EQ(quick.clock_measured_mhz, std::nullopt);
  EXPECT_GT(quick.cores.value_or(0), 0);
  EXPECT_GT(quick.memory_available_bytes.value_or(0), 0);
  EXPECT_GT(quick.cache_llc_bytes.value_or(0), 0);

  const device_facts facts = facts_of(instance);
  ASSERT_TRUE(facts.clock_measured_mhz && facts.clock_vector_mhz);
  for (const double clock : {*facts.clock_measured_mhz, *facts.clock_vector_mhz}) {
    EXPECT_GT(clock, 200);
    EXPECT_LT(clock, facts.clock_max_mhz.value_or(5000) * 1.02);
  }
  for (const peak& entry : peaks_of(instance, facts)) {
    EXPECT_FALSE(entry.source.empty());
    if (entry.value) {
      EXPECT_GT(*entry.value, 1e9) << entry.source;
    }
  }
}

TEST(cuda_device, sensors_answer_or_say_nothing) {
  const Kokkos::Cuda instance;
  const device_reading first = read_telemetry(instance);
  const device_reading second = read_telemetry(instance);
  EXPECT_EQ(first.energy_j.has_value(), second.energy_j.has_value());
  if (first.energy_j && second.energy_j) {
    EXPECT_GE(*second.energy_j, *first.energy_j);
  }
  if (first.temperature_c) {
    EXPECT_LT(*first.temperature_c, 130);
  }
}

}  // namespace
}  // namespace prumo::machine
