// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prumo compare` as a whole: what its user sees, its files and its exit codes.
#include "results/results_file.hpp"
#include "run_program.hpp"
#include "sample_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace prumo::bench::test {
namespace {

using bench::testing::document_of;
using bench::testing::sample_bytes;
using bench::testing::sample_device;
using bench::testing::sample_result;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A file of one run: this many seconds an addition, two milliseconds a product.
std::string results(const temporary_folder& folder, const std::string& name, double seconds) {
  json document = document_of({sample_result("add", sample_bytes, seconds), sample_result("mul", sample_bytes, 2e-3)});
  document["run"]["id"] = name;
  write_file(folder.file(name), dump_results(document));
  return folder.file(name);
}

TEST(compare, two_files_of_a_device_are_two_versions) {
  const temporary_folder folder;
  const std::string before = results(folder, "before.json", 1e-3);
  const std::string after = results(folder, "after.json", 1.5e-3);
  const program_result shown = run_compare({before, after});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("1.00 ms"), HasSubstr("1.50 ms"), HasSubstr("1.500"),
                               HasSubstr("2 cases compared: 2 unclear")));
  EXPECT_THAT(shown.err, HasSubstr("two versions"));
  EXPECT_THAT(shown.out, Not(HasSubstr("\x1b"))) << "no colour where nobody looks";
}

TEST(compare, an_anonymous_comparison_names_neither_hosts_nor_users) {
  const temporary_folder folder;
  const scoped_variable home("HOME", folder.file(""));
  for (const char* name : {"node7.json", "node8.json"}) {
    json document = json::parse(read_file(results(folder, name, 1e-3)));
    const std::string host = std::string(name).substr(0, 5);
    document["run"]["host"]["name"] = host + ".example.org";
    document["run"]["conditions"] = {{"host", host + ".example.org"}, {"devices", json::object()}};
    document["devices"][0]["facts"]["uuid"] = "GPU-" + host;
    document["devices"][0]["name"] = "the CPU of " + host;
    write_file(folder.file(name), dump_results(document));
  }
  const std::string out = folder.file("c.json");
  const std::string csv = folder.file("c.csv");
  const std::vector<std::string> words{
      folder.file("node7.json"), folder.file("node8.json"), "-o", out, "--csv", csv, "--all"};
  const program_result named = run_compare(words);
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_THAT(named.out + read_file(out), AllOf(HasSubstr("node7"), HasSubstr(folder.file(""))));
  const program_result anonymous = run_compare(joined(words, {"--anonymous"}));
  ASSERT_EQ(anonymous.code, 0) << anonymous.err;
  for (const std::string& text : {anonymous.out, anonymous.err, read_file(out), read_file(csv)}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("node7")), Not(HasSubstr("node8")), Not(HasSubstr("prumo-test-"))));
  }
  EXPECT_THAT(json::parse(read_file(out)).at("command").dump(), HasSubstr("~/host.json"));
}

TEST(compare, a_gate_over_one_run_of_each_side_is_inconclusive) {
  const temporary_folder folder;
  const std::string before = results(folder, "before.json", 1e-3);
  const std::string after = results(folder, "after.json", 1.5e-3);
  const std::string out = folder.file("c.json");
  const program_result gated = run_compare({before, after, "--gate", "3%", "-o", out});
  EXPECT_EQ(gated.code, 4);
  EXPECT_THAT(gated.out, AllOf(HasSubstr("gate 3 %: INCONCLUSIVE"), HasSubstr("A gate needs 3 process runs or more"),
                               HasSubstr("prumo bench --against OLD_BUILD --gate 3%")));
  const json document = json::parse(read_file(out));
  EXPECT_TRUE(document.at("gate_passed").is_null());
  EXPECT_EQ(document.at("gate"), (json{{"outcome", "inconclusive"}, {"undecided", 2}, {"further_runs", 2}}));
}

/// Words for three files of each side, of which the additions take this long.
std::vector<std::string> three_of_each(const temporary_folder& folder, double before, double after) {
  std::vector<std::string> words;
  for (const char* name : {"a1", "a2", "a3"}) words.push_back(results(folder, name, before));
  words.emplace_back("--to");
  for (const char* name : {"b1", "b2", "b3"}) words.push_back(results(folder, name, after));
  return words;
}

