// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --resume: times of different builds, machines or settings do not end up in one file unnoticed.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* as_before = "--build a1 --blas 0.3.28 --driver 580.1 --power-limit 700";

std::vector<std::string> bench_into(const std::string& path, const std::vector<std::string>& words,
                                    const std::string& worker) {
  return joined(joined({"bench", "--quick", "--op", "add,mul", "--size", "2MB", "-o", path}, words),
                fake_worker_words(worker));
}

/// A file of a run that was interrupted before its second result.
json interrupted_run(const std::string& path, const std::vector<std::string>& words = {},
                     const std::string& worker = as_before) {
  const program_result whole = run_prumo(bench_into(path, words, worker));
  EXPECT_EQ(whole.code, 0) << whole.err;
  json document = load_results(path);
  EXPECT_EQ(document.at("results").size(), 2U);
  document["results"].erase(1);
  write_file(path, dump_results(document));
  return document;
}

TEST(resume, continues_under_the_same_conditions) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const json before = interrupted_run(path);
  const program_result rest = run_prumo(bench_into(path, {"--resume"}, as_before));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, Not(HasSubstr("conditions")));
  const json document = load_results(path);
  ASSERT_EQ(document.at("results").size(), 2U);
  const json& run = document.at("run");
  EXPECT_EQ(document.at("results").at(0).at("run_id"), run.at("id"));
  EXPECT_EQ(document.at("results").at(1).at("run_id"), run.at("resumed").at(0).at("id"));
  EXPECT_EQ(document.at("results").at(0).at("measured"), before.at("results").at(0).at("measured"));
  EXPECT_EQ(run.at("resumed").at(0).at("conditions"), run.at("conditions"));
}

TEST(resume, refuses_other_conditions_and_names_them) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  interrupted_run(path);
  const std::string before = read_file(path);
  const auto refused = [&](const std::string& worker, const std::string& what) {
    const program_result result = run_prumo(bench_into(path, {"--resume"}, worker));
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, AllOf(HasSubstr("cannot be resumed under other conditions"), HasSubstr(what),
                                  HasSubstr("name another file"), HasSubstr("--allow-mixed")));
    EXPECT_EQ(read_file(path), before) << "the file was changed";
  };
  refused("--build b2 --blas 0.3.28 --driver 580.1 --power-limit 700", "fake:0 build: a1 in the file, b2 now");
  refused("--build a1 --blas 0.3.34 --driver 580.1 --power-limit 700", "fake:0 blas: 0.3.28 in the file, 0.3.34 now");
  refused("--build a1 --blas 0.3.28 --driver 590.2 --power-limit 700",
          "fake:0 driver_version: 580.1 in the file, 590.2 now");
  refused("--build a1 --blas 0.3.28 --driver 580.1 --power-limit 500",
          "fake:0 power_limit_w: 700 in the file, 500 now");
  refused(std::string(as_before) + " --version-told 9.9", "fake:0 worker: 1.2.3 in the file, 9.9 now");
}

TEST(resume, refuses_another_host_build_of_prumo_and_environment) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const json document = interrupted_run(path);
  const auto refused = [&](const json::json_pointer& field, const std::string& what) {
    json other = document;
    other[field] = "elsewhere";
    write_file(path, dump_results(other));
    const program_result result = run_prumo(bench_into(path, {"--resume"}, as_before));
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(what));
  };
  refused("/run/conditions/host"_json_pointer, "host: elsewhere in the file, ");
  refused("/run/conditions/prumo_build"_json_pointer, "prumo_build: elsewhere in the file, ");
  refused("/run/conditions/devices/fake:0/environment/OMP_PLACES"_json_pointer,
          "fake:0 OMP_PLACES: elsewhere in the file, cores now");
}

