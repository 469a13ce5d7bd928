// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Google Benchmark's JSON, as its src/json_reporter.cc writes it (json_schema_version 1).
#include "comparison/foreign_formats.hpp"
#include "results/result_fields.hpp"
#include "results/results_file.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

constexpr const char* only_device = "host:0";  // such files know but one

/// Everything that the file says of one benchmark.
struct benchmark_entry {
  std::vector<double> repetitions;           // seconds
  std::map<std::string, double> aggregates;  // seconds
  std::map<std::string, std::vector<double>> rates;
  std::size_t repetition_count = 0;
  std::string failure;
  std::string skipped;
};

double unit_of(const json& benchmark) {
  const std::string unit = text_of(field(benchmark, "/time_unit"));
  if (unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  return 1e-9;  // the default of the library
}

void read_entry(const json& benchmark, benchmark_entry& entry) {
  const auto time = number_of(field(benchmark, "/real_time"));
  const bool aggregate = text_of(field(benchmark, "/run_type")) == "aggregate";
  const std::string aggregate_name = text_of(field(benchmark, "/aggregate_name"));
  if (field(benchmark, "/error_occurred") == true) {
    entry.failure = text_of(field(benchmark, "/error_message"));
    if (entry.failure.empty()) entry.failure = "the benchmark reported an error";
    return;
  }
  if (field(benchmark, "/skipped") == true) {
    entry.skipped = text_of(field(benchmark, "/skip_message"));
    if (entry.skipped.empty()) entry.skipped = "the benchmark was skipped";
    return;
  }
  if (aggregate && text_of(field(benchmark, "/aggregate_unit")) == "percentage") return;
  if (field(benchmark, "/big_o").is_string() || !field(benchmark, "/rms").is_null()) return;
  const double seconds = time ? *time * unit_of(benchmark) : std::nan("");
  if (aggregate) {
    entry.aggregates[aggregate_name] = seconds;
    entry.repetition_count =
        static_cast<std::size_t>(std::max(0.0, number_of(field(benchmark, "/repetitions")).value_or(0)));
  } else {
    entry.repetitions.push_back(seconds);
  }
  if (aggregate && aggregate_name != "mean" && aggregate_name != "median") return;
  for (const char* rate : {"bytes_per_second", "items_per_second"}) {
    const auto value = benchmark.find(rate);
    if (value == benchmark.end() || !value->is_number()) continue;
    entry.rates[std::string(aggregate ? aggregate_name + " " : "") + rate].push_back(value->get<double>());
  }
}

/// The rate in 10^9 a second, from repetitions where there are some; null where the benchmark does not tell it.
json rate_of(const benchmark_entry& entry, const std::string& name) {
  for (const char* prefix : {"", "median ", "mean "}) {
    const auto values = entry.rates.find(prefix + name);
    if (values != entry.rates.end()) return quantile(values->second, 0.5) / 1e9;
  }
  return nullptr;
}

measurement row_of(const std::string& name, benchmark_entry entry) {
  const std::size_t slash = name.find('/');
  measurement row;
  row.result = foreign_result(name.substr(0, slash), slash == std::string::npos ? "" : name.substr(slash + 1));
  row.result["device"] = only_device;
  if (!entry.failure.empty() || !entry.skipped.empty()) {
    row.result["status"] = entry.failure.empty() ? "skipped" : "failed";
    row.result["reason"] = entry.failure.empty() ? entry.skipped : entry.failure;
    return row;
  }
  row.result["rates"]["gbytes"] = rate_of(entry, "bytes_per_second");
  row.result["rates"]["gelements"] = rate_of(entry, "items_per_second");
  if (!entry.repetitions.empty()) {
    const auto broken = std::ranges::find_if_not(entry.repetitions, is_possible_time);
    set_foreign_time(row.result, broken != entry.repetitions.end() ? *broken : quantile(entry.repetitions, 0.5));
    if (row.result.at("status") == "ok") row.runs = {process_run(std::move(entry.repetitions))};
    return row;
  }
  const auto mean = entry.aggregates.find("mean");
  const auto centre = mean != entry.aggregates.end() ? mean : entry.aggregates.find("median");
  set_foreign_time(row.result, centre == entry.aggregates.end() ? std::nan("") : centre->second);
  if (row.result.at("status") != "ok") return row;
  const auto deviation = entry.aggregates.find("stddev");
  const bool known = deviation != entry.aggregates.end() && std::isfinite(deviation->second) &&
                     deviation->second >= 0 && entry.repetition_count > 1;
  // Without a deviation the mean is one sample, whose spread is not known.
  if (known) {
    row.moments = sample_moments{centre->second, deviation->second, entry.repetition_count};
  } else {
    row.runs = {process_run{centre->second}};
  }
  return row;
}

/// What the file tells of machine and build, where prumo's own files have it.
void read_context(const json& context, comparison_source& source) {
  static const std::set<std::string_view> known{
      "date",     "host_name",           "executable",      "num_cpus",
      "caches",   "mhz_per_cpu",         "library_version", "library_build_type",
      "load_avg", "cpu_scaling_enabled", "aslr_enabled",    "json_schema_version"};
  json own = json::object();
  for (const auto& [name, value] : context.items()) {
    if (!known.contains(name)) own[name] = value;
  }
  source.run = {{"started", field(context, "/date")},
                {"host", {{"name", field(context, "/host_name")}}},
                {"cpu", {{"logical_processors", field(context, "/num_cpus")}}},
                {"versions", {{"Google Benchmark", field(context, "/library_version")}}},
                {"environment", std::move(own)}};
  source.devices = {{{"id", only_device},
                     {"backend", "Google Benchmark"},
                     {"name", nullptr},
                     {"threads", nullptr},
                     {"facts",
                      {{"clock_reported_mhz", field(context, "/mhz_per_cpu")},
                       {"frequency_scaling", field(context, "/cpu_scaling_enabled")},
                       {"address_space_randomised", field(context, "/aslr_enabled")}}},
                     {"worker", {{"build", {{"type", field(context, "/library_build_type")}}}}}}};
}

}  // namespace

bool is_google_benchmark(const json& document) {
  return field(document, "/context").is_object() && field(document, "/benchmarks").is_array();
}

comparison_source read_google_benchmark(const json& document, const std::string& name) {
  const json& context = field(document, "/context");
  comparison_source source;
  source.name = name;
  source.format = "Google Benchmark";
  require_version_1(source.format, field(context, "/json_schema_version"), name);
  read_context(context, source);
  std::vector<std::string> order;
  std::map<std::string, benchmark_entry> entries;
  for (const json& benchmark : field(document, "/benchmarks")) {
    std::string run_name = text_of(field(benchmark, "/run_name"));  // absent before version 1.5
    if (run_name.empty()) run_name = text_of(field(benchmark, "/name"));
    if (run_name.empty()) continue;
    const auto [entry, is_new] = entries.try_emplace(run_name);
    if (is_new) order.push_back(run_name);
    read_entry(benchmark, entry->second);
  }
  for (const std::string& run_name : order) source.rows.push_back(row_of(run_name, std::move(entries[run_name])));
  return source;
}

}  // namespace prumo::bench