TEST(compare, a_gate_answers_from_three_runs_of_each_side) {
  const temporary_folder folder;
  const auto slower = three_of_each(folder, 1e-3, 1.5e-3);
  const program_result failed = run_compare(joined(slower, {"--gate", "3%"}));
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_THAT(failed.out, HasSubstr("gate 3 %: NOT passed, 1 slower, 0 broke"));
  EXPECT_EQ(run_compare(joined(slower, {"--gate", "60%"})).code, 0);
  EXPECT_EQ(run_compare(joined(slower, {"--gate", "3%", "--op", "mul"})).code, 0) << "the slower one is left out";
  const temporary_folder other;
  EXPECT_EQ(run_compare(joined(three_of_each(other, 1.5e-3, 1e-3), {"--gate", "3%"})).code, 0) << "faster passes";
}

TEST(compare, several_files_a_side_are_process_runs) {
  const temporary_folder folder;
  std::vector<std::string> words;
  for (const char* name : {"a1", "a2", "a3"}) words.push_back(results(folder, name, 1e-3));
  words.emplace_back("--to");
  for (const char* name : {"b1", "b2", "b3"}) words.push_back(results(folder, name, 1.2e-3));
  const std::string out = folder.file("c.json");
  words = joined(words, {"-o", out});
  const program_result shown = run_compare(words);
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, Not(HasSubstr("assumed")));
  const json document = json::parse(read_file(out));
  EXPECT_EQ(document.at("sides").at(1).at("files").size(), 3U);
  EXPECT_EQ(document.at("cases").at(0).at("sides").at(1).at("process_runs"), 3);
  EXPECT_EQ(document.at("cases").at(0).at("sides").at(1).at("verdict"), "slower");
}

TEST(compare, devices_of_a_run_stand_side_by_side) {
  const temporary_folder folder;
  json peer = sample_result("add", sample_bytes, 4e-3);
  peer["device"] = "numpy:0";
  json document = document_of({sample_result("add", sample_bytes, 1e-3), peer});
  document["devices"].push_back(sample_device("numpy:0"));
  const std::string path = folder.file("r.json");
  write_file(path, dump_results(document));
  const program_result shown = run_compare({path, "--base", "numpy:0"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("openmp:0"), HasSubstr("numpy:0"), HasSubstr("4.00x"), HasSubstr("(base)")));
  EXPECT_THAT(run_compare({path, "--by", "roofline"}).out, HasSubstr("95.8%"));
  const program_result energy = run_compare({path, "--by", "energy"});
  EXPECT_EQ(energy.code, 2);
  EXPECT_THAT(energy.err, HasSubstr("no file has this value"));
  const program_result gated = run_compare({path, "--gate", "3%"});
  EXPECT_EQ(gated.code, 2);
  EXPECT_THAT(gated.err, HasSubstr("--to"));
}

TEST(compare, writes_a_document_and_a_spreadsheet) {
  const temporary_folder folder;
  const std::string before = results(folder, "before.json", 1e-3);
  const std::string after = results(folder, "after.json", 1e-3);
  const std::string out = folder.file("c.json");
  const std::string csv = folder.file("c.csv");
  const auto files = three_of_each(folder, 1e-3, 1e-3);
  ASSERT_EQ(run_compare(joined(files, {"-o", out, "--csv", csv, "--gate", "5%"})).code, 0);
  const json document = json::parse(read_file(out));
  EXPECT_EQ(document.at("schema"), "prumo.comparison/1");
  EXPECT_EQ(document.at("mode"), "versions");
  EXPECT_EQ(document.at("gate_passed"), true);
  EXPECT_EQ(document.at("cases").size(), 2U);
  EXPECT_DOUBLE_EQ(document.at("cases").at(0).at("sides").at(1).at("ratio").get<double>(), 1);
  EXPECT_THAT(read_file(csv), AllOf(HasSubstr("key,op,dtype"), HasSubstr("\r\nadd/f32/")));
  const program_result piped = run_compare({before, after, "-o", "-"});
  EXPECT_EQ(json::parse(piped.out).at("schema"), "prumo.comparison/1");
  EXPECT_THAT(piped.err, HasSubstr("cases compared"));
  EXPECT_EQ(run_compare({before, after, "-o", out}).code, 0) << "a comparison is replaced";
}

