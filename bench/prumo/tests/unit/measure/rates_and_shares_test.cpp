// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rates/rates_and_shares.hpp"

#include "results/results_file.hpp"
#include "sample_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// z = x + y over 2^20 floats in 1 ms: 12.58 MB at 12.58 GB/s under a triad of 25 GB/s and 100 GFLOP/s.
timed_call addition() {
  timed_call input;
  input.seconds = 1e-3;
  input.model = {3.0 * 4 * 1048576, 1048576.0, 1048576.0, "vector"};
  input.counted_flops = 1048576;
  input.peaks = {200e9, 180e9};
  input.ceilings = {30e9, 25e9, 40e9, {}, 100e9, {}};
  input.roof = memory_roof::triad;
  return input;
}

TEST(rates_and_shares, a_memory_bound_case_by_hand) {
  const rates_and_shares figures = compute_rates_and_shares(addition());
  EXPECT_DOUBLE_EQ(*figures.gflops, 1.048576);
  EXPECT_DOUBLE_EQ(*figures.gbytes, 12.582912);
  EXPECT_DOUBLE_EQ(*figures.gelements, 1.048576);
  EXPECT_DOUBLE_EQ(*figures.percent_peak_max_clock, 0.524288);
  EXPECT_NEAR(*figures.percent_peak_measured_clock, 0.582542, 1e-6);
  // 12.582912 MB / 25 GB/s = 0.50331648 ms, the flops take 0.0105 ms.
  EXPECT_NEAR(*figures.percent_roofline, 50.331648, 1e-9);
  EXPECT_EQ(figures.bound, "memory");
  EXPECT_THAT(figures.warnings, IsEmpty());
}

TEST(rates_and_shares, a_compute_bound_case_by_hand) {
  timed_call input;
  input.seconds = 0.2;
  input.model = {50331648.0, 17179869184.0, 4194304.0, "vector"};
  input.counted_flops = 17179869184.0;
  input.peaks = {std::nullopt, 110e9};
  input.ceilings = {30e9, 25e9, 40e9, {}, 100e9, {}};
  const rates_and_shares figures = compute_rates_and_shares(input);
  EXPECT_NEAR(*figures.gflops, 85.89934592, 1e-9);
  EXPECT_FALSE(figures.percent_peak_max_clock);
  EXPECT_NEAR(*figures.percent_peak_measured_clock, 78.0903145, 1e-6);
  EXPECT_NEAR(*figures.percent_roofline, 85.89934592, 1e-9);
  EXPECT_EQ(figures.bound, "compute");
}

TEST(rates_and_shares, the_roof_is_of_the_case_s_own_pattern) {
  timed_call input = addition();
  const auto at = [&](memory_roof roof) {
    input.roof = roof;
    return *compute_rates_and_shares(input).percent_roofline;
  };
  EXPECT_NEAR(at(memory_roof::copy), 12.582912 / 30 * 100, 1e-9);
  EXPECT_NEAR(at(memory_roof::read), 12.582912 / 40 * 100, 1e-9);
  EXPECT_NEAR(at(memory_roof::best), 12.582912 / 40 * 100, 1e-9);
  input.ceilings.triad = std::nullopt;
  EXPECT_NEAR(at(memory_roof::triad), 12.582912 / 40 * 100, 1e-9);
}

TEST(roof_of, goes_by_the_bytes_that_are_moved) {
  EXPECT_EQ(roof_of(1.0, 1), memory_roof::write) << "one array, and every operation writes something";
  EXPECT_EQ(roof_of(1.0, 2), memory_roof::read) << "a sum: the result is small";
  EXPECT_EQ(roof_of(2.0, 2), memory_roof::copy);
  EXPECT_EQ(roof_of(2.0, 1), memory_roof::copy) << "in place";
  EXPECT_EQ(roof_of(3.0, 3), memory_roof::triad);
  EXPECT_EQ(roof_of(std::nullopt, 0), memory_roof::best);
  EXPECT_EQ(roof_of(std::nullopt, 1), memory_roof::write);
  EXPECT_EQ(roof_of(std::nullopt, 2), memory_roof::copy);
  EXPECT_EQ(roof_of(std::nullopt, 7), memory_roof::triad);
}

