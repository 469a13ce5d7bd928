// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sample_results.hpp"

#include "results/results_file.hpp"

#include <utility>
#include <vector>

namespace prumo::bench::testing {

using nlohmann::json;

namespace {

/// Eleven samples within two percent of their median.
std::vector<double> samples_around(double seconds) {
  std::vector<double> samples;
  for (int i = -5; i <= 5; ++i) samples.push_back((1 + 0.004 * i) * seconds);
  return samples;
}

}  // namespace

json sample_run() {
  return {{"id", "20261121T101500Z-4711"},
          {"started", "2026-11-21T10:15:00Z"},
          {"command", {"prumo", "bench", "--quick"}},
          {"versions", {{"prumo", "0.1.0"}, {"blas", nullptr}}},
          {"host", {{"name", "station"}, {"system", "Linux 6.12"}}},
          {"cpu", {{"name", "Example CPU"}}},
          {"memory", {{"total_bytes", 8589934592}}},
          {"power", {{"source", nullptr}}},
          {"environment", {{"OMP_PROC_BIND", "close"}}}};
}

json sample_device(const std::string& id) {
  return {{"id", id},
          {"backend", id.substr(0, id.find(':'))},
          {"name", "Example CPU"},
          {"threads", 2},
          {"facts",
           {{"vendor", "Example"},
            {"cores", 2},
            {"vector_bits", 256},
            {"instruction_sets", {"avx2", "fma"}},
            {"clock_max_mhz", nullptr},
            {"clock_measured_mhz", 3100.4},
            {"cache_llc_bytes", 33554432},
            {"memory_bytes", 8589934592},
            {"governor", nullptr},
            {"power_limit_w", 65.0},
            {"hypervisor", true}}},
          {"peaks",
           {{{"unit", "vector"},
             {"dtype", "f32"},
             {"accumulator", nullptr},
             {"value", nullptr},
             {"clock", "max"},
             {"clock_mhz", nullptr},
             {"source", "maximum clock unknown: no cpufreq"}},
            {{"unit", "vector"},
             {"dtype", "f32"},
             {"accumulator", nullptr},
             {"value", 198.4e9},
             {"clock", "measured"},
             {"clock_mhz", 3100.0},
             {"source", "2 cores x 2 pipes x 8 lanes x 2 x 3100 MHz; pipes measured"}}}},
          {"ceilings",
           {{{"probe", "triad"},
             {"dtype", "f32"},
             {"bytes_per_array", 134217728},
             {"cache", "cold"},
             {"unit", "B/s"},
             {"value", 47.6e9}},
            {{"probe", "fma"},
             {"dtype", "f32"},
             {"bytes_per_array", 2097152},
             {"cache", "hot"},
             {"unit", "flop/s"},
             {"value", 190e9}}}}};
}

json sample_result(const std::string& op, std::uint64_t bytes_per_array, double seconds) {
  const std::uint64_t elements = bytes_per_array / 4;
  json result = blank_result();
  result["op"] = op;
  result["dtype"] = "f32";
  result["shape"] = {{"n", elements}};
  result["bytes_per_array"] = bytes_per_array;
  result["device"] = "openmp:0";
  result["implementation"] = "kernel";
  result["status"] = "ok";
  result["verified"] = true;
  result["error"] = 0.31;
  result["error_bound"] = 0.5;
  result["verification"] = {{"method", "all"}, {"checked", elements}};
  const std::vector<double> samples = samples_around(seconds);
  result["time_s"] = {
      {"median", seconds},     {"interval", {{"low", 0.99 * seconds}, {"high", 1.01 * seconds}, {"confidence", 0.95}}},
      {"p25", 0.99 * seconds}, {"p75", 1.01 * seconds},
      {"samples", samples},    {"stop", "settled"},
      {"clock", "wall"}};
  result["wall_s"] = seconds;
  result["flops"]["counted"] = {{"add", elements}, {"total", elements}, {"source", "kernel"}};
  result["flops"]["counted_implementation"] = "kernel";
  result["flops"]["model"] = elements;
  result["bytes"] = 3 * bytes_per_array;
  result["rates"] = {{"gflops", static_cast<double>(elements) / seconds / 1e9},
                     {"gbytes", static_cast<double>(3 * bytes_per_array) / seconds / 1e9},
                     {"gelements", static_cast<double>(elements) / seconds / 1e9}};
  result["percent"]["peak_measured_clock"] = 1.9;
  result["percent"]["roofline"] = 95.8;
  result["bound"] = "memory";
  result["clock_mhz"] = 3100.0;
  result["key"] = result_key(result);
  return result;
}

json sample_state(double seconds, double clock_mhz, const std::vector<std::string>& throttle) {
  return {
      {"median", seconds},      {"p25", 0.99 * seconds}, {"p75", 1.01 * seconds}, {"samples", samples_around(seconds)},
      {"clock_mhz", clock_mhz}, {"power_w", 698.0},      {"temperature_c", 55.0}, {"throttle", throttle},
      {"energy_j", 2.0}};
}

json skipped_result(const std::string& op, std::uint64_t bytes_per_array) {
  json result = blank_result();
  result["op"] = op;
  result["dtype"] = "f32";
  result["shape"] = {{"n", bytes_per_array / 4}};
  result["bytes_per_array"] = bytes_per_array;
  result["device"] = "openmp:0";
  result["data"] = "transferred";
  result["host_memory"] = "pageable";
  result["status"] = "skipped";
  result["reason"] = "a host device has no transfers";
  result["key"] = result_key(result);
  return result;
}

json document_of(std::vector<json> results) {
  json list = json::array();
  for (json& result : results) list.push_back(std::move(result));
  return {{"schema", "prumo.results/1"},
          {"run", sample_run()},
          {"devices", json::array({sample_device()})},
          {"results", std::move(list)}};
}

json sample_document() {
  json gemm = sample_result("gemm", 16777216, 0.1);
  gemm["shape"] = {{"m", 2048}, {"n", 2048}, {"k", 2048}};
  gemm["parameters"] = {{"alpha", 1}, {"beta", 0}, {"trans_a", 0}, {"trans_b", 0}};
  gemm["implementation"] = "openblas";
  gemm["flops"] = {{"counted", {{"fma", 8589934592}, {"total", 17179869184}, {"source", "closed_form"}}},
                   {"counted_implementation", "portable"},
                   {"hardware", {{"total", nullptr}, {"reason", "this virtual machine has no counters"}}},
                   {"model", 17179869184}};
  gemm["bytes"] = 50331648;
  gemm["rates"] = {{"gflops", 171.8}, {"gbytes", 0.503}, {"gelements", 0.0419}};
  gemm["percent"] = {{"peak_max_clock", nullptr}, {"peak_measured_clock", 86.6}, {"roofline", 90.4}};
  gemm["bound"] = "compute";
  gemm["energy_j"] = 3.5;
  gemm["key"] = result_key(gemm);

  json slow = sample_result("gemm", 16777216, 0.5);
  for (const char* field : {"shape", "parameters", "flops", "bytes", "bound"}) slow[field] = gemm[field];
  slow["rates"]["gflops"] = 34.4;
  slow["percent"] = {{"peak_max_clock", nullptr}, {"peak_measured_clock", 17.3}, {"roofline", 18.1}};
  slow["verified"] = false;
  slow["error"] = 3.0;
  slow["transfer"] = {{"h2d_s", 1e-3}, {"d2h_s", 5e-4}, {"h2d_bytes", 33554432}, {"d2h_bytes", 16777216}};
  slow["warnings"] = {"IMPOSSIBLE: 104 % of the peak at the measured clock"};
  slow["key"] = result_key(slow);

  json failed = skipped_result("sum", 2097152);
  failed["status"] = "failed";
  failed["reason"] = "prumo-worker-openmp was killed by signal 9";
  failed["data"] = "resident";
  failed["host_memory"] = nullptr;
  failed["key"] = result_key(failed);

  return document_of({sample_result("add", 134217728, 8.4e-3), sample_result("add", 2097152, 165.2e-6),
                      skipped_result("add", 2097152), skipped_result("add", 134217728), gemm, slow, failed});
}

}  // namespace prumo::bench::testing