TEST(resume, mixes_where_it_is_allowed_and_compare_tells_it) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  interrupted_run(path);
  const program_result rest = run_prumo(
      bench_into(path, {"--resume", "--allow-mixed"}, "--build b2 --blas 0.3.28 --driver 580.1 --power-limit 500"));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err,
              AllOf(HasSubstr("measured under other conditions"), HasSubstr("build: a1 in the file, b2 now")));
  const json document = load_results(path);
  const json& results = document.at("results");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_NE(results.at(0).at("run_id"), results.at(1).at("run_id"));
  const program_result compared = run_prumo({"compare", path, path});
  EXPECT_THAT(compared.err,
              AllOf(HasSubstr("measured under 2 different conditions (1 and 1 results)"),
                    HasSubstr("fake:0 build: a1, then b2"), HasSubstr("fake:0 power_limit_w: 700, then 500")));
  const std::string table = folder.file("r.csv");
  ASSERT_EQ(run_prumo(bench_into(path, {"--resume", "--csv", table},
                                 "--build b2 --blas 0.3.28 --driver 580.1 --power-limit 500"))
                .code,
            0);
  EXPECT_THAT(read_file(table), AllOf(HasSubstr(results.at(0).at("run_id").get<std::string>() + ",A device"),
                                      HasSubstr(results.at(1).at("run_id").get<std::string>() + ",A device")));
}

TEST(resume, another_number_of_threads_is_refused_even_where_mixing_is_allowed) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  interrupted_run(path, {}, "--threads 2");
  const std::string before = read_file(path);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--resume"}, {"--resume", "--allow-mixed"}}) {
    const program_result rest = run_prumo(bench_into(path, words, "--threads 1"));
    EXPECT_EQ(rest.code, 2) << rest.out;
    EXPECT_THAT(rest.err, AllOf(HasSubstr("'threads' of its device fake:0 is 2 in the file and 1 here"),
                                HasSubstr("with as many threads"), Not(HasSubstr("are added"))));
    EXPECT_EQ(read_file(path), before) << "the file was changed";
  }
}

TEST(resume, does_not_mix_conditions_within_a_result) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  json document = interrupted_run(path, {"--runs", "2"});
  json& time = document["results"][0]["time_s"];
  const auto first = time.at("runs").at(0).get<std::size_t>();
  time["samples"].erase(time["samples"].begin() + static_cast<std::ptrdiff_t>(first), time["samples"].end());
  time["runs"].erase(1);
  time["rounds"].erase(1);
  write_file(path, dump_results(document));
  const std::string earlier = document.at("run").at("id");
  ASSERT_EQ(run_prumo(bench_into(path, {"--runs", "2", "--resume", "--allow-mixed"}, "--build b2")).code, 0);
  const json mixed = load_results(path);
  for (const json& it : mixed.at("results")) {
    EXPECT_NE(it.at("run_id"), earlier) << "half of its samples are of the other build";
    EXPECT_EQ(it.at("time_s").at("runs").size(), 2U);
  }
}

TEST(resume, continues_files_of_an_older_prumo) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  json document = interrupted_run(path);
  const std::string id = document.at("run").at("id");
  document["run"].erase("conditions");
  document["run"]["versions"].erase("prumo build");
  document["devices"][0]["worker"]["build"].erase("id");
  for (const char* later : {"run_id", "measured", "verification"}) document["results"][0].erase(later);
  write_file(path, dump_results(document));
  const program_result compared = run_prumo({"compare", path, path});
  EXPECT_EQ(compared.code, 0) << compared.err;
  const program_result rest = run_prumo(bench_into(path, {"--resume"}, as_before));
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("does not tell which build measured it"));
  const json now = load_results(path);
  EXPECT_EQ(now.at("results").at(0).at("run_id"), id);
  EXPECT_EQ(now.at("run").at("conditions").at("devices").at("fake:0").at("versions").at("blas"), "0.3.28");
}

TEST(resume, still_refuses_what_its_older_entry_tells) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  json document = interrupted_run(path);
  document["run"].erase("conditions");
  write_file(path, dump_results(document));
  const program_result rest =
      run_prumo(bench_into(path, {"--resume"}, "--blas 0.3.34 --driver 580.1 --power-limit 700"));
  EXPECT_EQ(rest.code, 2);
  EXPECT_THAT(rest.err, HasSubstr("fake:0 blas: 0.3.28 in the file, 0.3.34 now"));
}

TEST(resume, allow_mixed_goes_with_it) {
  const temporary_folder folder;
  const program_result result = run_prumo(bench_into(folder.file("r.json"), {"--allow-mixed"}, ""));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--resume"));
}

}  // namespace
}  // namespace prumo::bench::test