TEST(find_memory_ceiling, stands_in_for_what_was_not_measured) {
  measured_ceilings ceilings;
  ceilings.copy = 30;
  ceilings.triad = 35;
  ceilings.read = 50;
  EXPECT_EQ(find_memory_ceiling(ceilings, memory_roof::read)->probe, "read");
  const auto write = find_memory_ceiling(ceilings, memory_roof::write);
  EXPECT_EQ(write->probe, "triad") << "a read says nothing of writing";
  EXPECT_FALSE(write->same_traffic);
  ceilings.write = 20;
  EXPECT_EQ(find_memory_ceiling(ceilings, memory_roof::write)->value, 20);
  EXPECT_FALSE(find_memory_ceiling({}, memory_roof::best));
}

TEST(rates_and_shares, unknown_stays_unknown) {
  timed_call input;
  input.seconds = 1;
  rates_and_shares figures = compute_rates_and_shares(input);
  EXPECT_FALSE(figures.gflops || figures.gbytes || figures.gelements || figures.percent_peak_max_clock ||
               figures.percent_peak_measured_clock || figures.percent_roofline || figures.bound);

  input = addition();
  input.counted_flops = std::nullopt;  // a peer that cannot count: the model must not stand in
  figures = compute_rates_and_shares(input);
  EXPECT_FALSE(figures.gflops);
  EXPECT_FALSE(figures.percent_peak_max_clock);
  EXPECT_TRUE(figures.percent_roofline);

  input = addition();
  input.ceilings.fma = std::nullopt;
  EXPECT_FALSE(compute_rates_and_shares(input).percent_roofline);
  EXPECT_FALSE(compute_rates_and_shares(input).bound);
  input.model.flops = 0;  // a copy needs no arithmetic ceiling
  EXPECT_NEAR(*compute_rates_and_shares(input).percent_roofline, 50.331648, 1e-9);

  for (const double seconds : {0.0, -1.0, std::nan("")}) {
    input = addition();
    input.seconds = seconds;
    EXPECT_FALSE(compute_rates_and_shares(input).gbytes);
  }
}

TEST(rates_and_shares, above_a_hundred_percent_is_loud) {
  timed_call input = addition();
  input.seconds = 0.5e-3;
  EXPECT_NEAR(*compute_rates_and_shares(input).percent_roofline, 100.663296, 1e-9);
  EXPECT_THAT(compute_rates_and_shares(input).warnings, IsEmpty()) << "a measured ceiling has a spread";
  input.seconds = 0.25e-3;
  EXPECT_THAT(compute_rates_and_shares(input).warnings,
              ElementsAre(HasSubstr("IMPOSSIBLE: 201 % of the measured ceiling")));
  input.ceilings.launch = 0.08e-3;
  EXPECT_THAT(compute_rates_and_shares(input).warnings, ElementsAre(HasSubstr("IMPOSSIBLE")));
  input.ceilings.launch = 0.09e-3;
  EXPECT_THAT(compute_rates_and_shares(input).warnings, ElementsAre(HasSubstr("UNSTEADY: 201 %")))
      << "the probe of so short a call is little but a launch, and takes no longer";
  EXPECT_EQ(compute_rates_and_shares(input).bound, "memory") << "two launches are shorter than the call";
  input.ceilings.launch = 0.13e-3;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "launch");
  input.seconds = 0.4e-3;
  input.ceilings.launch = 0.14e-3;
  EXPECT_THAT(compute_rates_and_shares(input).warnings, IsEmpty()) << "126 %: launches vary";
  input.seconds = 0.25e-3;
  input.ceilings.launch = std::nullopt;
  input.fastest_ceilings = input.ceilings;
  input.fastest_ceilings.triad = 4 * *input.ceilings.triad;
  EXPECT_THAT(compute_rates_and_shares(input).warnings,
              ElementsAre(HasSubstr("UNSTEADY: 201 % of the measured ceiling")));
  input.ceilings.triad = std::nullopt;  // another traffic stands in for it
  EXPECT_THAT(compute_rates_and_shares(input).warnings, IsEmpty());
  input = addition();
  input.peaks = {1.0e9, 0.9e9};
  EXPECT_THAT(compute_rates_and_shares(input).warnings, ElementsAre(HasSubstr("105 % of the peak at the maximum clock"),
                                                                    HasSubstr("the peak at the measured clock")));
}

