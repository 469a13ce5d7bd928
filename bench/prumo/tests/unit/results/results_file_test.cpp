// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/results_file.hpp"

#include "file_fixture.hpp"
#include "results/results_schema.hpp"
#include "sample_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using testing::document_of;
using ::testing::HasSubstr;
using testing::message_of;
using testing::sample_device;
using testing::sample_document;
using testing::sample_result;
using testing::sample_run;
using testing::skipped_result;

json devices() { return json::array({sample_device()}); }

class results_file_test : public testing::file_fixture {};

TEST(result_key, joins_a_case_across_devices_and_implementations) {
  const json result = sample_document()["results"][4];
  EXPECT_EQ(result_key(result),
            "gemm/f32/k=2048,m=2048,n=2048/right/alpha=1,beta=0,trans_a=0,trans_b=0/strict/resident/-/cold");
  json other = result;
  other["device"] = "cuda:0";
  other["implementation"] = "cublasLt";
  other["time_s"] = nullptr;
  other["parameters"]["alpha"] = 1.0;
  other["parameters"]["beta"] = -0.0;
  EXPECT_EQ(result_key(other), result_key(result));
}

TEST(result_key, differs_where_the_case_differs) {
  const json result = sample_document()["results"][4];
  const auto changed = [&](const char* pointer, const json& value) {
    json other = result;
    other[json::json_pointer(pointer)] = value;
    return result_key(other);
  };
  EXPECT_NE(changed("/op", "add"), result_key(result));
  EXPECT_NE(changed("/dtype", "f64"), result_key(result));
  EXPECT_NE(changed("/shape/m", 1), result_key(result));
  EXPECT_NE(changed("/layout", "left"), result_key(result));
  EXPECT_NE(changed("/parameters/alpha", 1.5), result_key(result));
  EXPECT_NE(changed("/compute_mode", "tf32"), result_key(result));
  EXPECT_NE(changed("/data", "transferred"), result_key(result));
  EXPECT_NE(changed("/host_memory", "pinned"), result_key(result));
  EXPECT_NE(changed("/cache", "hot"), result_key(result));
  EXPECT_EQ(changed("/dispatch", "single"), result_key(result) + "/dispatch=single");
  EXPECT_EQ(changed("/dispatch", "recorded"), result_key(result)) << "as in files of before there was a choice";
}

TEST(result_key, encodes_separators) {
  json result = skipped_result("a/b=c,d\n%", 1024);
  EXPECT_THAT(result_key(result), HasSubstr("a%2Fb%3Dc%2Cd%0A%25/f32"));
  result.erase("cache");
  EXPECT_THROW((void)result_key(result), json::exception);
}

TEST(parse_results, reads_its_own_text) {
  const json document = sample_document();
  const std::string text = dump_results(document);
  EXPECT_EQ(parse_results(text, "r.json"), document);
  EXPECT_EQ(text.rfind("{\n  \"schema\": \"prumo.results/1\",\n  \"run\": {\n    \"id\"", 0), 0u)
      << text.substr(0, 200);
  EXPECT_EQ(parse_results(dump_results(document_of({})), "r.json"), document_of({}));
}

