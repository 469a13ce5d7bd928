// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is written where: nothing is overwritten by something else, nothing is lost in silence, nothing secret is told.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> bench_output_words(const std::vector<std::string>& words, const std::string& worker = {}) {
  return joined(joined({"bench", "--quick", "--no-probe", "--op", "add", "--size", "2MB"}, words),
                fake_worker_words(worker));
}

TEST(outputs, one_file_has_one_purpose_whatever_its_names_are) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  std::filesystem::create_symlink("r.json", folder.file("link.json"));
  for (const std::string& csv : {path, folder.file("./r.json"), folder.file("link.json")}) {
    const program_result refused = run_prumo(bench_output_words({"--csv", csv, "-o", path}));
    EXPECT_EQ(refused.code, 2) << csv;
    EXPECT_THAT(refused.err, HasSubstr("-o and --csv name the same file"));
    EXPECT_FALSE(std::filesystem::exists(path)) << "a run was made";
  }
  ASSERT_EQ(run_prumo(bench_output_words({"-o", path})).code, 0);
  const std::string before = read_file(path);
  EXPECT_EQ(run_prumo(bench_output_words({"--csv", folder.file("link.json"), "-o", path, "--resume"})).code, 2);
  EXPECT_EQ(run_prumo({"roofline", path, "-o", folder.file("./r.json"), "--force"}).code, 2);
  EXPECT_EQ(read_file(path), before);
}

TEST(outputs, tables_replace_tables_alone) {
  const temporary_folder folder;
  const std::string notes = folder.file("notes.md");
  write_file(notes, "precious\n");
  for (const auto& words : {std::vector<std::string>{"--csv", notes}, {"--csv", notes, "--force"}}) {
    const program_result refused = run_prumo(bench_output_words(words));
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("notes.md: is no table of this kind, so it is not overwritten"));
    EXPECT_EQ(read_file(notes), "precious\n");
  }
  const std::string table = folder.file("t.csv");
  ASSERT_EQ(run_prumo(bench_output_words({"--csv", table})).code, 0);
  EXPECT_THAT(run_prumo(bench_output_words({"--csv", table})).err,
              HasSubstr("is a table already; --force replaces it"));
  EXPECT_EQ(run_prumo(bench_output_words({"--csv", table, "--force"})).code, 0);
}

TEST(outputs, an_empty_name_is_refused) {
  for (const char* option : {"-o", "--csv"}) {
    const program_result refused = run_prumo(bench_output_words({option, ""}));
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("has an empty value; is a shell variable not set?"));
  }
  EXPECT_EQ(run_prumo(bench_output_words({"--output="})).code, 2);
}

TEST(outputs, a_second_run_is_told_who_writes) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  background_program first(
      joined({PRUMO_PROGRAM}, bench_output_words({"-o", path, "--min-samples", "20"}, "--delay 0.05")));
  while (!std::filesystem::exists(folder.file(".r.json.lock")))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const program_result second = run_prumo(bench_output_words({"-o", path}));
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err,
              HasSubstr("another prumo writes to this file: process " + std::to_string(first.id()) + " on "));
  EXPECT_EQ(first.wait().code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.file(".r.json.lock")));
}

#if defined(__linux__)
TEST(outputs, lost_output_is_told) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const std::vector<std::string> worker = fake_worker_words();
  for (const std::vector<std::string>& words :
       {bench_output_words({"-o", path}), joined({"devices", "--no-probe"}, worker),
        std::vector<std::string>{"roofline", path}, std::vector<std::string>{"compare", path, path},
        std::vector<std::string>{"--help"}}) {
    const program_result lost = run_shell(prumo_command(words) + " > /dev/full");
    EXPECT_EQ(lost.code, 3) << words.front();
    EXPECT_THAT(lost.err, HasSubstr("standard output cannot be written: No space left on device")) << words.front();
  }
  EXPECT_EQ(load_results(path).at("results").size(), 1U) << "the file is written all the same";
  EXPECT_EQ(run_shell(prumo_command(bench_output_words({"-o", "-"})) + " > /dev/full").code, 3);
  EXPECT_EQ(run_shell(prumo_command({"compare", path, path}) + " >&-").code, 3);
  EXPECT_EQ(run_shell(prumo_command({"compare", path, path}) + " 2>&-").code, 0) << "notes are not worth an error";
  const program_result full = run_prumo(bench_output_words({"-o", "/dev/full"}));
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("/dev/full: is a device that does not keep"));
}

