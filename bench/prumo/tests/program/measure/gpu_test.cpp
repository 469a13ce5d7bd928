// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device with a memory of its own, events, a clock, an energy counter and a tensor unit.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double mebibyte = 1024.0 * 1024;

std::vector<std::string> gpu_bench_words(const std::vector<std::string>& words, const std::string& worker = {}) {
  return joined(joined({"bench", "--quick"}, words), fake_worker_words("--backend cuda " + worker));
}

/// Read back through the schema.
json measure_gpu(const std::vector<std::string>& words, const std::string& worker = {}) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const program_result result = run_prumo(gpu_bench_words(joined(words, {"-o", path}), worker));
  EXPECT_EQ(result.code, 0) << result.err;
  return load_results(path);
}

TEST(gpu, resident_kernels_come_as_device_time_and_wall_time_beside_it) {
  const json document = measure_gpu({"--op", "add", "--size", "2MB", "--data", "resident"});
  EXPECT_TRUE(document.at("devices").at(0).at("threads").is_null());
  const json& result = document.at("results").at(0);
  EXPECT_EQ(result.at("time_s").at("clock"), "device");
  const double seconds = 3 * 2 * mebibyte / 2e10;
  EXPECT_NEAR(result.at("time_s").at("median").get<double>(), seconds, 0.01 * seconds);
  EXPECT_NEAR(result.at("wall_s").get<double>(), seconds + 5e-6, 0.01 * seconds);
  EXPECT_TRUE(result.at("transfer").is_null());
}

TEST(gpu, clock_energy_temperature_and_throttling_are_told) {
  const json document = measure_gpu({"--op", "add", "--size", "2MB", "--data", "resident"}, "--throttle 'power cap'");
  const json& result = document.at("results").at(0);
  EXPECT_EQ(result.at("clock_mhz"), 1485.0);
  EXPECT_NEAR(result.at("energy_j").get<double>(), 0.5, 1e-9) << "of one call";
  EXPECT_GT(result.at("temperature_c").get<double>(), 50) << "the highest";
  EXPECT_THAT(result.at("warnings").dump(), HasSubstr("the device was throttled: power cap"));
}

TEST(gpu, time_for_the_states_of_power_is_kept_for_the_largest_size_of_an_operation) {
  const json document = measure_gpu({"--op", "add", "--size", "4MB,16MB,2MB,8MB", "--data", "resident", "--case-limit",
                                     "500ms", "--time-budget", "20s"});
  for (const json& result : document.at("results")) {
    ASSERT_EQ(result.at("status"), "ok") << result.at("reason");
    const bool largest = result.at("bytes_per_array") == 16 * mebibyte;
    EXPECT_EQ(result.contains("states"), largest) << result.dump();
    EXPECT_EQ(result.at("energy_j").is_null(), !largest);
  }
}

TEST(gpu, the_peak_at_the_measured_clock_follows_the_clock_of_the_samples) {
  const json document = measure_gpu({"--op", "gemm", "--size", "2MB", "--data", "resident"});
  const json& percent = document.at("results").at(0).at("percent");
  EXPECT_NEAR(percent.at("peak_max_clock").get<double>(), 50, 1);
  EXPECT_NEAR(percent.at("peak_measured_clock").get<double>(), 50 * 1980.0 / 1485.0, 1);
}