TEST(parse_results, tells_what_is_wrong) {
  const auto message = [](const std::string& text) { return message_of([&] { (void)parse_results(text, "r.json"); }); };
  EXPECT_THAT(message(""), AllOf(HasSubstr("r.json"), HasSubstr("empty")));
  EXPECT_THAT(message(" \n\t "), HasSubstr("empty"));
  EXPECT_THAT(message("{\"schema\": \"prumo.results/1\",\n  oops}"), HasSubstr("broken JSON at line 2, column 3"));
  EXPECT_THAT(message("size,time\n1,2\n"), HasSubstr("broken JSON at line 1, column 1"));
  EXPECT_THAT(message("{} {}"), HasSubstr("broken JSON at line 1, column 4"));
  EXPECT_THAT(message("[1, 2]"), HasSubstr("no results file of prumo"));
  EXPECT_THAT(message("3"), HasSubstr("no results file of prumo"));
  EXPECT_THAT(message("{\"name\": \"other\"}"), HasSubstr("no results file of prumo"));
  EXPECT_THAT(message("{\"schema\": \"other/1\"}"), HasSubstr("no results file of prumo"));
  EXPECT_THAT(message("{\"schema\": 1}"), HasSubstr("no results file of prumo"));
  EXPECT_THAT(message("{\"schema\": \"prumo.results/2\"}"),
              AllOf(HasSubstr("'prumo.results/2'"), HasSubstr("newer prumo")));
  EXPECT_THAT(message(std::string(100000, '[')), HasSubstr("deep"));
  EXPECT_THAT(message("{\"schema\": \"\xff\"}"), HasSubstr("r.json"));

  json document = sample_document();
  document["results"][1]["time_s"]["median"] = "fast";
  EXPECT_THAT(message(document.dump()), AllOf(HasSubstr("/results/1/time_s/median"), HasSubstr("fast")));
  document = sample_document();
  document["results"][1].erase("cache");
  EXPECT_THAT(message(document.dump()), AllOf(HasSubstr("/results/1"), HasSubstr("cache")));
}

TEST(parse_results, recognises_every_truncation) {
  const std::string text = dump_results(document_of({sample_result("add", 2097152, 1e-4)}));
  const std::size_t end = text.find_last_of('}');
  for (std::size_t length = 1; length <= end; ++length) {
    const std::string message = message_of([&] { (void)parse_results(text.substr(0, length), "r.json"); });
    ASSERT_THAT(message, HasSubstr("truncated")) << "after " << length << " bytes";
  }
}

TEST_F(results_file_test, loads_what_it_wrote) {
  const output_file file(path_);
  results_writer writer(file, sample_run(), devices());
  const json document = sample_document();
  for (const json& result : document["results"]) writer.add(result);
  writer.end_group();
  json written = load_results(path_);
  EXPECT_EQ(writer.document(), written);
  for (json& result : written["results"]) {
    EXPECT_EQ(result.at("run_id"), sample_run().at("id"));
    EXPECT_TRUE(result.at("measured").is_string());
    result["run_id"] = result["measured"] = nullptr;  // as they were before
  }
  EXPECT_EQ(written, document);
  EXPECT_EQ(files(), 2u) << "the results and their lock";
}

TEST_F(results_file_test, an_interrupted_run_leaves_a_valid_file) {
  const output_file file(path_);
  results_writer writer(file, sample_run(), devices());
  EXPECT_FALSE(fs::exists(path_)) << "nothing is there before the first result";
  writer.set_interval(std::chrono::hours(1));
  writer.add(sample_result("add", 1024, 1e-6));
  EXPECT_EQ(load_results(path_)["results"].size(), 1u);
  writer.add(sample_result("add", 2048, 1e-6));
  EXPECT_EQ(load_results(path_)["results"].size(), 1u) << "written more often than the interval allows";
  writer.end_group();
  EXPECT_EQ(load_results(path_)["results"].size(), 2u);
  const auto written = fs::last_write_time(path_);
  writer.end_group();
  EXPECT_EQ(fs::last_write_time(path_), written) << "written although nothing changed";
  writer.set_interval(std::chrono::milliseconds(0));
  writer.add(sample_result("add", 4096, 1e-6));
  EXPECT_EQ(load_results(path_)["results"].size(), 3u);
}

TEST_F(results_file_test, a_reader_never_sees_a_part) {
  const output_file file(path_);
  results_writer writer(file, sample_run(), devices());
  writer.set_interval(std::chrono::milliseconds(0));
  writer.add(sample_result("add", 1024, 1e-6));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (std::uint64_t i = 0;; ++i) writer.add(sample_result("add", 2048 + 4 * (i % 20), 1e-6));
  }
  for (int i = 0; i < 50; ++i) EXPECT_NO_THROW((void)load_results(path_));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  const json document = load_results(path_);
  EXPECT_GE(document["results"].size(), 1u);
  const results_writer resumed = results_writer::resume(file, document, sample_run(), devices());
  EXPECT_EQ(resumed.results().size(), document["results"].size());
}