TEST(outputs, a_closed_pipe_is_an_error_with_a_message) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  ASSERT_EQ(run_prumo(bench_output_words({"-o", path})).code, 0);
  // The reader tells that it has closed the pipe, and only then the program begins to write.
  const std::string closed = "'" + folder.file("closed") + "'";
  const program_result lost =
      run_shell("mkfifo " + closed + "; (read -r told < " + closed + "; " + prumo_command({"compare", path, path}) +
                "; echo \"code $?\" >&2) | (exec <&-; echo told > " + closed + ")");
  EXPECT_THAT(lost.err, HasSubstr("Broken pipe"));
  EXPECT_THAT(lost.err, HasSubstr("code 3"));
}

TEST(outputs, a_file_that_cannot_grow_costs_neither_table_nor_results) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  // The limit is that of prumo alone: what it prints goes through pipes.
  const program_result limited = run_shell("((ulimit -f 1; exec " + prumo_command(bench_output_words({"-o", path})) +
                                           " 3>&-) 2>&1 >&3 | cat >&2) 3>&1 | cat");
  EXPECT_THAT(limited.err, HasSubstr("r.json: cannot be written: File too large; raise the limit of file sizes"));
  EXPECT_THAT(limited.err, HasSubstr("Measuring goes on"));
  EXPECT_THAT(limited.out, HasSubstr("1 ok (1 verified)"));
  EXPECT_FALSE(std::filesystem::exists(path));
}
#endif

TEST(outputs, a_folder_that_vanishes_costs_neither_table_nor_results) {
  const temporary_folder folder;
  std::filesystem::create_directory(folder.file("place"));
  const std::string path = folder.file("place/r.json");
  const std::string log = folder.file("log");
  background_program program(
      joined({PRUMO_PROGRAM}, bench_output_words({"-o", path, "--min-samples", "20"}, "--delay 0.05 --log " + log)));
  while (!std::filesystem::exists(log)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::filesystem::remove_all(folder.file("place"));
  const program_result ended = program.wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.out, HasSubstr("1 ok (1 verified)"));
  EXPECT_THAT(ended.out, Not(HasSubstr("results: ")));
  const std::string before_copy =
      "place/r.json: cannot be written: No such file or directory; create its folder first; "
      "what it should hold is in ";
  ASSERT_THAT(ended.err, HasSubstr(before_copy));
  const std::size_t begin = ended.err.find(before_copy) + before_copy.size();
  const std::string copy = ended.err.substr(begin, ended.err.find('\n', begin) - begin);
  EXPECT_EQ(load_results(copy).at("results").size(), 1U);
  std::filesystem::remove(copy);
}

TEST(outputs, what_may_be_a_secret_is_not_recorded) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const scoped_variable token("PRUMO_TOKEN", "hunter2");
  const scoped_variable key("CUDA_API_KEY", "hunter2");
  const scoped_variable dynamic("OMP_DYNAMIC", "false");
  const program_result ran = run_prumo(bench_output_words({"-o", path, "--launcher", "env A_TOKEN=hunter2"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read_file(path), Not(HasSubstr("hunter2")));
  EXPECT_EQ(load_results(path).at("run").at("environment").at("OMP_DYNAMIC"), "false");
}

TEST(outputs, an_anonymous_file_names_no_host) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  ASSERT_EQ(run_prumo(bench_output_words({"-o", path, "--anonymous"})).code, 0);
  const json run = load_results(path).at("run");
  EXPECT_EQ(run.at("host").at("name"), json());
  EXPECT_FALSE(run.at("conditions").contains("host"));
  EXPECT_EQ(run_prumo(bench_output_words({"-o", path, "--anonymous", "--resume"})).code, 0);
  EXPECT_EQ(load_results(path).at("run").at("resumed").at(0).at("host").at("name"), json());
}

}  // namespace
}  // namespace prumo::bench::test
