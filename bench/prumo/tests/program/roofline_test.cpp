// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// prumo roofline, measured with the scripted worker (20 GB/s, 200 GFLOP/s), and from files without any worker.
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

const std::vector<std::string> no_worker{"--no-search"};

/// A file with ceilings and two operations.
std::string measured_file(const temporary_folder& folder) {
  const std::string path = folder.file("r.json");
  const program_result result =
      run_prumo(joined({"bench", "--quick", "--op", "add,gemm", "--size", "2MB", "-o", path}, fake_worker_words()));
  EXPECT_EQ(result.code, 0) << result.err;
  return path;
}

TEST(roofline, measures_memory_and_arithmetic_and_their_ridge) {
  const program_result result = run_prumo(joined({"roofline", "--dtype", "f32", "--json"}, fake_worker_words()));
  ASSERT_EQ(result.code, 0) << result.err;
  const json device = parse_results(result.out, "the output").at("devices").at(0);
  bool triad = false;
  for (const json& roof : device.at("rooflines")) {
    EXPECT_EQ(roof.at("dtype"), "f32");
    EXPECT_NEAR(roof.at("ridge").get<double>(), roof.at("compute").get<double>() / roof.at("memory").get<double>(),
                1e-9);
    if (roof.at("memory_probe") != "triad" || roof.at("cache") != "cold") continue;
    triad = true;
    EXPECT_NEAR(roof.at("ridge").get<double>(), 10, 0.1) << "200 GFLOP/s over 20 GB/s";
  }
  EXPECT_TRUE(triad);
}

TEST(roofline, of_a_file_needs_no_worker) {
  const temporary_folder folder;
  const std::string path = measured_file(folder);
  const program_result result = run_prumo(joined({"roofline", path, "--plot", "always"}, no_worker));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("triad"), HasSubstr("vector (measured)"), HasSubstr("flops per byte")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("0.0833 FLOP/B"), HasSubstr("FLOP/B")));
  EXPECT_THAT(result.out, AllOf(HasSubstr(" add"), HasSubstr(" gemm"), HasSubstr("● triad, cold")));
}

TEST(roofline, without_a_terminal_there_is_no_plot) {
  const temporary_folder folder;
  EXPECT_THAT(run_prumo(joined({"roofline", measured_file(folder)}, no_worker)).out, Not(HasSubstr("flops per byte")));
}

TEST(roofline, what_it_writes_it_reads) {
  const temporary_folder folder;
  const std::string path = folder.file("roofs.json");
  ASSERT_EQ(run_prumo(joined({"roofline", "--dtype", "f64", "-o", path}, fake_worker_words())).code, 0);
  const program_result again = run_prumo(joined({"roofline", path}, no_worker));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("f64"));
}

TEST(roofline, of_published_devices_is_theirs_by_their_peaks) {
  const program_result result =
      run_prumo({"roofline", std::string(PRUMO_DOCUMENTATION_FOLDER) + "/reference/theano-2017.json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("K40"), HasSubstr("288 GB/s"), HasSubstr("4.29 TFLOP/s")));
}

TEST(roofline, a_device_of_which_nothing_is_known_says_so) {
  const program_result result =
      run_prumo({"roofline", std::string(PRUMO_DOCUMENTATION_FOLDER) + "/reference/mps.json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Neither ceilings nor peaks are known"));
}

TEST(roofline, refuses_what_it_does_not_understand) {
  const auto refused = [](const std::vector<std::string>& words, const std::string& why) {
    const program_result result = run_prumo(joined(words, fake_worker_words()));
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  refused({"roofline", "/nowhere.json"}, "there is no such file");
  refused({"roofline", "--plot", "perhaps"}, "unknown value 'perhaps'");
  refused({"roofline", "--dtype", "f31"}, "--dtype: unknown value 'f31'");
  refused({"roofline", "--json", "a.json", "b.json"}, "take one results file");
}

TEST(roofline, a_worker_that_dies_costs_its_probes) {
  const program_result result =
      run_prumo(joined({"roofline", "--dtype", "f32"}, fake_worker_words("--fault sample:copy=die")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("triad"));
}

}  // namespace
}  // namespace prumo::bench::test