TEST_F(results_file_test, only_results_are_replaced_and_only_by_force) {
  for (const char* foreign : {"precious notes\n", "{\"precious\": true}", "{\"schema\": \"prumo.results/2\"}",
                              "{\"schema\": \"prumo.results/1\""}) {
    test::write_file(path_, foreign);
    for (const bool force : {false, true}) {
      EXPECT_THAT(message_of([&] { check_replaceable(output_file(path_), force); }),
                  AllOf(HasSubstr(path_), HasSubstr("not overwritten")));
    }
    EXPECT_EQ(test::read_file(path_), foreign);
  }
  test::write_file(path_, "");
  EXPECT_NO_THROW(check_replaceable(output_file(path_), false));
  test::write_file(path_,
                   dump_results(document_of({sample_result("add", 1024, 1e-6), sample_result("add", 2048, 1e-6)})));
  EXPECT_THAT(message_of([&] { check_replaceable(output_file(path_), false); }),
              AllOf(HasSubstr("holds 2 results already (measured "), HasSubstr("--force replaces it")));
  EXPECT_NO_THROW(check_replaceable(output_file(path_), true));
}

TEST_F(results_file_test, older_results_stay_until_something_is_measured) {
  test::write_file(path_,
                   dump_results(document_of({sample_result("add", 1024, 1e-6), sample_result("add", 2048, 1e-6)})));
  const std::string before = test::read_file(path_);
  const output_file file(path_);
  results_writer writer(file, sample_run(), devices());
  writer.add(skipped_result("mul", 1024));
  writer.end_group();
  EXPECT_FALSE(writer.has_measured());
  EXPECT_EQ(test::read_file(path_), before) << "replaced by a result that tells no time";
  writer.add(sample_result("add", 1024, 2e-6));
  writer.end_group();
  EXPECT_TRUE(writer.has_measured());
  EXPECT_EQ(load_results(path_)["results"].size(), 2u);
  EXPECT_NE(test::read_file(path_), before);
}

TEST_F(results_file_test, a_folder_that_vanishes_costs_no_result) {
  const fs::path place = folder_ / "place";
  fs::create_directory(place);
  const output_file file((place / "r.json").string());
  results_writer writer(file, sample_run(), devices());
  writer.set_interval(std::chrono::milliseconds(0));
  std::vector<std::string> told;
  writer.on_note([&](const std::string& note) { told.push_back(note); });
  fs::remove_all(place);
  writer.add(sample_result("add", 1024, 1e-6));
  writer.add(sample_result("add", 2048, 1e-6));
  ASSERT_EQ(told.size(), 1u) << "told once";
  EXPECT_THAT(told.front(), AllOf(HasSubstr("r.json"), HasSubstr("No such file or directory")));
  fs::create_directory(place);
  writer.end_group();
  EXPECT_EQ(load_results(file.path())["results"].size(), 2u);
}

TEST_F(results_file_test, resumes) {
  {
    const output_file file(path_);
    results_writer writer(file, sample_run(), devices());
    const json document = sample_document();
    for (const json& result : document["results"]) writer.add(result);
    writer.end_group();
  }
  json run = sample_run();
  run["id"] = "second";
  json device = sample_device();
  device["ceilings"] = json::array();
  const output_file file(path_);
  results_writer writer =
      results_writer::resume(file, load_results(path_), run, json::array({device, sample_device("cuda:0")}));
  const json resumed = writer.document();
  EXPECT_EQ(resumed["run"]["id"], sample_run()["id"]);
  EXPECT_EQ(resumed["run"]["resumed"][0]["id"], "second");
  EXPECT_EQ(resumed["devices"].size(), 2u);
  EXPECT_EQ(resumed["devices"][0]["ceilings"].size(), 2u) << "ceilings measured before are lost";

  const json done = sample_document()["results"][0];
  const std::string key = done["key"];
  EXPECT_NE(writer.find(key, "openmp:0", "kernel"), nullptr);
  EXPECT_NE(writer.find(key, "openmp:0", ""), nullptr);
  EXPECT_EQ(writer.find(key, "openmp:0", "other"), nullptr);
  EXPECT_EQ(writer.find(key, "openmp:1", "kernel"), nullptr);

  const json failed = sample_document()["results"][6];
  const std::string failed_key = failed["key"];
  ASSERT_NE(writer.find(failed_key, "openmp:0", ""), nullptr);
  writer.add(sample_result("sum", 2097152, 1e-4));
  EXPECT_EQ(writer.find(failed_key, "openmp:0", "kernel")->at("status"), "ok");
  writer.end_group();
  EXPECT_EQ(load_results(path_)["results"].size(), 7u) << "the second try did not take the place of the first";
}

