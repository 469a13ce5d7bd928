// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Peaks of products whose datasheets have them, and the reasons if they cannot be known.
#include "../portable/cuda_peaks.hpp"
#include "../portable/cuda_rates.hpp"
#include "known_peaks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace prumo::machine::cuda {
namespace {

device_facts gpu(const std::string& name, const std::string& capability, int multiprocessors, double clock_mhz) {
  device_facts facts;
  facts.name = name;
  facts.cores = multiprocessors;
  facts.clock_max_mhz = clock_mhz;
  facts.extras = {{"compute_capability", capability}};
  return facts;
}

device_facts gpu(const std::string& name, const std::string& capability, int multiprocessors, double clock_mhz,
                 double memory_clock_mhz, int bus_bits) {
  device_facts facts = gpu(name, capability, multiprocessors, clock_mhz);
  facts.extras.push_back({"memory_clock_max_mhz", memory_clock_mhz});
  facts.extras.push_back({"memory_bus_bits", bus_bits});
  return facts;
}

double vector_tera(const device_facts& facts, dtype type) {
  return tera(peaks_of_cuda(facts), peak_unit::vector, type);
}
double tensor_tera(const device_facts& facts, dtype type) {
  return tera(peaks_of_cuda(facts), peak_unit::tensor, type);
}
double memory_tera(const device_facts& facts) { return tera(peaks_of_cuda(facts), peak_unit::memory, std::nullopt); }

TEST(cuda_peaks, a100) {
  const auto small = gpu("NVIDIA A100-SXM4-40GB", "8.0", 108, 1410, 1215, 5120);
  EXPECT_NEAR(vector_tera(small, dtype::f32), 19.5, 0.05);
  EXPECT_NEAR(vector_tera(small, dtype::f64), 9.7, 0.05);
  EXPECT_NEAR(vector_tera(small, dtype::f16), 78, 0.5);
  EXPECT_NEAR(vector_tera(small, dtype::bf16), 39, 0.5);
  EXPECT_NEAR(tensor_tera(small, dtype::f16), 312, 0.5);
  EXPECT_NEAR(tensor_tera(small, dtype::bf16), 312, 0.5);
  EXPECT_NEAR(tensor_tera(small, dtype::f32), 156, 0.5);
  EXPECT_NEAR(tensor_tera(small, dtype::f64), 19.5, 0.05);
  EXPECT_NEAR(memory_tera(small), 1.555, 0.001);
  EXPECT_NEAR(memory_tera(gpu("NVIDIA A100-SXM4-80GB", "8.0", 108, 1410, 1593, 5120)), 2.039, 0.001);
}

TEST(cuda_peaks, h100_and_h200) {
  const auto h200 = gpu("NVIDIA H200", "9.0", 132, 1980, 3201, 6016);
  EXPECT_NEAR(vector_tera(h200, dtype::f32), 66.9, 0.05);
  EXPECT_NEAR(vector_tera(h200, dtype::f64), 33.5, 0.05);
  EXPECT_NEAR(vector_tera(h200, dtype::f16), 133.8, 0.1);
  EXPECT_NEAR(vector_tera(h200, dtype::bf16), 133.8, 0.1);
  EXPECT_NEAR(tensor_tera(h200, dtype::f64), 66.9, 0.05);
  EXPECT_NEAR(tensor_tera(h200, dtype::f16), 1070.5, 0.1);
  const auto peaks = peaks_of_cuda(h200);
  EXPECT_EQ(find(peaks, peak_unit::tensor, dtype::f32)->inputs, "tf32");
  EXPECT_EQ(find(peaks, peak_unit::tensor, dtype::f16)->inputs, "");
  EXPECT_NEAR(memory_tera(h200), 4.814, 0.001);
  // The datasheet's figures for the tensor units are at another clock than those for the vector units.
  const auto at_tensor_clock = gpu("NVIDIA H100 80GB HBM3", "9.0", 132, 1830);
  EXPECT_NEAR(tensor_tera(at_tensor_clock, dtype::f16), 989.4, 0.1);
  EXPECT_NEAR(tensor_tera(at_tensor_clock, dtype::bf16), 989.4, 0.1);
  EXPECT_NEAR(tensor_tera(at_tensor_clock, dtype::f32), 494.7, 0.1);
}

TEST(cuda_peaks, v100_p100_and_t4) {
  const auto v100 = gpu("Tesla V100-SXM2-16GB", "7.0", 80, 1530, 877, 4096);
  EXPECT_NEAR(vector_tera(v100, dtype::f32), 15.7, 0.05);
  EXPECT_NEAR(vector_tera(v100, dtype::f64), 7.8, 0.05);
  EXPECT_NEAR(vector_tera(v100, dtype::f16), 31.3, 0.1);
  EXPECT_NEAR(tensor_tera(v100, dtype::f16), 125, 0.5);
  EXPECT_EQ(tensor_tera(v100, dtype::bf16), 0);
  EXPECT_EQ(tensor_tera(v100, dtype::f64), 0);
  EXPECT_NEAR(memory_tera(v100), 0.898, 0.001);

  const auto p100 = gpu("Tesla P100-SXM2-16GB", "6.0", 56, 1480, 715, 4096);
  EXPECT_NEAR(vector_tera(p100, dtype::f32), 10.6, 0.05);
  EXPECT_NEAR(vector_tera(p100, dtype::f64), 5.3, 0.05);
  EXPECT_NEAR(vector_tera(p100, dtype::f16), 21.2, 0.1);
  EXPECT_EQ(tensor_tera(p100, dtype::f16), 0);
  EXPECT_NEAR(memory_tera(p100), 0.732, 0.001);

  const auto t4 = gpu("Tesla T4", "7.5", 40, 1590, 5001, 256);
  EXPECT_NEAR(vector_tera(t4, dtype::f32), 8.1, 0.05);
  EXPECT_NEAR(vector_tera(t4, dtype::f64), 8.1 / 32, 0.01);
  EXPECT_NEAR(tensor_tera(t4, dtype::f16), 65, 0.5);
  EXPECT_NEAR(memory_tera(t4), 0.320, 0.001);
}

TEST(cuda_peaks, geforce_sums_in_f32_at_half_the_rate_and_workstation_cards_do_not) {
  const auto rtx3090 = gpu("NVIDIA GeForce RTX 3090", "8.6", 82, 1695, 9751, 384);
  EXPECT_NEAR(vector_tera(rtx3090, dtype::f32), 35.6, 0.05);
  EXPECT_NEAR(vector_tera(rtx3090, dtype::f16), 35.6, 0.05);
  EXPECT_NEAR(tensor_tera(rtx3090, dtype::f16), 71.2, 0.1);
  EXPECT_NEAR(tensor_tera(rtx3090, dtype::f32), 35.6, 0.05);
  EXPECT_NEAR(memory_tera(rtx3090), 0.936, 0.001);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA RTX A6000", "8.6", 84, 1800), dtype::f16), 154.8, 0.1);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA A10", "8.6", 72, 1695), dtype::f16), 125, 0.5);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA A10G", "8.6", 80, 1710), dtype::f16), 70, 0.5);

  const auto rtx4090 = gpu("NVIDIA GeForce RTX 4090", "8.9", 128, 2520, 10501, 384);
  EXPECT_NEAR(vector_tera(rtx4090, dtype::f32), 82.6, 0.05);
  EXPECT_NEAR(vector_tera(rtx4090, dtype::f64), 1.29, 0.01);
  EXPECT_NEAR(tensor_tera(rtx4090, dtype::f16), 165.2, 0.1);
  EXPECT_NEAR(tensor_tera(rtx4090, dtype::f32), 82.6, 0.05);
  EXPECT_NEAR(memory_tera(rtx4090), 1.008, 0.001);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA RTX 6000 Ada Generation", "8.9", 142, 2505), dtype::f16), 364, 0.5);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA L40S", "8.9", 142, 2490), dtype::f16), 362, 0.5);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA L40", "8.9", 142, 2490), dtype::f16), 181, 0.5);

  EXPECT_NEAR(tensor_tera(gpu("NVIDIA GeForce RTX 5090", "12.0", 170, 2407), dtype::f16), 209.5, 0.1);
  EXPECT_TRUE(std::isnan(tensor_tera(gpu("NVIDIA GeForce RTX 5090 D", "12.0", 170, 2407), dtype::f16)));
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0", 188, 2617), dtype::f16),
              503.8, 0.5);

  EXPECT_NEAR(tensor_tera(gpu("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, 1545), dtype::f16), 53.8, 0.1);
  EXPECT_EQ(tensor_tera(gpu("NVIDIA GeForce GTX 1660 Ti", "7.5", 24, 1770), dtype::f16), 0);
}

TEST(cuda_peaks, products_that_are_not_known_get_no_tensor_peak) {
  const auto peaks = peaks_of_cuda(gpu("NVIDIA Something", "8.6", 10, 1000));
  const peak* const tensor = find(peaks, peak_unit::tensor, dtype::f16);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->value, std::nullopt);
  EXPECT_EQ(tensor->source,
            "some products of compute capability 8.6 sum in f32 at half the rate; whether that is true of NVIDIA "
            "Something is not known");
  EXPECT_TRUE(find(peaks, peak_unit::vector, dtype::f32)->value.has_value());
}

TEST(cuda_peaks, products_with_units_switched_off) {
  const auto h20 = gpu("NVIDIA H20", "9.0", 78, 1980);
  EXPECT_TRUE(std::isnan(tensor_tera(h20, dtype::f16)));
  EXPECT_TRUE(std::isnan(vector_tera(h20, dtype::f64)));
  EXPECT_GT(vector_tera(h20, dtype::f32), 39);
  EXPECT_TRUE(std::isnan(vector_tera(gpu("NVIDIA CMP 170HX", "8.0", 70, 1410), dtype::f32)));
  EXPECT_NEAR(vector_tera(gpu("GeForce GTX TITAN Black", "3.5", 15, 980), dtype::f64), 1.88, 0.01);
  EXPECT_NEAR(vector_tera(gpu("GeForce GTX 780", "3.5", 12, 900), dtype::f64), 0.173, 0.001);
  EXPECT_NEAR(vector_tera(gpu("Tesla K40c", "3.5", 15, 745), dtype::f64), 1.43, 0.01);
}

TEST(cuda_peaks, blackwell) {
  const auto b200 = gpu("NVIDIA B200", "10.0", 148, 1965, 3996, 8192);
  EXPECT_NEAR(vector_tera(b200, dtype::f32), 74.4, 0.1);
  EXPECT_NEAR(vector_tera(b200, dtype::f64), 37.2, 0.1);
  EXPECT_TRUE(std::isnan(vector_tera(b200, dtype::f16)));
  EXPECT_NEAR(tensor_tera(b200, dtype::f64), 37.2, 0.1);
  EXPECT_NEAR(tensor_tera(b200, dtype::f16), 2382, 1);
  EXPECT_NEAR(memory_tera(b200), 8.18, 0.01);
  const auto b300 = gpu("NVIDIA B300 SXM6 AC", "10.3", 148, 2032);
  EXPECT_TRUE(std::isnan(vector_tera(b300, dtype::f64)));
  EXPECT_EQ(tensor_tera(b300, dtype::f64), 0);
  EXPECT_NEAR(tensor_tera(b300, dtype::f16), 2463, 1);
}

TEST(cuda_peaks, f8_is_twice_as_fast_as_f16_where_there_is_any) {
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA GeForce RTX 4090", "8.9", 128, 2520), dtype::f8_e4m3), 330.3, 0.1);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA L40S", "8.9", 142, 2490), dtype::f8_e4m3), 724, 0.5);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA H100 80GB HBM3", "9.0", 132, 1830), dtype::f8_e4m3), 1979, 1);
  EXPECT_NEAR(tensor_tera(gpu("NVIDIA GeForce RTX 5090", "12.0", 170, 2407), dtype::f8_e4m3), 419, 0.1);
  EXPECT_EQ(tensor_tera(gpu("NVIDIA A100-SXM4-40GB", "8.0", 108, 1410), dtype::f8_e4m3), 0);
  EXPECT_EQ(tensor_tera(gpu("NVIDIA A10", "8.6", 72, 1695), dtype::f8_e4m3), 0);
  EXPECT_EQ(tensor_tera(gpu("Orin", "8.7", 16, 1300), dtype::f8_e4m3), 0);
  EXPECT_TRUE(std::isnan(tensor_tera(gpu("NVIDIA GB10", "12.1", 48, 2400), dtype::f8_e4m3)));
  EXPECT_TRUE(std::isnan(tensor_tera(gpu("NVIDIA of the future", "99.0", 100, 3000), dtype::f8_e4m3)));
  const auto peaks = peaks_of_cuda(gpu("NVIDIA H200", "9.0", 132, 1980));
  EXPECT_EQ(find(peaks, peak_unit::tensor, dtype::f8_e4m3)->accumulator, dtype::f32);
  EXPECT_EQ(find(peaks, peak_unit::vector, dtype::f8_e4m3), nullptr);
}

