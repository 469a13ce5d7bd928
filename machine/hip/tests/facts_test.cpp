// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Facts of a GPU put together from plain values, without any GPU.
#include "../portable/hip_facts.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace prumo::machine::hip {
namespace {

const fact_value& extra(const device_facts& facts, const std::string& name) {
  for (const fact& each : facts.extras) {
    if (each.name == name) return each.value;
  }
  throw std::logic_error("no fact " + name);
}

TEST(hip_facts, of_a_server_gpu) {
  hip_observation seen;
  seen.runtime.ordinal = 1;
  seen.runtime.name = "AMD Instinct MI250X";
  seen.runtime.target = "gfx90a:sramecc+:xnack-";
  seen.runtime.multiprocessors = 110;
  seen.runtime.clock_max_mhz = 1700;
  seen.runtime.l2_bytes = 8388608;
  seen.runtime.runtime = 60443484;
  const device_facts facts = assemble_facts(seen);
  EXPECT_EQ(facts.id, "hip:1");
  EXPECT_EQ(facts.backend, "hip");
  EXPECT_EQ(facts.vendor, "AMD");
  EXPECT_EQ(facts.architecture, "gfx90a");
  EXPECT_EQ(facts.cores, 110);
  EXPECT_EQ(facts.cache_llc_bytes, 8388608);
  EXPECT_EQ(facts.clock_vector_mhz, std::nullopt);
  EXPECT_EQ(std::get<std::string>(extra(facts, "runtime_hip_version").value), "6.4.43484");
  EXPECT_EQ(std::get<std::string>(extra(facts, "target").value), "gfx90a:sramecc+:xnack-");
  EXPECT_TRUE(std::get<bool>(extra(facts, "ecc").value));
  EXPECT_FALSE(std::get<bool>(extra(facts, "xnack").value));
  EXPECT_FALSE(extra(facts, "memory_bus_bits").is_known());
}

TEST(hip_facts, count_compute_units_not_pairs_of_them) {
  hip_observation seen;
  seen.runtime.target = "gfx1100";
  seen.runtime.multiprocessors = 48;
  const device_facts facts = assemble_facts(seen);
  EXPECT_EQ(facts.cores, 96);
  EXPECT_EQ(std::get<std::int64_t>(extra(facts, "multiprocessors").value), 48);
  EXPECT_FALSE(extra(facts, "ecc").is_known());
}

TEST(hip_facts, of_a_device_that_tells_nothing) {
  const device_facts facts = assemble_facts({});
  EXPECT_EQ(facts.architecture, std::nullopt);
  EXPECT_EQ(facts.cores, std::nullopt);
  EXPECT_FALSE(extra(facts, "runtime_hip_version").is_known());
}

}  // namespace
}  // namespace prumo::machine::hip