TEST(compare, outputs_destroy_nothing) {
  const temporary_folder folder;
  const std::string before = results(folder, "before.json", 1e-3);
  const std::string after = results(folder, "after.json", 1e-3);
  const std::string other = results(folder, "other.json", 1e-3);
  for (const auto& words : {std::vector<std::string>{"-o", before}, {"--csv", after}, {"-o", other}}) {
    const std::string content = read_file(words.back());
    EXPECT_EQ(run_compare(joined({before, after}, words)).code, 2);
    EXPECT_EQ(read_file(words.back()), content);
  }
  const std::string out = folder.file("c.json");
  for (const auto& words : {std::vector<std::string>{"-o", out, "--csv", folder.file("./c.json")},
                            {"-o", folder.file("./before.json")},
                            {"--csv", folder.file("./before.json")}}) {
    EXPECT_EQ(run_compare(joined({before, after}, words)).code, 2);
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  write_file(folder.file("notes.md"), "precious");
  EXPECT_EQ(run_compare({before, after, "--csv", folder.file("notes.md")}).code, 2);
  EXPECT_EQ(read_file(folder.file("notes.md")), "precious");
  ASSERT_EQ(run_compare({before, after, "--csv", folder.file("c.csv")}).code, 0);
  EXPECT_EQ(run_compare({before, after, "--csv", folder.file("c.csv")}).code, 0) << "a comparison is replaced";
  const program_result absent = run_compare({before, after, "-o", folder.file("absent/c.json")});
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("absent/c.json"));
}

TEST(compare, pipes_are_read_like_files) {
  const temporary_folder folder;
  const std::string before = results(folder, "before.json", 1e-3);
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const background_program writer({"/bin/sh", "-c", "exec cat '" + before + "' > '" + pipe + "'"});
  const program_result shown = run_compare({pipe, before});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("2 cases compared"));
}

TEST(compare, endless_and_huge_inputs_are_refused) {
  const temporary_folder folder;
  const std::string before = results(folder, "before.json", 1e-3);
  write_file(folder.file("huge"), "");
  std::filesystem::resize_file(folder.file("huge"), std::uintmax_t{1} << 30U);
  for (const std::string& input : {folder.file("huge"), std::string("/dev/zero")}) {
    const program_result refused = run_compare({input, before});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(input + ": holds "));
  }
}

TEST(compare, files_that_cannot_be_read_are_named_with_what_is_wrong) {
  const temporary_folder folder;
  const std::string good = results(folder, "good.json", 1e-3);
  const std::string whole = read_file(good);
  const auto message = [&](const std::string& name, const std::string& content) {
    write_file(folder.file(name), content);
    const program_result result = run_compare({good, folder.file(name)});
    EXPECT_EQ(result.code, 2) << name;
    EXPECT_THAT(result.out, IsEmpty()) << name;
    EXPECT_THAT(result.err, HasSubstr(name));
    return result.err;
  };
  EXPECT_THAT(message("empty.json", ""), HasSubstr("is empty"));
  EXPECT_THAT(message("cut.json", whole.substr(0, whole.size() / 2)), HasSubstr("is truncated"));
  EXPECT_THAT(message("broken.json", "{\"schema\": 1,\n  oops}"), HasSubstr("line 2, column 3"));
  EXPECT_THAT(message("other.json", "{\"a\": 1}"), HasSubstr("in no format"));
  EXPECT_THAT(message("latin.json", "{\"schema\": \"\xff\"}"), HasSubstr("line 1"));
  std::string newer = whole;
  newer.replace(newer.find("prumo.results/1"), 15, "prumo.results/2");
  EXPECT_THAT(message("newer.json", newer), AllOf(HasSubstr("'prumo.results/2'"), HasSubstr("use a newer prumo")));
  std::string zero = whole;
  zero.replace(zero.find("\"median\":"), 9, "\"median\":0,\"m\":");
  EXPECT_THAT(message("zero.json", zero), HasSubstr("/results/0/time_s/median"));
  EXPECT_EQ(run_compare({good, folder.file("absent.json")}).code, 2);
  EXPECT_EQ(run_compare({good, folder.file("")}).code, 2) << "a folder";
  if (::geteuid() != 0) {
    const std::string closed = results(folder, "closed.json", 1e-3);
    std::filesystem::permissions(closed, std::filesystem::perms::none);
    EXPECT_EQ(run_compare({good, closed}).code, 3);
  }
  EXPECT_EQ(run_compare({}).code, 2);
  EXPECT_EQ(run_compare({good, good, "--by", "speed"}).code, 2);
}