TEST_F(results_file_test, resumes_only_what_is_of_this_machine) {
  test::write_file(path_, dump_results(document_of({})));
  const std::string before = test::read_file(path_);
  const auto resume_with = [&](const json& device) {
    const output_file file(path_);
    return message_of(
        [&] { (void)results_writer::resume(file, load_results(path_), sample_run(), json::array({device})); });
  };
  json device = sample_device();
  device["name"] = "Another CPU";
  EXPECT_THAT(resume_with(device), AllOf(HasSubstr("Another CPU"), HasSubstr("openmp:0"), HasSubstr(path_)));
  json other_threads = sample_device();
  other_threads["threads"] = 4;
  EXPECT_THAT(resume_with(other_threads), HasSubstr("'threads' of its device openmp:0 is 2 in the file and 4 here"));
  EXPECT_EQ(test::read_file(path_), before);
  for (const char* path : {"-", "", "/dev/null"}) {
    const output_file file(path);
    EXPECT_THAT(message_of([&] { (void)results_writer::resume(file, json::object(), sample_run(), devices()); }),
                HasSubstr("cannot be resumed"));
  }
}

TEST_F(results_file_test, refuses_a_result_that_breaks_the_schema) {
  const output_file file(path_);
  results_writer writer(file, sample_run(), devices());
  json result = sample_result("add", 1024, 1e-6);
  result["time_s"]["median"] = -1;
  EXPECT_THAT(message_of([&] { writer.add(result); }), AllOf(HasSubstr("/time_s/median"), HasSubstr("add/f32")));
  EXPECT_THAT(message_of([&] { writer.add(json::object()); }), HasSubstr("without its case"));
  EXPECT_TRUE(writer.results().empty());
  result = sample_result("add", 1024, 1e-6);
  result["key"] = "";
  writer.add(result);
  EXPECT_EQ(writer.results()[0]["key"], result_key(result));
}

TEST_F(results_file_test, text_that_is_no_utf8_does_not_break_the_file) {
  const output_file file(path_);
  results_writer writer(file, sample_run(), devices());
  json result = skipped_result("add", 1024);
  result["reason"] = "broken \xff name";
  writer.add(result);
  writer.end_group();
  EXPECT_EQ(load_results(path_)["results"][0]["reason"], "broken \xEF\xBF\xBD name");
}

TEST_F(results_file_test, an_empty_path_only_collects) {
  const output_file file;
  results_writer writer(file, sample_run(), devices());
  writer.add(sample_result("add", 1024, 1e-6));
  writer.end_group();
  EXPECT_EQ(writer.document()["results"].size(), 1u);
  EXPECT_EQ(files(), 0u);
}

TEST_F(results_file_test, holds_thousands_of_results) {
  const output_file file(path_);
  results_writer writer(file, sample_run(), devices());
  for (std::uint64_t i = 1; i <= 2000; ++i) writer.add(sample_result("add", 1024 * i, 1e-6));
  writer.end_group();
  EXPECT_EQ(load_results(path_)["results"].size(), 2000u);
}

}  // namespace
}  // namespace prumo::bench