TEST(rates_and_shares, below_the_launch_floor_the_launch_is_the_bound) {
  timed_call input = addition();
  input.ceilings.launch = 3e-6;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "memory");
  input.model.bytes = 12;
  input.model.flops = 1;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "launch");
}

TEST(rates_and_shares, memory_is_no_bound_of_what_counts_kinds_without_a_rate) {
  timed_call input = addition();
  for (const char* kind : {"tanh", "div", "sin"}) {
    input.counted = {{kind, 8}, {"total", 8}, {"source", "kernel"}};
    EXPECT_EQ(compute_rates_and_shares(input).bound, "other") << kind;
  }
  input.counted = {{"add", 8}, {"minmax", 8}, {"exp", 0}, {"total", 8}};
  EXPECT_EQ(compute_rates_and_shares(input).bound, "memory");
  input.counted = {{"tanh", 8}, {"total", 8}};
  EXPECT_NEAR(*compute_rates_and_shares(input).percent_roofline, 50.331648, 1e-9) << "the share of memory alone";
  input.model.bytes = 4;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "compute") << "the multiply-adds alone take longer than memory";
}

TEST(rates_and_shares, the_slowest_kind_is_the_bound_and_kinds_do_not_add_up) {
  timed_call input = addition();  // memory allows 0.503 ms
  input.counted = {{"exp", 1048576}, {"div", 1048576}, {"total", 2097152}};
  input.ceilings.kinds = {{"exp", 1048576 / 0.4e-3}, {"div", 1048576 / 0.3e-3}};
  EXPECT_EQ(compute_rates_and_shares(input).bound, "memory");
  EXPECT_EQ(compute_rates_and_shares(input).compute_from, "exp_rate");
  EXPECT_NEAR(*compute_rates_and_shares(input).percent_roofline, 50.331648, 1e-9);
  input.ceilings.kinds["exp"] = 1048576 / 0.8e-3;
  const rates_and_shares figures = compute_rates_and_shares(input);
  EXPECT_EQ(figures.bound, "compute");
  EXPECT_EQ(figures.compute_from, "exp_rate");
  EXPECT_NEAR(*figures.percent_roofline, 80, 1e-9) << "of 1 ms";
  EXPECT_NEAR(*figures.compute, 1048576 / 0.8e-3, 1) << "flops of the model a second";
  input.ceilings.kinds["div"] = std::nullopt;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "compute") << "a floor that is known holds without the others";
}

TEST(rates_and_shares, products_bound_what_a_tensor_unit_computes) {
  timed_call input = addition();
  input.model.flops = 1e9;
  input.uses_tensor_unit = true;
  EXPECT_FALSE(compute_rates_and_shares(input).percent_roofline) << "multiply-adds are none";
  input.ceilings.product = 2e12;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "memory");
  input.ceilings.product = 1.25e12;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "compute");
  EXPECT_EQ(compute_rates_and_shares(input).compute_from, "product");
  EXPECT_NEAR(*compute_rates_and_shares(input).percent_roofline, 80, 1e-9);
  input.ceilings.product = 0.5e12;
  EXPECT_NEAR(*compute_rates_and_shares(input).percent_roofline, 100, 1e-9) << "no faster product is known";
  EXPECT_NEAR(*compute_rates_and_shares(input).compute, 1e12, 1);
  EXPECT_THAT(compute_rates_and_shares(input).warnings, IsEmpty());
}