TEST(cuda_peaks, half_precision_without_fast_units_of_its_own_is_computed_in_f32) {
  const auto peaks = peaks_of_cuda(gpu("NVIDIA GeForce GTX 1080", "6.1", 20, 1733));
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    const peak* const half = find(peaks, peak_unit::vector, type);
    EXPECT_EQ(half->value, find(peaks, peak_unit::vector, dtype::f32)->value);
    EXPECT_EQ(half->accumulator, dtype::f32);
    EXPECT_NE(half->source.find("computed in f32"), std::string::npos) << half->source;
  }
  const auto native = peaks_of_cuda(gpu("NVIDIA H200", "9.0", 132, 1980));
  EXPECT_EQ(find(native, peak_unit::vector, dtype::f16)->accumulator, std::nullopt);
}

TEST(cuda_peaks, say_where_each_number_comes_from) {
  device_facts facts = gpu("NVIDIA H200", "9.0", 132, 1980, 3201, 6016);
  facts.clock_vector_mhz = 1755;
  facts.clock_measured_mhz = 1900;
  facts.extras.push_back({"memory_clock_measured_mhz", 3201.0});
  const auto peaks = peaks_of_cuda(facts);
  EXPECT_EQ(find(peaks, peak_unit::vector, dtype::f32)->source,
            "132 SMs x 128 FP32 lanes x 2 x 1980 MHz; lanes by compute capability 9.0; the driver's maximum clock");
  const peak* const measured = find(peaks, peak_unit::vector, dtype::f32, peak_clock::measured);
  EXPECT_DOUBLE_EQ(measured->value.value(), 132 * 128 * 2 * 1755e6);
  EXPECT_EQ(measured->clock_mhz, 1755);
  EXPECT_EQ(find(peaks, peak_unit::tensor, dtype::f16, peak_clock::measured)->source,
            "132 SMs x 4096 flop x 1755 MHz; dense; flop per clock of compute capability 9.0; clock measured under "
            "vector load");
  EXPECT_EQ(find(peaks, peak_unit::tensor, dtype::f16)->accumulator, dtype::f32);
  EXPECT_EQ(find(peaks, peak_unit::memory, std::nullopt)->source,
            "2 x 3201 MHz x 6016 bits / 8; the driver's maximum memory clock");
  EXPECT_TRUE(find(peaks, peak_unit::memory, std::nullopt, peak_clock::measured)->value.has_value());
}