TEST(gpu, products_of_f16_are_held_against_the_tensor_unit_that_sums_in_f32) {
  const json document = measure_gpu({"--op", "gemm", "--size", "2MB", "--dtype", "f16", "--data", "resident"});
  const json& result = document.at("results").at(0);
  ASSERT_EQ(result.at("status"), "ok") << result.at("reason");
  EXPECT_NEAR(result.at("percent").at("peak_max_clock").get<double>(), 25, 1);
  EXPECT_EQ(result.at("unit"), "tensor");
  EXPECT_EQ(result.at("roof").at("compute_from"), "product") << "the fma probe is of the vector unit";
  EXPECT_EQ(result.at("bound"), "compute");
  EXPECT_NEAR(result.at("percent").at("roofline").get<double>(), 100, 1);
  const json& ceilings = document.at("devices").at(0).at("ceilings");
  const auto product = std::ranges::find_if(ceilings, [](const json& it) { return it.at("probe") == "product"; });
  ASSERT_NE(product, ceilings.end());
  EXPECT_EQ(product->at("dtype"), "f16");
  EXPECT_EQ(product->at("compute_mode"), "strict");
  EXPECT_NEAR(product->at("value").get<double>(), 2e11, 2e9);
  EXPECT_EQ(result.at("warnings"), json::array());
}

TEST(gpu, products_that_leave_the_tensor_unit_alone_are_held_against_the_vector_unit) {
  const json portable =
      measure_gpu({"--op", "gemm", "--size", "2MB", "--dtype", "f16", "--data", "resident", "--impl", "portable"});
  const json& result = portable.at("results").at(0);
  EXPECT_EQ(result.at("unit"), "vector");
  EXPECT_NEAR(result.at("percent").at("peak_max_clock").get<double>(), 10, 1) << "a quarter of 2e11 of 5e11 flop/s";
  EXPECT_FALSE(result.at("percent").at("roofline").is_null());
  const json strict = measure_gpu({"--op", "gemm", "--size", "2MB", "--data", "resident"});
  EXPECT_EQ(strict.at("results").at(0).at("unit"), "vector") << "there is no tensor unit for f32";
}

TEST(gpu, transferred_cases_tell_their_copies) {
  const json document = measure_gpu({"--op", "add", "--size", "2MB", "--data", "resident,transferred"});
  ASSERT_EQ(document.at("results").size(), 3U);
  const json& pinned = document.at("results").at(1);
  const json& pageable = document.at("results").at(2);
  EXPECT_EQ(pinned.at("host_memory"), "pinned");
  EXPECT_EQ(pageable.at("host_memory"), "pageable");
  const json& transfer = pinned.at("transfer");
  EXPECT_EQ(transfer.at("h2d_bytes"), 4 * mebibyte);
  EXPECT_EQ(transfer.at("d2h_bytes"), 2 * mebibyte);
  EXPECT_NEAR(transfer.at("h2d_s").get<double>(), 4 * mebibyte / 2e10, 1e-8);
  EXPECT_NEAR(transfer.at("d2h_s").get<double>(), 2 * mebibyte / 2e10, 1e-8);
  EXPECT_GT(pageable.at("transfer").at("h2d_s"), transfer.at("h2d_s"));
  for (const json& result : {pinned, pageable}) {
    const double copies =
        result.at("transfer").at("h2d_s").get<double>() + result.at("transfer").at("d2h_s").get<double>();
    const double rate = result.at("host_memory") == "pinned" ? 2e10 : 5e9;
    EXPECT_NEAR(result.at("roof").at("h2d").get<double>(), rate, 1e-3 * rate);
    EXPECT_NEAR(result.at("roof").at("d2h").get<double>(), rate, 1e-3 * rate);
    EXPECT_NEAR(result.at("percent").at("roofline").get<double>(),
                100 * copies / result.at("time_s").at("median").get<double>(), 0.5);
  }
  EXPECT_EQ(pageable.at("bound"), "transfer") << "1.26 ms of copies, 0.3 ms of memory";
}

TEST(gpu, the_table_splits_a_call_with_transfers) {
  const program_result result =
      run_prumo(gpu_bench_words({"--op", "add", "--size", "2MB", "--host-memory", "pinned,pageable"}));
  EXPECT_THAT(result.out, AllOf(HasSubstr("kernel"), HasSubstr("h2d"), HasSubstr("d2h"), HasSubstr("pinned"),
                                HasSubstr("pageable"), HasSubstr("h2d, d2h: the copies alone")));
  // 6 MiB at 20 GB/s each way and in the kernel.
  EXPECT_THAT(result.out, AllOf(HasSubstr("629 µs"), HasSubstr("315 µs"), HasSubstr("210 µs"), HasSubstr("105 µs")));
}

