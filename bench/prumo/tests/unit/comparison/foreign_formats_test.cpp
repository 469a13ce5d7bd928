// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/foreign_formats.hpp"

#include "comparison/source.hpp"
#include "results/results_file.hpp"
#include "surroundings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

namespace prumo::bench::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json google_context() {
  return {{"date", "2026-11-21T10:15:00+00:00"},
          {"host_name", "station"},
          {"num_cpus", 2},
          {"mhz_per_cpu", 3100},
          {"library_version", "v1.9.4"},
          {"library_build_type", "release"},
          {"json_schema_version", 1}};
}

json repetition(const std::string& name, double time, const std::string& unit = "us") {
  return {{"name", name},      {"run_name", name},  {"run_type", "iteration"}, {"repetitions", 3},
          {"iterations", 100}, {"real_time", time}, {"cpu_time", time / 2},    {"time_unit", unit}};
}

json aggregate(const std::string& name, const std::string& what, double time) {
  json entry = repetition(name, time);
  entry["name"] = name + "_" + what;
  entry["run_type"] = "aggregate";
  entry["aggregate_name"] = what;
  entry["aggregate_unit"] = what == "cv" ? "percentage" : "time";
  return entry;
}

comparison_source google(std::vector<json> benchmarks) {
  const json document = {{"context", google_context()}, {"benchmarks", std::move(benchmarks)}};
  return read_source(document.dump(), "g.json", "");
}

TEST(google_benchmark, repetitions_are_samples) {
  json first = repetition("BM_copy/64", 2.0);
  first["bytes_per_second"] = 4e9;
  const comparison_source source = google({first, repetition("BM_copy/64", 4.0), repetition("BM_copy/64", 3.0),
                                           aggregate("BM_copy/64", "mean", 3.0), repetition("BM_sort", 1.5, "ms")});
  EXPECT_EQ(source.format, "Google Benchmark");
  ASSERT_EQ(source.rows.size(), 2U);
  const measurement& copy = source.rows.front();
  EXPECT_EQ(copy.result.at("key"), "BM_copy/64");
  EXPECT_EQ(copy.result.at("op"), "BM_copy");
  EXPECT_EQ(copy.result.at("case"), "64");
  EXPECT_EQ(copy.result.at("kind"), "foreign");
  ASSERT_EQ(copy.runs.size(), 1U);
  EXPECT_THAT(copy.runs.front().samples, ElementsAre(2e-6, 4e-6, 3e-6));
  EXPECT_DOUBLE_EQ(*copy.seconds(), 3e-6);
  EXPECT_DOUBLE_EQ(copy.result.at("rates").at("gbytes").get<double>(), 4);
  EXPECT_DOUBLE_EQ(*source.rows.back().seconds(), 1.5e-3);
}

TEST(google_benchmark, aggregates_alone_are_moments) {
  const comparison_source source = google({aggregate("BM_copy", "mean", 3.0), aggregate("BM_copy", "median", 2.9),
                                           aggregate("BM_copy", "stddev", 0.3), aggregate("BM_copy", "cv", 0.1)});
  ASSERT_EQ(source.rows.size(), 1U);
  ASSERT_TRUE(source.rows.front().moments);
  EXPECT_DOUBLE_EQ(source.rows.front().moments->mean, 3e-6);
  EXPECT_DOUBLE_EQ(source.rows.front().moments->standard_deviation, 3e-7);
  EXPECT_EQ(source.rows.front().moments->count, 3U);
  EXPECT_THAT(source.rows.front().runs, IsEmpty());
}

TEST(google_benchmark, errors_and_impossible_times_fail) {
  json error = repetition("BM_error", 0);
  error["error_occurred"] = true;
  error["error_message"] = "no file";
  const comparison_source source = google({error, repetition("BM_zero", 0), repetition("BM_negative", -1)});
  ASSERT_EQ(source.rows.size(), 3U);
  for (const measurement& row : source.rows) {
    EXPECT_EQ(row.result.at("status"), "failed");
    EXPECT_FALSE(row.seconds());
  }
  EXPECT_EQ(source.rows.front().result.at("reason"), "no file");
  EXPECT_EQ(source.rows.at(1).result.at("reason"), "its file says that it took 0 s");
}

TEST(google_benchmark, bare_words_for_numbers_that_are_not_finite_are_read) {
  std::string text = json({{"context", google_context()}, {"benchmarks", {repetition("BM_NaN", 2)}}}).dump();
  const std::string number = "\"cpu_time\":1.0";
  ASSERT_THAT(text, HasSubstr(number));
  text.replace(text.find(number), number.size(), "\"cpu_time\":-NaN,\"rate\":Infinity");
  const comparison_source source = read_source(text, "g.json", "");
  EXPECT_EQ(source.rows.at(0).result.at("key"), "BM_NaN") << "text is left alone";
  EXPECT_THROW((void)read_source("{\"a\": NaN}", "other.json", ""), file_error);
}

json summary(const std::string& tag, const std::string& value, const std::string& type = "float64") {
  return {{"tag", tag}, {"data", {{{"name", "value"}, {"type", type}, {"value", value}}}}};
}