TEST(compare, nothing_in_common_is_no_comparison) {
  const temporary_folder folder;
  const std::string one = results(folder, "one.json", 1e-3);
  json hot = sample_result("add", sample_bytes, 1e-3);
  hot["cache"] = "hot";
  hot["key"] = result_key(hot);
  const std::string other = folder.file("other.json");
  write_file(other, dump_results(document_of({hot})));
  const program_result result = run_compare({one, other});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("different cache: cold in one.json, hot in other.json (2 cases)"));
}

TEST(compare, hostile_text_neither_moves_the_terminal_nor_runs_in_a_spreadsheet) {
  const temporary_folder folder;
  const std::string hostile = "=1+1\x1b[2J\nline\xE2\x80\xAE" + std::string(5000, 'A');
  const auto file = [&](const std::string& name) {
    json result = sample_result("add", sample_bytes, 1e-3);
    result["op"] = hostile;
    result["implementation"] = hostile;
    result["key"] = hostile;
    json document = document_of({result});
    document["run"]["id"] = name;
    document["run"]["versions"]["prumo"] = hostile + name;
    document["devices"][0]["name"] = hostile;
    write_file(folder.file(name), dump_results(document));
    return folder.file(name);
  };
  const std::string csv = folder.file("c.csv");
  const program_result shown = run_compare({file("a\x1b[31m.json"), file("b.json"), "--csv", csv, "--all"});
  EXPECT_EQ(shown.code, 0);
  for (const std::string& text : {shown.out, shown.err}) EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(read_file(csv), AllOf(HasSubstr("\"'=1+1"), Not(HasSubstr("\r\n=")), Not(HasSubstr(",="))));
}

TEST(compare, ten_thousand_rows_are_compared) {
  const temporary_folder folder;
  const auto file = [&](const std::string& name, std::size_t slower_rows) {
    std::vector<json> rows;
    for (std::size_t i = 0; i < 10000; ++i) {
      json result = sample_result("add", sample_bytes, i < slower_rows ? 2e-3 : 1e-3);
      result["shape"]["n"] = 1000 + i;
      result["key"] = result_key(result);
      rows.push_back(std::move(result));
    }
    json document = document_of(std::move(rows));
    document["run"]["id"] = name;
    write_file(folder.file(name), dump_results(document));
    return folder.file(name);
  };
  const program_result shown =
      run_compare({file("a1.json", 0), file("a2.json", 0), file("a3.json", 0), "--to", file("b1.json", 3),
                   file("b2.json", 3), file("b3.json", 3), "--gate", "10%"});
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("10000 cases compared"), HasSubstr("3 slower")));
}

TEST(compare, files_of_other_programs_are_compared) {
  const temporary_folder folder;
  const auto google = [&](const std::string& name, double time) {
    json benchmarks = json::array();
    for (int i = 0; i < 5; ++i) {
      benchmarks.push_back({{"name", "BM_copy/64"},
                            {"run_name", "BM_copy/64"},
                            {"run_type", "iteration"},
                            {"real_time", time + 0.001 * i},
                            {"time_unit", "us"}});
    }
    const json document = {{"context", {{"host_name", "station"}, {"library_version", name}}},
                           {"benchmarks", benchmarks}};
    write_file(folder.file(name), document.dump());
    return folder.file(name);
  };
  const program_result shown = run_compare({google("old.json", 2.0), google("new.json", 1.0), "--gate", "3%"});
  EXPECT_EQ(shown.code, 4) << "one process run of each";
  EXPECT_THAT(shown.out, AllOf(HasSubstr("BM_copy"), HasSubstr("0.5"), HasSubstr("Google Benchmark")));
}

TEST(compare, help_explains_itself) {
  const program_result help = run_compare({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--gate"), HasSubstr("Examples:"), HasSubstr("Exit codes:")));
  EXPECT_EQ(run_compare({"--gat", "3%"}).code, 2);
}

}  // namespace
}  // namespace prumo::bench::test