TEST(rates_and_shares, copies_bound_calls_with_transferred_data) {
  timed_call input = addition();
  input.copied = timed_call::copies{8e6, 4e6};
  EXPECT_FALSE(compute_rates_and_shares(input).percent_roofline);
  EXPECT_FALSE(compute_rates_and_shares(input).bound);
  input.ceilings.h2d = 20e9;
  input.ceilings.d2h = 10e9;
  EXPECT_NEAR(*compute_rates_and_shares(input).percent_roofline, 80, 1e-9) << "0.4 ms and 0.4 ms of 1 ms";
  EXPECT_EQ(compute_rates_and_shares(input).bound, "transfer");
  input.seconds = 2e-3;
  EXPECT_EQ(compute_rates_and_shares(input).bound, "other") << "most of the time goes elsewhere";
  input.seconds = 0.5e-3;
  EXPECT_THAT(compute_rates_and_shares(input).warnings,
              ElementsAre(HasSubstr("IMPOSSIBLE: 160 % of the measured ceiling")));
}

TEST(rates_and_shares, a_share_has_the_interval_of_its_time_and_of_its_ceiling) {
  json result = blank_result();
  timed_call input = addition();
  result["time_s"] = {{"median", 1e-3}, {"interval", {{"low", 0.97e-3}, {"high", 1.03e-3}, {"confidence", 0.95}}}};
  compute_rates_and_shares(input).store(result);
  EXPECT_TRUE(result["percent"]["roofline_interval"].is_null()) << "nothing is known of the ceiling";
  input.ceiling_intervals = {{"triad", {0.96, 1.04}}, {"fma", {0.5, 2}}};
  compute_rates_and_shares(input).store(result);
  EXPECT_NEAR(result["roof"]["floor_s"].get<double>(), 0.50331648e-3, 1e-12);
  EXPECT_NEAR(result["roof"]["floor_interval"]["low"].get<double>(), 0.96 * 0.50331648e-3, 1e-12);
  const json& interval = result["percent"]["roofline_interval"];
  // 3 % and 4 % are 5 % together.
  EXPECT_NEAR(interval["low"].get<double>(), 0.951 * 50.33, 0.1);
  EXPECT_NEAR(interval["high"].get<double>(), 1.051 * 50.33, 0.1);
  EXPECT_EQ(interval["confidence"], 0.95);
}

TEST(rates_and_shares, stores_what_the_schema_wants) {
  json result = blank_result();
  result["warnings"] = {"earlier"};
  timed_call input = addition();
  input.peaks = {1.0e9, std::nullopt};
  compute_rates_and_shares(input).store(result);
  EXPECT_DOUBLE_EQ(result["rates"]["gbytes"].get<double>(), 12.582912);
  EXPECT_TRUE(result["percent"]["peak_measured_clock"].is_null());
  EXPECT_EQ(result["bound"], "memory");
  EXPECT_EQ(result["warnings"].size(), 2u);
}

TEST(cost_model, from_the_protocol) {
  const cost_model model =
      cost_model::from_json(json::parse(R"({"bytes": 8, "flops": null, "elements": 2, "unit": "tensor"})"));
  EXPECT_EQ(model.bytes, 8.0);
  EXPECT_FALSE(model.flops);
  EXPECT_EQ(model.elements, 2.0);
  EXPECT_EQ(model.unit, "tensor");
  EXPECT_FALSE(cost_model::from_json(nullptr).bytes);
}

/// What an H200 tells, and a host whose matrix unit is not modelled.
json some_peaks() {
  return json::parse(R"([
    {"unit": "vector", "dtype": "f32", "accumulator": null, "value": 1e12, "clock": "max"},
    {"unit": "vector", "dtype": "f32", "accumulator": null, "value": 9e11, "clock": "measured"},
    {"unit": "tensor", "dtype": "f16", "accumulator": "f32", "value": 5e12, "clock": "max"},
    {"unit": "tensor", "dtype": "f16", "accumulator": "f16", "value": 1e13, "clock": "max"},
    {"unit": "tensor", "dtype": "f32", "accumulator": null, "inputs": "tf32", "value": 3e12, "clock": "max"},
    {"unit": "vector", "dtype": "bf16", "accumulator": "f32", "value": 1e12, "clock": "max"},
    {"unit": "tensor", "dtype": "bf16", "accumulator": "f32", "value": null, "clock": "max"},
    {"unit": "vector", "dtype": "f64", "accumulator": null, "value": null, "clock": "max"},
    {"unit": "memory", "dtype": null, "accumulator": null, "value": 4e12, "clock": "max"}])");
}

