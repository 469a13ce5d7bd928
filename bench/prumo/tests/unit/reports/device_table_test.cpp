// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/device_table.hpp"

#include "sample_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace prumo::bench {
namespace {

using nlohmann::json;

TEST(devices_table, tells_facts_peaks_and_ceilings) {
  EXPECT_EQ(devices_table(json::array({testing::sample_device()}), {}), R"(openmp:0  Example CPU
  threads used        2
  vendor              Example
  cores               2
  vector width, bits  256
  instruction sets    avx2, fma
  maximum clock       n/a
  measured clock      3100 MHz
  last-level cache    32MiB
  memory              8GiB
  governor            n/a
  power limit         65.0 W
  hypervisor          yes
  peak    type        value  clock              from
  vector  f32           n/a  max                maximum clock unknown: no cpufreq
  vector  f32   198 GFLOP/s  measured 3100 MHz  2 cores x 2 pipes x 8 lanes x 2 x 3100 MHz; pipes
                                                measured
  all rows: type f32
  measured ceiling    size  cache        value
  triad             128MiB  cold     47.6 GB/s
  fma                 2MiB  hot    190 GFLOP/s
)");
}

TEST(devices_table, of_none) { EXPECT_EQ(devices_table(json::array(), {}), "No devices.\n"); }

TEST(devices_table, of_a_device_that_tells_nothing) {
  const json device = {{"id", "cuda:0"},           {"backend", "cuda"},       {"name", nullptr},
                       {"threads", nullptr},       {"facts", json::object()}, {"peaks", json::array()},
                       {"ceilings", json::array()}};
  EXPECT_EQ(devices_table(json::array({device}), {}), "cuda:0  n/a\n  peaks: none known\n");
}

TEST(devices_table, is_harmless_and_fits) {
  json device = testing::sample_device();
  device["name"] = "\x1b[31mred" + std::string(300, 'x');
  device["facts"]["vendor"] = "\x07" + std::string(500, 'y');
  device["facts"]["odd\x1b"] = {{"nested", {1, 2, {{"deep", nullptr}}}}};
  device["peaks"][0]["source"] = std::string(400, 'z');
  for (const int width : {20, 40, 80, 120}) {
    text_style style;
    style.width = width;
    const std::string table = devices_table(json::array({device, testing::sample_device("cuda:0")}), style);
    EXPECT_EQ(table.find('\x1b'), std::string::npos);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

}  // namespace
}  // namespace prumo::bench
