// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The published figures that prumo brings. That the files are what their script makes is a test of its own.
#include "results/published_figures.hpp"

#include "results/results_file.hpp"
#include "terminal/program_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> folders{PRUMO_DOCUMENTATION_FOLDER};

json load(const std::string& name) { return load_published_sets(std::vector{name}, folders).at(0).document; }

json find(const json& document, const std::string& device, const std::string& op, std::uint64_t bytes_of_all) {
  for (const json& result : document.at("results")) {
    if (result.at("device") == device && result.at("op") == op && result.at("bytes") == bytes_of_all) return result;
  }
  return {};
}

TEST(published_figures, has_its_sets_in_the_format) {
  const auto names = published_set_names(folders);
  EXPECT_THAT(names, ElementsAre("ece408-2019", "ece408-2020", "mnist-cuda", "mnist-training", "mps", "theano-2017"));
  for (const published_set& set : load_published_sets(names, folders)) {
    for (const json& result : set.document.at("results")) {
      EXPECT_EQ(result.at("key"), result_key(result)) << set.name;
      EXPECT_FALSE(result.at("published").at("source").get<std::string>().empty()) << set.name;
      EXPECT_FALSE(result.at("published").at("lacks").empty()) << set.name;
      EXPECT_TRUE(result.at("flops").at("counted").is_null()) << "nobody ran our kernels";
      EXPECT_TRUE(result.at("rates").at("gflops").is_null()) << "hardware counts are another column";
    }
  }
}

TEST(published_figures, times_of_the_study_are_flops_over_the_rate_printed) {
  const json study = load("theano-2017");
  EXPECT_EQ(study.at("results").size(), 135U);
  const json add = find(study, "K40", "add", 6 << 20);
  EXPECT_EQ(add.at("shape"), (json{{"n", 512 * 1024}}));
  EXPECT_DOUBLE_EQ(add.at("time_s").at("median").get<double>(), 512 * 1024 / 10502.79e6);
  const json gemm = find(study, "GTX980", "gemm", 5 << 20);
  EXPECT_EQ(gemm.at("shape"), (json{{"m", 512}, {"n", 512}, {"k", 1024}}));
  EXPECT_DOUBLE_EQ(gemm.at("time_s").at("median").get<double>(), 2.0 * 512 * 512 * 1024 / 3533837.89e6);
}

TEST(published_figures, a_rate_of_an_unknown_number_of_flops_gives_no_time) {
  const json sigmoid = find(load("theano-2017"), "K40", "sigmoid", 2 << 20);
  EXPECT_EQ(sigmoid.at("status"), "skipped");
  EXPECT_TRUE(sigmoid.at("time_s").is_null());
  EXPECT_TRUE(sigmoid.at("flops").at("hardware").at("total").is_null());
  EXPECT_EQ(sigmoid.at("published").at("figures").at("mflops_per_s"), 101424.76);
}

TEST(published_figures, peaks_of_the_study_stand_both_ways) {
  const json device = load("theano-2017").at("devices").at(0);
  EXPECT_EQ(device.at("name"), "GT710M");
  EXPECT_NEAR(device.at("peaks").at(0).at("value").get<double>(), 297.6e9, 1e6);
  EXPECT_NEAR(device.at("peaks").at(1).at("value").get<double>(), 151e9, 1e9);
  EXPECT_EQ(device.at("facts").at("stalls").at("instruction_fetch_percent"), 12);
}

TEST(published_figures, the_lesson_is_four_floors) {
  const json lesson = load("mps");
  ASSERT_EQ(lesson.at("results").size(), 4U);
  const json& large = lesson.at("results").at(0);
  EXPECT_DOUBLE_EQ(large.at("time_s").at("median").get<double>(), 33.03488802909851 / 100);
  EXPECT_THAT(large.at("published").at("lacks").dump(), HasSubstr("floor"));
}

TEST(published_figures, convolutions_of_the_course_have_the_flops_that_its_layers_need) {
  const json course = load("ece408-2019");
  double first = 0;
  for (const json& result : course.at("results")) {
    if (result.at("op") != "convolution" || result.at("shape").at("images") != 10000) continue;
    if (result.at("shape").at("in_channels") == 1) first = result.at("flops").at("model").get<double>();
  }
  EXPECT_DOUBLE_EQ(first, 2.0 * 10000 * 44 * 44 * 6 * 25);
}

TEST(published_figures, an_unknown_name_lists_those_that_there_are) {
  try {
    (void)load_published_sets(std::vector<std::string>{"theano-2018"}, folders);
    FAIL();
  } catch (const program_error& error) {
    EXPECT_EQ(error.code(), exit_code::wrong_usage);
    EXPECT_THAT(error.what(), HasSubstr("unknown reference 'theano-2018'; did you mean 'theano-2017'?"));
    EXPECT_THAT(error.what(), HasSubstr("ece408-2019, ece408-2020, mnist-cuda, mnist-training, mps, theano-2017"));
  }
  const std::vector<std::string> elsewhere{"/nowhere"};
  EXPECT_THROW((void)load_published_sets(std::vector<std::string>{"mps"}, elsewhere), program_error);
}

}  // namespace
}  // namespace prumo::bench
