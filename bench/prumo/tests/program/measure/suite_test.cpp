// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// prumo bench --suite and --with: published figures beside what is measured.
#include "plan/suites.hpp"
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

program_result bench_suite(const std::vector<std::string>& words, const std::string& worker = {}) {
  return run_prumo(joined(joined({"bench", "--quick"}, words), fake_worker_words(worker)));
}

TEST(suite, measures_the_cases_of_the_study_and_prints_its_tables) {
  const temporary_folder folder;
  const program_result result =
      bench_suite({"--suite", "theano-2017", "--no-probe", "--time-budget", "60s", "-o", folder.file("r.json")});
  EXPECT_EQ(result.code, 0) << result.err;
  const json document = load_results(folder.file("r.json"));
  std::map<std::string, int> cases;
  for (const json& it : document.at("results")) {
    ++cases[it.at("op").get<std::string>()];
    EXPECT_EQ(it.at("data"), "resident");
  }
  EXPECT_EQ(cases, (std::map<std::string, int>{{"add", 5}, {"mul", 5}, {"gemm", 5}, {"scale", 10}}));
  EXPECT_THAT(result.err, HasSubstr("unknown operation 'sigmoid'")) << "the scripted worker has none";
  EXPECT_THAT(result.out, AllOf(HasSubstr("Table 2"), HasSubstr("Table 3"), HasSubstr("GT710M"), HasSubstr("K40"),
                                HasSubstr("GTX980"), HasSubstr("fake:0")));
  // A flop for each of three times four bytes at 20 GB/s, of a peak of 400 GFLOP/s; the GTX980 stands in front of it.
  EXPECT_THAT(masked(result.out), HasSubstr("# # # # # # # # #"));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("979.11"), HasSubstr("1666"), HasSubstr("3869462.63"), HasSubstr("18031.07")));
  EXPECT_THAT(result.out, HasSubstr("counters saw, about 10"));
}

TEST(suite, is_listed_and_takes_no_operations_of_the_users) {
  EXPECT_THAT(bench_suite({"--help"}).out, HasSubstr("theano-2017"));
  EXPECT_THAT(bench_suite({"--suite", "theano-2017", "--list"}).out, HasSubstr("k=16384 m=512 n=512"));
  const program_result unknown = bench_suite({"--suite", "theano"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("unknown suite 'theano'; did you mean 'theano-2017'?"));
  EXPECT_EQ(bench_suite({"--suite", "theano-2017", "--op", "add"}).code, 2);
}

TEST(suite, of_a_course_has_the_layers_of_its_net) {
  const std::string name = "ece408-2020";
  const suite& which = find_suite(name);
  ASSERT_EQ(which.cases.size(), 6U);
  EXPECT_EQ(which.cases.back().op, "convolution");
  EXPECT_EQ(which.cases.back().shape.at("images"), 10000);
  EXPECT_EQ(which.cases.back().shape.at("in_channels"), 4);
  const program_result result = bench_suite({"--suite", name});
  EXPECT_THAT(result.err, HasSubstr("unknown operation 'convolution'")) << "the scripted worker has none";
}

TEST(published, rows_stand_below_the_table) {
  const program_result result = bench_suite({"--op", "add", "--size", "2MB", "--with", "theano-2017"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto place = result.out.find("Published: theano-2017");
  ASSERT_NE(place, std::string::npos);
  const std::string below = result.out.substr(place);
  EXPECT_THAT(below, AllOf(HasSubstr("ERAD 2017"), HasSubstr("The source lacks: several"), HasSubstr("GTX980"),
                           HasSubstr("535 µs")));
  EXPECT_THAT(below, Not(HasSubstr("gemm"))) << "only what was measured";
}

TEST(published, an_unknown_set_is_refused_before_anything_is_measured) {
  const temporary_folder folder;
  const program_result result = bench_suite({"--with", "theano"}, "--log " + folder.file("log"));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("unknown reference 'theano'"),
                                HasSubstr("ece408-2019, ece408-2020, mnist-cuda, mnist-training, mps")));
  EXPECT_EQ(read_file(folder.file("log")), "");
}

}  // namespace
}  // namespace prumo::bench::test