TEST(find_compute_peaks, of_unit_type_and_accumulator) {
  const json peaks = some_peaks();
  EXPECT_EQ(find_compute_peaks(peaks, {"vector", "f32", "", ""}).max_clock, 1e12);
  EXPECT_EQ(find_compute_peaks(peaks, {"vector", "f32", "", ""}).measured_clock, 9e11);
  EXPECT_EQ(find_compute_peaks(peaks, {"tensor", "f16", "", ""}).max_clock, 1e13);
  EXPECT_EQ(find_compute_peaks(peaks, {"tensor", "f16", "f32", ""}).max_clock, 5e12);
  EXPECT_EQ(find_compute_peaks(peaks, {"tensor", "f32", "", "tf32"}).max_clock, 3e12);
  EXPECT_FALSE(find_compute_peaks(peaks, {"tensor", "f32", "", ""}).max_clock) << "TF32 is not f32";
  EXPECT_FALSE(find_compute_peaks(peaks, {"vector", "f64", "", ""}).max_clock);
  EXPECT_FALSE(find_compute_peaks(json::array(), {"vector", "f32", "", ""}).max_clock);
}

TEST(find_compute_peaks, at_the_clock_of_the_samples) {
  const json peaks = json::parse(R"([
    {"unit": "vector", "dtype": "f32", "accumulator": null, "value": 1e12, "clock": "max", "clock_mhz": 2000},
    {"unit": "vector", "dtype": "f32", "accumulator": null, "value": 9e11, "clock": "measured", "clock_mhz": 1800}])");
  EXPECT_EQ(find_compute_peaks(peaks, {"vector", "f32", "", ""}, 1500.0).measured_clock, 7.5e11);
  EXPECT_EQ(find_compute_peaks(peaks, {"vector", "f32", "", ""}).measured_clock, 9e11);
}

TEST(find_compute_unit, is_the_tensor_unit_where_the_device_has_one_of_the_type) {
  const json peaks = some_peaks();
  const compute_unit f16 = find_compute_unit(peaks, "tensor", "f16", "strict");
  EXPECT_TRUE(f16.is_tensor());
  EXPECT_EQ(f16.accumulator, "f32");
  EXPECT_FALSE(find_compute_unit(peaks, "tensor", "f64", "strict").is_tensor()) << "it has none";
  EXPECT_FALSE(find_compute_unit(peaks, "vector", "f16", "strict").is_tensor()) << "the work uses none";
  EXPECT_FALSE(find_compute_unit(peaks, "", "f16", "strict").is_tensor());
  EXPECT_FALSE(find_compute_unit(json::array(), "tensor", "f16", "strict").is_tensor());
}

TEST(find_compute_unit, f8_has_a_peak_of_its_own_in_both_modes) {
  const json peaks = json::parse(R"([
    {"unit": "tensor", "dtype": "f16", "accumulator": "f32", "value": 1e12, "clock": "max"},
    {"unit": "tensor", "dtype": "f8_e4m3", "accumulator": "f32", "value": 2e12, "clock": "max"}])");
  for (const char* mode : {"strict", "fast_accumulation"}) {
    const compute_unit f8 = find_compute_unit(peaks, "tensor", "f8_e4m3", mode);
    EXPECT_TRUE(f8.is_tensor());
    EXPECT_EQ(find_compute_peaks(peaks, f8).max_clock, 2e12) << mode;
  }
}

TEST(find_compute_unit, of_unknown_speed_is_no_vector_unit) {
  const compute_unit bf16 = find_compute_unit(some_peaks(), "tensor", "bf16", "strict");
  EXPECT_TRUE(bf16.is_tensor());
  EXPECT_FALSE(find_compute_peaks(some_peaks(), bf16).max_clock);
}

