// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Facts of a GPU put together from plain values, without any GPU.
#include "../portable/cuda_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo::machine::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

cuda_observation h200() {
  cuda_observation seen;
  seen.runtime.ordinal = 1;
  seen.runtime.name = "NVIDIA H200";
  seen.runtime.uuid = "GPU-11";
  seen.runtime.capability = {9, 0};
  seen.runtime.multiprocessors = 132;
  seen.runtime.clock_max_mhz = 1980;
  seen.runtime.l2_bytes = 62914560;
  seen.runtime.driver = 13000;
  seen.runtime.runtime = 12090;
  seen.runtime.compute_mode = 3;
  seen.nvml.uuid = "GPU-11";
  seen.nvml.cores = 16896;
  seen.nvml.processes = {4711};
  seen.family = {4711};
  seen.nvml.mig = false;
  seen.nvml.power_limit_w = 700;
  seen.nvml.power_limit_default_w = 700;
  seen.nvml.throttle.emplace();
  return seen;
}

const fact_value& extra(const device_facts& facts, const std::string& name) {
  for (const fact& each : facts.extras) {
    if (each.name == name) return each.value;
  }
  throw std::logic_error("no fact " + name);
}

std::string text(const device_facts& facts, const std::string& name) {
  return std::get<std::string>(extra(facts, name).value);
}

TEST(cuda_facts, of_an_idle_gpu) {
  const device_facts facts = assemble_facts(h200());
  EXPECT_EQ(facts.id, "cuda:1");
  EXPECT_EQ(facts.backend, "cuda");
  EXPECT_EQ(facts.architecture, "sm_90");
  EXPECT_EQ(facts.cores, 132);
  EXPECT_EQ(facts.cache_llc_bytes, 62914560);
  EXPECT_EQ(facts.clock_measured_mhz, std::nullopt);
  EXPECT_EQ(text(facts, "compute_capability"), "9.0");
  EXPECT_EQ(text(facts, "driver_cuda_version"), "13.0");
  EXPECT_EQ(text(facts, "runtime_cuda_version"), "12.9");
  EXPECT_EQ(text(facts, "compute_mode"), "exclusive process");
  EXPECT_EQ(std::get<std::int64_t>(extra(facts, "f32_lanes").value), 16896);
  EXPECT_FALSE(extra(facts, "memory_bus_bits").is_known());
  EXPECT_FALSE(extra(facts, "memory_clock_measured_mhz").is_known());
  EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(cuda_facts, warn_of_what_disturbs) {
  cuda_observation seen = h200();
  seen.nvml.processes = {17, 4711, 4712, 18};
  seen.family = {4711, 4712};
  seen.nvml.power_limit_w = 300;
  seen.nvml.throttle = {"thermal slowdown"};
  EXPECT_THAT(assemble_facts(seen).warnings, ElementsAre(HasSubstr("2 other processes have the GPU open"),
                                                         "the power limit is 300 W, below the default of 700 W",
                                                         "the clocks are held down by: thermal slowdown"));
  seen = h200();
  seen.nvml.utilization_percent = 3;  // the worker itself opened it
  EXPECT_THAT(assemble_facts(seen).warnings, IsEmpty());
  seen.nvml.utilization_percent = 97;
  EXPECT_THAT(assemble_facts(seen).warnings,
              ElementsAre(HasSubstr("the GPU was computing for 97 % of the last moment")));
  EXPECT_EQ(std::get<double>(extra(assemble_facts(seen), "utilization_percent").value), 97);
  seen = h200();
  seen.nvml.processes = {4711, 4712};  // both are workers
  seen.family = {4711, 4712};
  EXPECT_THAT(assemble_facts(seen).warnings, IsEmpty());
  EXPECT_EQ(std::get<std::int64_t>(extra(assemble_facts(seen), "other_processes").value), 0);
  seen.nvml.processes = {90017, 90018};  // numbers of the system outside a container
  seen.family.clear();
  EXPECT_THAT(assemble_facts(seen).warnings,
              ElementsAre(HasSubstr("1 other process has the GPU open (a container does not tell whether")));
  seen = h200();
  seen.clocks.emplace();
  seen.clocks->vector_mhz = 1500;
  seen.clocks->under_load.throttle = {"power cap", "power brake"};
  seen.clocks->under_load.memory_clock_mhz = 3201;
  const device_facts measured = assemble_facts(seen);
  EXPECT_EQ(measured.clock_vector_mhz, 1500);
  EXPECT_EQ(std::get<double>(extra(measured, "memory_clock_measured_mhz").value), 3201);
  EXPECT_THAT(measured.warnings, ElementsAre("under load the clocks are held down by: power cap, power brake"));
  seen = h200();
  seen.clocks.emplace();
  seen.clocks->vector_mhz = 2100;
  EXPECT_THAT(assemble_facts(seen).warnings, ElementsAre(HasSubstr("above the maximum")));
}

TEST(cuda_facts, of_a_mig_instance) {
  cuda_observation seen = h200();
  seen.nvml.mig = true;
  seen.runtime.uuid = "GPU-22";
  seen.runtime.multiprocessors = 16;
  const device_facts facts = assemble_facts(seen);
  EXPECT_EQ(text(facts, "uuid"), "MIG-22");
  EXPECT_EQ(text(facts, "gpu_uuid"), "GPU-11");
  EXPECT_EQ(std::get<std::int64_t>(extra(facts, "f32_lanes").value), 2048);
  EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("MIG instance")));
}

TEST(cuda_facts, without_the_management_library) {
  cuda_observation seen = h200();
  seen.nvml = {};
  seen.nvml_problem = "no driver";
  seen.clocks.emplace();
  seen.clocks->vector_mhz = 1500;
  const device_facts facts = assemble_facts(seen);
  EXPECT_EQ(facts.clock_max_mhz, 1980);
  EXPECT_FALSE(extra(facts, "throttle").is_known());
  EXPECT_FALSE(extra(facts, "other_processes").is_known());
  EXPECT_THAT(facts.warnings,
              ElementsAre("power, temperature, energy and throttling of the GPU are not known: no driver"));
}

}  // namespace
}  // namespace prumo::machine::cuda
