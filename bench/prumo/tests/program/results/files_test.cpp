// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happens to files: written, refused, never spoilt.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <unistd.h>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<std::string> bench_file_words(const std::vector<std::string>& words, const std::string& worker = {}) {
  return joined(joined({"bench", "--quick", "--op", "add", "--size", "2MB"}, words), fake_worker_words(worker));
}

TEST(files, results_follow_the_schema) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  ASSERT_EQ(
      run_prumo(bench_file_words({"-o", path, "--csv", folder.file("r.csv"), "--data", "resident,transferred"})).code,
      0);
  const json document = load_results(path);
  const json& run = document.at("run");
  for (const char* name : {"id", "started", "command", "versions", "host", "cpu", "memory", "power", "environment",
                           "warnings", "resources", "plan"}) {
    EXPECT_TRUE(run.contains(name)) << name;
  }
  ASSERT_EQ(document.at("results").size(), 3U);
  const json& measured = document.at("results").at(0);
  EXPECT_EQ(measured.at("status"), "ok");
  EXPECT_EQ(measured.at("verified"), true);
  EXPECT_EQ(measured.at("bytes_per_array"), 2097152);
  EXPECT_EQ(measured.at("flops").at("counted").at("total"), 524288);
  EXPECT_EQ(measured.at("verification"), json({{"method", "all"}, {"checked", 100}, {"dispatch", nullptr}}));
  EXPECT_EQ(document.at("results").at(1).at("verification"), json());
  EXPECT_EQ(measured.at("flops").at("counted_implementation"), json()) << "its worker does not say";
  EXPECT_EQ(measured.at("bytes"), 3 * 2097152);
  EXPECT_NEAR(measured.at("rates").at("gbytes").get<double>(), 20, 0.1);
  EXPECT_NEAR(measured.at("percent").at("roofline").get<double>(), 100, 1);
  EXPECT_EQ(measured.at("bound"), "memory");
  EXPECT_EQ(measured.at("time_s").at("stop"), "settled");
  EXPECT_EQ(document.at("results").at(1).at("status"), "skipped");
  EXPECT_EQ(document.at("results").at(1).at("reason"), "a host device has no transfers");
  std::set<std::string> probes;
  for (const json& ceiling : document.at("devices").at(0).at("ceilings")) probes.insert(ceiling.at("probe"));
  EXPECT_EQ(probes, (std::set<std::string>{"fma", "launch", "triad"})) << "what bounds an addition";
  EXPECT_EQ(measured.at("roof").at("memory_probe"), "triad");
  EXPECT_NEAR(measured.at("roof").at("memory").get<double>(), 2e10, 1e8);
  EXPECT_NEAR(measured.at("roof").at("launch_s").get<double>(), 2e-6, 1e-8);
  EXPECT_THAT(read_file(folder.file("r.csv")), HasSubstr("add"));
}

TEST(files, the_state_of_the_machine_is_kept_from_the_start_to_the_end) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  ASSERT_EQ(run_prumo(bench_file_words({"-o", path}, "--power-limit 65")).code, 0);
  const json state = load_results(path).at("run").at("state");
  for (const char* when : {"start", "end"}) {
    EXPECT_EQ(state.at(when).at("devices").at("fake:0").at("power_limit_w"), 65) << when;
    EXPECT_TRUE(state.at(when).at("time").is_string()) << when;
    EXPECT_TRUE(state.at(when).contains("host")) << when;
  }
  EXPECT_TRUE(state.at("during").contains("host"));
#if defined(__linux__)
  EXPECT_GE(state.at("start").at("host").at("processors"), 1);
#endif
}

#if defined(__linux__)
TEST(files, a_busy_machine_is_told_before_anything_is_measured) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const background_program other({"/bin/sh", "-c", "while :; do :; done"});
  const program_result ran = run_prumo(bench_file_words({"-o", path}));
  other.send_signal(SIGKILL);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("this machine is busy: other programs use "));
  const json run = load_results(path).at("run");
  EXPECT_THAT(run.at("warnings").dump(), HasSubstr("this machine is busy"));
  EXPECT_GT(run.at("state").at("start").at("host").at("used_by_others"), 0.15);
}
#endif

