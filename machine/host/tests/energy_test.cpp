// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The energy of processor packages on made-up systems: several packages, counters that start again, no permission.
#include "../package_energy.hpp"
#include "made_up_system.hpp"
#include <prumo/machine/telemetry.hpp>

#include <gtest/gtest.h>

namespace prumo::machine::host {
namespace {

void write_zone(const made_up_system& system, const std::string& zone, const std::string& name,
                const std::string& microjoules) {
  const std::string folder = "/sys/class/powercap/" + zone;
  system.write(folder + "/name", name + "\n");
  system.write(folder + "/energy_uj", microjoules + "\n");
  system.write(folder + "/max_energy_range_uj", "262143328850\n");
}

TEST(package_energy, is_the_sum_over_packages_since_the_first_reading) {
  const made_up_system system;
  write_zone(system, "intel-rapl:0", "package-0", "1000000");
  write_zone(system, "intel-rapl:0:0", "core", "77000000");
  write_zone(system, "intel-rapl:1", "package-1", "5000000");
  package_energy energy(system.files());
  EXPECT_EQ(energy.read(), 0.0);
  write_zone(system, "intel-rapl:0", "package-0", "3000000");
  write_zone(system, "intel-rapl:0:0", "core", "99000000");
  write_zone(system, "intel-rapl:1", "package-1", "5500000");
  EXPECT_DOUBLE_EQ(energy.read().value(), 2.5);
  EXPECT_DOUBLE_EQ(energy.read().value(), 2.5);
}

TEST(package_energy, follows_counters_that_start_again) {
  const made_up_system system;
  write_zone(system, "intel-rapl:0", "package-0", "262143000000");
  package_energy energy(system.files());
  EXPECT_EQ(energy.read(), 0.0);
  write_zone(system, "intel-rapl:0", "package-0", "671150");
  EXPECT_DOUBLE_EQ(energy.read().value(), 1.0);
}

TEST(package_energy, is_unknown_without_counters_or_permission) {
  const made_up_system empty;
  EXPECT_EQ(package_energy(empty.files()).read(), std::nullopt);

  const made_up_system closed;
  write_zone(closed, "intel-rapl:0", "package-0", "1000000");
  closed.write("/sys/class/powercap/intel-rapl:1/name", "package-1\n");
  package_energy energy(closed.files());
  EXPECT_EQ(energy.read(), std::nullopt);
  EXPECT_EQ(energy.read(), std::nullopt);
}

TEST(telemetry, energy_of_the_present_machine_never_falls) {
  const Kokkos::DefaultHostExecutionSpace instance;
  const device_reading first = read_telemetry(instance);
  const device_reading second = read_telemetry(instance);
  EXPECT_EQ(first.energy_j.has_value(), second.energy_j.has_value());
  if (first.energy_j && second.energy_j) {
    EXPECT_GE(*second.energy_j, *first.energy_j);
  }
  EXPECT_TRUE(first.throttle.empty());
}

}  // namespace
}  // namespace prumo::machine::host