TEST(cuda_peaks, what_is_unknown_is_null_with_a_reason) {
  device_facts facts;
  facts.name = "NVIDIA of the future";
  for (const peak& each : peaks_of_cuda(facts)) {
    EXPECT_EQ(each.value, std::nullopt);
    EXPECT_FALSE(each.source.empty());
  }
  facts = gpu("NVIDIA of the future", "99.0", 100, 3000);
  const auto peaks = peaks_of_cuda(facts);
  EXPECT_EQ(find(peaks, peak_unit::vector, dtype::f32)->source, "compute capability 99.0 is not in the table");
  EXPECT_EQ(find(peaks, peak_unit::tensor, dtype::f16)->source, "compute capability 99.0 is not in the table");
  facts = gpu("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0", 14, 1410, 1215, 5120);
  facts.extras.push_back({"mig", true});
  EXPECT_TRUE(std::isnan(memory_tera(facts)));
  EXPECT_NEAR(vector_tera(facts, dtype::f32), 2.5, 0.1);
}

TEST(cuda_rates, compute_capabilities_as_text) {
  EXPECT_EQ(parse_capability("12.1")->major, 12);
  EXPECT_EQ(parse_capability("12.1")->minor, 1);
  for (const char* wrong : {"", "9", "9.", ".0", "9.0a", "sm_90"}) EXPECT_FALSE(parse_capability(wrong)) << wrong;
  EXPECT_EQ(detail::text_of({9, 0}), "9.0");
}

}  // namespace
}  // namespace prumo::machine::cuda