TEST(files, the_host_is_not_looked_at_where_a_launcher_may_lead_elsewhere) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const program_result ran = run_prumo(bench_file_words({"-o", path, "--launcher", "env"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(load_results(path).at("run").at("state").at("start").at("host").is_null());
}

TEST(files, counted_flops_tell_whose_kernel_was_counted) {
  const json document = bench_with_fake_worker({"--op", "gemm", "--size", "2MB"}, "");
  const json& product = document.at("results").at(0);
  EXPECT_EQ(product.at("implementation"), "library");
  EXPECT_EQ(product.at("flops").at("counted_implementation"), "portable");
  EXPECT_FALSE(product.at("flops").at("counted").contains("implementation")) << "an older prumo expects numbers there";
}

TEST(files, a_dash_is_standard_output_and_the_table_goes_aside) {
  const program_result result = run_prumo(bench_file_words({"-o", "-"}));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(json::parse(result.out).at("schema"), "prumo.results/1");
  EXPECT_THAT(result.err, HasSubstr("1 ok (1 verified)"));
}

TEST(files, own_results_are_replaced_by_force_and_only_when_there_are_new_ones) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  ASSERT_EQ(run_prumo(bench_file_words({"-o", path})).code, 0);
  const std::string before = read_file(path);
  const program_result refused = run_prumo(bench_file_words({"-o", path}));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("holds a result already (measured "));
  EXPECT_EQ(run_prumo(bench_file_words({"-o", path, "--force", "--device", "cuda:0"})).code, 3);
  const program_result failed = run_prumo(bench_file_words({"-o", path, "--force"}, "--fault sample:add=kill"));
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.out, HasSubstr("r.json keeps what it held, because nothing was measured"));
  EXPECT_EQ(read_file(path), before);
  EXPECT_EQ(run_prumo(bench_file_words({"-o", path, "--force"})).code, 0);
  EXPECT_NE(json::parse(read_file(path)).at("run").at("id"), json::parse(before).at("run").at("id"));
}

TEST(files, foreign_and_broken_files_are_left_alone) {
  const temporary_folder folder;
  for (const char* content : {"{\"a\": 1}", "not JSON at all", "{\"schema\": \"prumo.results/1\", \"run\": {"}) {
    const std::string path = folder.file("other.json");
    write_file(path, content);
    for (const auto& words :
         {std::vector<std::string>{"-o", path}, {"-o", path, "--resume"}, {"-o", path, "--force"}}) {
      const program_result result = run_prumo(bench_file_words(words));
      EXPECT_EQ(result.code, 2) << content;
      EXPECT_THAT(result.err, HasSubstr(path));
      EXPECT_EQ(read_file(path), content);
    }
  }
}

TEST(files, an_output_that_cannot_be_written_is_found_before_measuring) {
  const temporary_folder folder;
  const std::string log = folder.file("log");
  const program_result absent = run_prumo(bench_file_words({"-o", folder.file("absent/r.json")}, "--log " + log));
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("absent/r.json"));
  const program_result csv = run_prumo(bench_file_words({"--csv", folder.file("absent/r.csv")}, "--log " + log));
  EXPECT_EQ(csv.code, 2);
  EXPECT_THAT(csv.err, HasSubstr("absent/r.csv"));
  if (::geteuid() != 0) {
    std::filesystem::create_directory(folder.file("closed"));
    std::filesystem::permissions(folder.file("closed"), std::filesystem::perms::owner_read);
    EXPECT_EQ(run_prumo(bench_file_words({"-o", folder.file("closed/r.json")}, "--log " + log)).code, 3);
  }
  EXPECT_FALSE(std::filesystem::exists(log)) << "a worker was started";
}

TEST(files, resume_refuses_what_is_not_there_or_another_plan) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  EXPECT_EQ(run_prumo(bench_file_words({"-o", path, "--resume"})).code, 2);
  ASSERT_EQ(run_prumo(bench_file_words({"-o", path})).code, 0);
  const std::string before = read_file(path);
  const program_result cases = run_prumo(bench_file_words({"-o", path, "--resume", "--cache", "hot"}));
  EXPECT_EQ(cases.code, 2);
  EXPECT_THAT(cases.err, HasSubstr("has another plan (other cases). To continue it, repeat its own command"));
  const program_result seed = run_prumo(bench_file_words({"-o", path, "--resume", "--seed", "7"}));
  EXPECT_EQ(seed.code, 2);
  EXPECT_THAT(seed.err, HasSubstr("seed was 1, now it is 7"));
  EXPECT_EQ(read_file(path), before);
}

}  // namespace
}  // namespace prumo::bench::test