json nvbench_document(std::vector<json> summaries) {
  const json state = {
      {"name", "Device=0 T=F32"},
      {"device", 0},
      {"axis_values",
       {{{"name", "T"}, {"type", "string"}, {"value", "F32"}}, {{"name", "N"}, {"type", "int64"}, {"value", "1024"}}}},
      {"summaries", std::move(summaries)},
      {"is_skipped", false}};
  return {{"meta", {{"version", {{"json", {{"major", 1}}}, {"nvbench", {{"string", "0.1.0"}}}}}}},
          {"devices", {{{"id", 0}, {"name", "Example GPU"}}}},
          {"benchmarks", {{{"name", "copy"}, {"states", {state}}}}}};
}

TEST(nvbench, means_and_deviations_are_moments) {
  const json document = nvbench_document(
      {summary("nv/cold/sample_size", "400", "int64"), summary("nv/cold/time/gpu/mean", "2e-5"),
       summary("nv/cold/time/gpu/stdev/relative", "0.01"), summary("nv/cold/bw/global/bytes_per_second", "3e12")});
  const comparison_source source = read_source(document.dump(), "n.json", "");
  EXPECT_EQ(source.format, "nvbench");
  ASSERT_EQ(source.rows.size(), 1U);
  const measurement& row = source.rows.front();
  EXPECT_EQ(row.result.at("key"), "copy/T=F32,N=1024");
  EXPECT_EQ(row.result.at("device"), "cuda:0");
  EXPECT_EQ(row.result.at("cache"), "cold");
  ASSERT_TRUE(row.moments);
  EXPECT_NEAR(row.moments->standard_deviation, 2e-7, 1e-15);
  EXPECT_EQ(row.moments->count, 400U);
  EXPECT_NEAR(row.result.at("rates").at("gbytes").get<double>(), 3000, 1e-9);
}

TEST(nvbench, a_state_that_was_skipped_or_has_no_time_is_told) {
  json document = nvbench_document({});
  json skipped = document["benchmarks"][0]["states"][0];
  skipped["is_skipped"] = true;
  skipped["skip_reason"] = "does not fit";
  skipped["axis_values"] = nullptr;
  document["benchmarks"][0]["states"].push_back(skipped);
  const comparison_source source = read_source(document.dump(), "n.json", "");
  ASSERT_EQ(source.rows.size(), 2U);
  EXPECT_EQ(source.rows.at(0).result.at("status"), "failed");
  EXPECT_EQ(source.rows.at(1).result.at("status"), "skipped");
  EXPECT_EQ(source.rows.at(1).result.at("reason"), "does not fit");
  EXPECT_EQ(source.rows.at(1).result.at("key"), "copy");
}

TEST(nvbench, samples_come_from_the_file_beside_the_document) {
  const test::temporary_folder temporary;
  const std::filesystem::path& folder = temporary.path();
  test::write_file(folder / "0.bin", std::string("\x00\x00\x80\x3f\x00\x00\x00\x40", 8));  // 1, 2
  const auto document = [](const std::string& filename, const std::string& size) {
    const json file = {{"tag", "nv/json/bin:nv/cold/sample_times"},
                       {"data",
                        {{{"name", "filename"}, {"type", "string"}, {"value", filename}},
                         {{"name", "size"}, {"type", "int64"}, {"value", size}}}}};
    return nvbench_document({summary("nv/cold/time/gpu/mean", "1.5"), file}).dump();
  };
  const comparison_source source = read_source(document("0.bin", "2"), "n.json", folder.string());
  ASSERT_EQ(source.rows.at(0).runs.size(), 1U);
  EXPECT_THAT(source.rows.at(0).runs.front().samples, ElementsAre(1.0, 2.0));
  std::filesystem::create_directory(folder / "deeper");
  for (const auto& [name, size] : {std::pair("0.bin", "3"), std::pair("1.bin", "2"), std::pair("../0.bin", "2")}) {
    const comparison_source other = read_source(document(name, size), "n.json", (folder / "deeper" / "..").string());
    EXPECT_THAT(other.rows.at(0).runs.front().samples, ElementsAre(1.5)) << name << ": the mean is all that is known";
  }
}

TEST(foreign_formats, newer_versions_and_unknown_documents_are_refused_by_name) {
  const auto message = [](const json& document) -> std::string {
    try {
      (void)read_source(document.dump(), "x.json", "");
      return "was read";
    } catch (const file_error& error) {
      return error.what();
    }
  };
  json newer = nvbench_document({});
  newer["meta"]["version"]["json"]["major"] = 2;
  EXPECT_THAT(message(newer), HasSubstr("x.json: is nvbench JSON of version 2"));
  json google_newer = {{"context", google_context()}, {"benchmarks", {repetition("BM", 1)}}};
  google_newer["context"]["json_schema_version"] = 2;
  EXPECT_THAT(message(google_newer), HasSubstr("Google Benchmark JSON of version 2"));
  EXPECT_THAT(message({{"schema", "prumo.results/2"}}), HasSubstr("'prumo.results/2'"));
  EXPECT_THAT(message({{"schema", "prumo.comparison/1"}}), HasSubstr("output of prumo compare"));
  EXPECT_THAT(message({{"a", 1}}), HasSubstr("in no format that can be compared"));
  EXPECT_THAT(message(json::array({1})), HasSubstr("in no format that can be compared"));
  EXPECT_THAT(message({{"context", google_context()}, {"benchmarks", json::array()}}), HasSubstr("holds no results"));
}

}  // namespace
}  // namespace prumo::bench::testing