TEST(find_compute_unit, follows_what_a_mode_rounds_its_inputs_to) {
  const json peaks = some_peaks();
  EXPECT_FALSE(find_compute_unit(peaks, "tensor", "f32", "strict").is_tensor());
  EXPECT_EQ(find_compute_peaks(peaks, find_compute_unit(peaks, "tensor", "f32", "fast_tf32")).max_clock, 3e12);
  EXPECT_EQ(find_compute_peaks(peaks, find_compute_unit(peaks, "tensor", "f32", "fast_f16")).max_clock, 5e12);
  const compute_unit unknown = find_compute_unit(json::array(), "tensor", "f32", "fast_tf32");
  EXPECT_TRUE(unknown.is_tensor()) << "no vector unit rounds to TF32";
  EXPECT_FALSE(find_compute_peaks(json::array(), unknown).max_clock);
}

TEST(find_ceilings, of_the_nearest_size_and_the_same_cache_state) {
  const json ceilings = json::parse(R"([
    {"probe": "triad", "dtype": "f32", "cache": "cold", "bytes_per_array": 1024, "unit": "B/s", "value": 10},
    {"probe": "triad", "dtype": "f32", "cache": "cold", "bytes_per_array": 8192, "unit": "B/s", "value": 20},
    {"probe": "triad", "dtype": "f32", "cache": "hot", "bytes_per_array": 4096, "unit": "B/s", "value": 30},
    {"probe": "triad", "dtype": "f64", "cache": "cold", "bytes_per_array": 4096, "unit": "B/s", "value": 40},
    {"probe": "copy", "dtype": "f32", "cache": "cold", "bytes_per_array": 4096, "unit": "B/s", "value": null},
    {"probe": "launch", "dtype": "f32", "cache": "hot", "bytes_per_array": null, "unit": "s", "value": 2e-6},
    {"probe": "launch", "dtype": "f32", "cache": "hot", "bytes_per_array": null, "unit": "s", "value": 4e-6,
     "dispatch": "single"},
    {"probe": "fma", "dtype": "f32", "cache": "hot", "bytes_per_array": null, "unit": "flop/s", "value": 50},
    {"probe": "exp_rate", "dtype": "f32", "cache": "hot", "bytes_per_array": null, "unit": "op/s", "value": 60},
    {"probe": "product", "dtype": "f32", "cache": "hot", "bytes_per_array": null, "unit": "flop/s", "value": 70,
     "compute_mode": "fast_tf32"},
    {"probe": "h2d", "dtype": "f32", "cache": "hot", "bytes_per_array": 1024, "unit": "B/s", "value": 80,
     "host_memory": "pinned"}])");
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "cold", "single", 8192}).launch, 4e-6);
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "cold", "single", 8192}).triad, 20.0);
  EXPECT_EQ(find_ceilings(ceilings, {"f64", "cold", "recorded", 8192}).launch, 2e-6);
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "cold", "recorded", 8192}).triad, 20.0);
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "cold", "recorded", 1500}).triad, 10.0);
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "hot", "recorded", 1 << 30}).triad, 30.0);
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "cold", "recorded", 8192}).fma, 50.0);
  EXPECT_FALSE(find_ceilings(ceilings, {"f32", "cold", "recorded", 8192}).copy);
  EXPECT_FALSE(find_ceilings(ceilings, {"f32", "cold", "recorded", 8192}).read);
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "cold", "recorded", 8192}).by_name("exp_rate"), 60.0);
  EXPECT_FALSE(find_ceilings(ceilings, {"f64", "cold", "recorded", 8192}).by_name("exp_rate"));
  EXPECT_FALSE(find_ceilings(ceilings, {"f32", "cold", "recorded", 8192}).product);
  EXPECT_EQ(find_ceilings(ceilings, {"f32", "cold", "recorded", 8192, "fast_tf32"}).product, 70.0);
  EXPECT_EQ(find_ceilings(ceilings, {"f64", "cold", "recorded", 8192, "strict", "pinned"}).h2d, 80.0);
  EXPECT_FALSE(find_ceilings(ceilings, {"f64", "cold", "recorded", 8192, "strict", "pageable"}).h2d);
}

}  // namespace
}  // namespace prumo::bench
