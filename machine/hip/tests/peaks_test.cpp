// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Peaks of products whose datasheets have them, and the reasons if they cannot be known.
#include "../portable/hip_peaks.hpp"
#include "../portable/hip_rates.hpp"
#include "known_peaks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace prumo::machine::hip {
namespace {

device_facts gpu(const std::string& name, const std::string& architecture, int compute_units, double clock_mhz,
                 double memory_clock_mhz = 0, int bus_bits = 0) {
  device_facts facts;
  facts.name = name;
  facts.architecture = architecture;
  facts.cores = compute_units;
  facts.clock_max_mhz = clock_mhz;
  if (bus_bits > 0) facts.extras = {{"memory_clock_max_mhz", memory_clock_mhz}, {"memory_bus_bits", bus_bits}};
  return facts;
}

double vector_tera(const device_facts& facts, dtype type) { return tera(peaks_of_hip(facts), peak_unit::vector, type); }
double matrix_tera(const device_facts& facts, dtype type) { return tera(peaks_of_hip(facts), peak_unit::tensor, type); }
double memory_tera(const device_facts& facts) { return tera(peaks_of_hip(facts), peak_unit::memory, std::nullopt); }

/// Both dies of an MI250X together. The runtime shows each of them as a device of its own.
TEST(hip_peaks, mi250x_and_mi210) {
  const auto mi250x = gpu("AMD Instinct MI250X", "gfx90a", 220, 1700, 1600, 8192);
  EXPECT_NEAR(vector_tera(mi250x, dtype::f64), 47.9, 0.05);
  EXPECT_NEAR(vector_tera(mi250x, dtype::f32), 95.7, 0.05);
  EXPECT_NEAR(matrix_tera(mi250x, dtype::f64), 95.7, 0.05);
  EXPECT_NEAR(matrix_tera(mi250x, dtype::f32), 95.7, 0.05);
  EXPECT_NEAR(matrix_tera(mi250x, dtype::f16), 383, 0.5);
  EXPECT_NEAR(matrix_tera(mi250x, dtype::bf16), 383, 0.5);
  EXPECT_NEAR(memory_tera(mi250x), 3.277, 0.001);

  const auto mi210 = gpu("AMD Instinct MI210", "gfx90a:sramecc+:xnack-", 104, 1700, 1600, 4096);
  EXPECT_NEAR(vector_tera(mi210, dtype::f64), 22.6, 0.05);
  EXPECT_NEAR(matrix_tera(mi210, dtype::f64), 45.3, 0.05);
  EXPECT_NEAR(matrix_tera(mi210, dtype::f16), 181, 0.5);
  EXPECT_NEAR(memory_tera(mi210), 1.638, 0.001);
}

TEST(hip_peaks, mi300x_and_mi300a) {
  const auto mi300x = gpu("AMD Instinct MI300X", "gfx942:sramecc+:xnack-", 304, 2100, 1300, 8192);
  EXPECT_NEAR(vector_tera(mi300x, dtype::f64), 81.7, 0.05);
  EXPECT_NEAR(vector_tera(mi300x, dtype::f32), 163.4, 0.05);
  EXPECT_NEAR(matrix_tera(mi300x, dtype::f64), 163.4, 0.05);
  EXPECT_NEAR(matrix_tera(mi300x, dtype::f32), 163.4, 0.05);
  EXPECT_NEAR(matrix_tera(mi300x, dtype::f16), 1307.4, 0.1);
  EXPECT_NEAR(matrix_tera(mi300x, dtype::bf16), 1307.4, 0.1);
  EXPECT_NEAR(memory_tera(mi300x), 5.325, 0.001);

  const auto mi300a = gpu("AMD Instinct MI300A", "gfx942", 228, 2100);
  EXPECT_NEAR(vector_tera(mi300a, dtype::f64), 61.3, 0.05);
  EXPECT_NEAR(matrix_tera(mi300a, dtype::f16), 980.6, 0.1);
}

TEST(hip_peaks, mi100_mi60_and_mi355x) {
  const auto mi100 = gpu("AMD Instinct MI100", "gfx908", 120, 1502, 1200, 4096);
  EXPECT_NEAR(vector_tera(mi100, dtype::f32), 23.1, 0.05);
  EXPECT_NEAR(vector_tera(mi100, dtype::f64), 11.5, 0.05);
  EXPECT_NEAR(matrix_tera(mi100, dtype::f32), 46.1, 0.05);
  EXPECT_NEAR(matrix_tera(mi100, dtype::f16), 184.6, 0.1);
  EXPECT_NEAR(matrix_tera(mi100, dtype::bf16), 92.3, 0.1);
  EXPECT_EQ(matrix_tera(mi100, dtype::f64), 0);
  EXPECT_NEAR(memory_tera(mi100), 1.229, 0.001);

  const auto mi60 = gpu("AMD Radeon Instinct MI60", "gfx906", 64, 1800, 1000, 4096);
  EXPECT_NEAR(vector_tera(mi60, dtype::f32), 14.7, 0.05);
  EXPECT_NEAR(vector_tera(mi60, dtype::f64), 7.4, 0.05);
  EXPECT_NEAR(vector_tera(mi60, dtype::f16), 29.5, 0.05);
  EXPECT_EQ(matrix_tera(mi60, dtype::f16), 0);
  EXPECT_NEAR(memory_tera(mi60), 1.024, 0.001);
  EXPECT_NEAR(vector_tera(gpu("AMD Radeon VII", "gfx906", 60, 1800), dtype::f64), 3.46, 0.01);

  const auto mi355x = gpu("AMD Instinct MI355X", "gfx950", 256, 2400, 2000, 8192);
  EXPECT_NEAR(vector_tera(mi355x, dtype::f32), 157.3, 0.05);
  EXPECT_NEAR(vector_tera(mi355x, dtype::f64), 78.6, 0.05);
  EXPECT_NEAR(matrix_tera(mi355x, dtype::f64), 78.6, 0.05);
  EXPECT_NEAR(matrix_tera(mi355x, dtype::f16), 2516.6, 0.1);
  EXPECT_TRUE(std::isnan(memory_tera(mi355x)));
}

TEST(hip_peaks, consumers_cards) {
  const auto rx7900xtx = gpu("AMD Radeon RX 7900 XTX", "gfx1100", 96, 2500, 1250, 384);
  EXPECT_NEAR(vector_tera(rx7900xtx, dtype::f32), 61.4, 0.05);
  EXPECT_NEAR(vector_tera(rx7900xtx, dtype::f64), 1.92, 0.01);
  EXPECT_NEAR(matrix_tera(rx7900xtx, dtype::f16), 122.8, 0.1);
  EXPECT_NEAR(matrix_tera(rx7900xtx, dtype::bf16), 122.8, 0.1);
  EXPECT_EQ(matrix_tera(rx7900xtx, dtype::f32), 0);
  EXPECT_NEAR(memory_tera(rx7900xtx), 0.960, 0.001);

  const auto rx6900xt = gpu("AMD Radeon RX 6900 XT", "gfx1030", 80, 2250, 1000, 256);
  EXPECT_NEAR(vector_tera(rx6900xt, dtype::f32), 23.04, 0.01);
  EXPECT_NEAR(vector_tera(rx6900xt, dtype::f16), 46.08, 0.01);
  EXPECT_NEAR(vector_tera(rx6900xt, dtype::f64), 1.44, 0.01);
  EXPECT_EQ(matrix_tera(rx6900xt, dtype::f16), 0);
  EXPECT_NEAR(memory_tera(rx6900xt), 0.512, 0.001);

  const auto rx9070xt = gpu("AMD Radeon RX 9070 XT", "gfx1201", 64, 2970);
  EXPECT_NEAR(vector_tera(rx9070xt, dtype::f32), 48.7, 0.05);
  EXPECT_NEAR(matrix_tera(rx9070xt, dtype::f16), 195, 0.5);
  EXPECT_TRUE(std::isnan(vector_tera(rx9070xt, dtype::f16)));
}

TEST(hip_peaks, say_where_each_number_comes_from) {
  device_facts facts = gpu("AMD Instinct MI250X", "gfx90a", 110, 1700, 1600, 4096);
  facts.clock_vector_mhz = 1400;
  const auto peaks = peaks_of_hip(facts);
  EXPECT_EQ(find(peaks, peak_unit::vector, dtype::f32)->source,
            "110 CUs x 256 flop x 1700 MHz; flop per clock of gfx90a; packed, 128 without; the driver's maximum clock");
  EXPECT_EQ(
      find(peaks, peak_unit::vector, dtype::bf16)->source,
      "110 CUs x 256 flop x 1700 MHz; flop per clock of gfx90a; packed, 128 without; bf16 is computed in f32; the "
      "driver's maximum clock");
  EXPECT_EQ(find(peaks, peak_unit::vector, dtype::bf16)->accumulator, dtype::f32);
  const peak* const measured = find(peaks, peak_unit::tensor, dtype::f16, peak_clock::measured);
  EXPECT_EQ(measured->source,
            "110 CUs x 1024 flop x 1400 MHz; dense; flop per clock of gfx90a; clock measured under vector load");
  EXPECT_EQ(measured->accumulator, dtype::f32);
  EXPECT_EQ(find(peaks, peak_unit::memory, std::nullopt)->source,
            "2 x 1600 MHz x 4096 bits / 8; transfers per clock of gfx90a; the driver's maximum memory clock");
  EXPECT_NE(find(peaks_of_hip(gpu("", "gfx1100", 96, 2500)), peak_unit::vector, dtype::f32)
                ->source.find("dual issue, 128 without"),
            std::string::npos);
}

TEST(hip_peaks, what_is_unknown_is_null_with_a_reason) {
  for (const char* architecture : {"", "gfx1299"}) {
    for (const peak& each : peaks_of_hip(gpu("AMD of the future", architecture, 100, 3000, 2000, 4096))) {
      EXPECT_EQ(each.value, std::nullopt);
      EXPECT_FALSE(each.source.empty());
    }
  }
  device_facts facts = gpu("AMD Instinct MI300X", "gfx942", 38, 2100, 1300, 8192);
  facts.extras.push_back({"compute_partition", "CPX"});
  EXPECT_TRUE(std::isnan(memory_tera(facts)));
  EXPECT_NEAR(vector_tera(facts, dtype::f32), 20.4, 0.05);
  facts.clock_max_mhz.reset();
  EXPECT_EQ(find(peaks_of_hip(facts), peak_unit::vector, dtype::f64)->source, "the driver reports no maximum clock");
}

TEST(hip_rates, pairs_of_compute_units_count_as_one_multiprocessor) {
  EXPECT_EQ(compute_units("gfx1100", 48, std::nullopt), 96);
  EXPECT_EQ(compute_units("gfx1100", 48, 96), 96);
  EXPECT_EQ(compute_units("gfx1100", 96, 96), 96);  // the runtime was told to count them singly
  EXPECT_EQ(compute_units("gfx942", 304, std::nullopt), 304);
  EXPECT_EQ(compute_units("gfx942", std::nullopt, 0), std::nullopt);
}

TEST(hip_rates, architectures_as_the_runtime_spells_them) {
  EXPECT_EQ(architecture_name("gfx90a:sramecc+:xnack-"), "gfx90a");
  EXPECT_EQ(architecture_name("gfx1100"), "gfx1100");
}

}  // namespace
}  // namespace prumo::machine::hip