TEST(gpu, calls_launched_one_by_one_are_held_against_launches_of_their_kind) {
  const json document = measure_gpu({"--op", "add", "--size", "4KB,64MB", "--dispatch", "recorded,single"});
  std::map<std::string, json> of;
  for (const json& result : document.at("results")) {
    ASSERT_EQ(result.at("status"), "ok") << result.at("reason");
    if (result.at("data") == "transferred") continue;
    of[result.at("dispatch").get<std::string>() + (result.at("bytes_per_array") == 4096 ? " short" : " long")] = result;
  }
  ASSERT_EQ(of.size(), 4U);
  const auto seconds = [&](const char* name) { return of[name].at("time_s").at("median").get<double>(); };
  const auto launch = [&](const char* name) { return of[name].at("roof").at("launch_s").get<double>(); };
  EXPECT_NEAR(seconds("recorded short"), 2e-6, 1e-8);
  EXPECT_NEAR(launch("recorded short"), 2e-6, 1e-8);
  EXPECT_NEAR(seconds("single short"), 4.5e-6, 1e-8);
  EXPECT_NEAR(launch("single short"), 4e-6, 1e-8);
  EXPECT_EQ(of["single short"].at("bound"), "launch");
  EXPECT_NEAR(seconds("single long"), seconds("recorded long"), 0.01 * seconds("recorded long"));
  EXPECT_THAT(of["single short"].at("key").get<std::string>(), EndsWith("/cold/dispatch=single"));
  EXPECT_THAT(of["recorded short"].at("key").get<std::string>(), EndsWith("/cold"));
  const auto transferred = std::ranges::count_if(document.at("results"),
                                                 [](const json& result) { return result.at("data") == "transferred"; });
  EXPECT_EQ(transferred, 2) << "one for each size: what copies before each call is never recorded";
}

TEST(gpu, the_table_tells_what_a_call_costs_beyond_a_launch) {
  const program_result result =
      run_prumo(gpu_bench_words({"--op", "add", "--size", "4KB", "--data", "resident", "--dispatch", "single"}));
  EXPECT_THAT(result.out, AllOf(HasSubstr("single calls"), HasSubstr("beyond launch"), HasSubstr("500 ns")));
  const program_result recorded = run_prumo(gpu_bench_words({"--op", "add", "--size", "4KB", "--data", "resident"}));
  EXPECT_THAT(recorded.out, AllOf(Not(HasSubstr("recorded")), Not(HasSubstr("beyond launch"))));
}

TEST(gpu, a_worker_that_always_records_has_no_single_calls) {
  const json document = measure_gpu(
      {"--op", "add", "--size", "4KB", "--data", "resident", "--dispatch", "recorded,single"}, "--always-recorded");
  const json& results = document.at("results");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results.at(0).at("status"), "ok");
  EXPECT_EQ(results.at(1).at("status"), "unsupported");
  EXPECT_THAT(results.at(1).at("reason").get<std::string>(), HasSubstr("cannot launch calls one by one"));
}

TEST(gpu, is_measured_until_its_median_is_known_more_exactly_than_that_of_a_host) {
  const auto samples = [](const char* backend) {
    const program_result result =
        run_prumo(joined({"bench", "--quick", "--no-probe", "--op", "add", "--size", "2MB", "--data", "resident", "-o",
                          "-", "--time-budget", "2s", "--power-states", "none"},
                         fake_worker_words(std::string("--noise 0.02 --delay 0.01 --backend ") + backend)));
    return json::parse(result.out).at("results").at(0).at("time_s").at("samples").size();
  };
  EXPECT_GT(samples("cuda"), samples("openmp")) << "0.25 % against 1 %";
}

}  // namespace
}  // namespace prumo::bench::test
