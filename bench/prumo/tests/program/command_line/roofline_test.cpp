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
using ::testing::ContainsRegex;
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

/// A file in which results have roofs of their own: a sum by `read`, an add in the cache, a product on a tensor unit.
std::string file_of_various_roofs(const temporary_folder& folder) {
  const std::string path = measured_file(folder);
  json document = json::parse(read_file(path));
  json& results = document.at("results");
  json& add = results.at(0);
  json& gemm = results.at(1);
  EXPECT_EQ(add.at("op"), "add");
  EXPECT_EQ(gemm.at("op"), "gemm");
  json hot = add;
  hot["cache"] = "hot";
  hot["roof"]["memory"] = 3 * add["roof"]["memory"].get<double>();
  hot["time_s"]["median"] = add["time_s"]["median"].get<double>() / 3;
  hot["percent"]["roofline"] = 97.3;
  json tensor = gemm;
  tensor["compute_mode"] = "fast_tf32";
  tensor["roof"]["compute"] = 9 * gemm["roof"]["compute"].get<double>();
  tensor["roof"]["compute_from"] = "matrix";
  tensor["time_s"]["median"] = gemm["time_s"]["median"].get<double>() / 8.83;
  tensor["percent"]["roofline"] = 88.6;
  json unknown = tensor;
  unknown["implementation"] = "portable";
  unknown["roof"]["compute"] = nullptr;
  unknown["percent"]["roofline"] = nullptr;
  for (json* it : {&hot, &tensor, &unknown}) results.push_back(*it);
  write_file(path, document.dump());
  return path;
}

TEST(roofline, shares_are_those_of_the_file) {
  const temporary_folder folder;
  const program_result result = run_prumo(joined({"roofline", file_of_various_roofs(folder)}, no_worker));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("hot  .* triad 60\\.0 GB/s .* 97\\.3%\n"));
  EXPECT_THAT(result.out, ContainsRegex("fast_tf32 .* library .* matrix 1\\.80 TFLOP/s .* 88\\.6%\n"));
  EXPECT_THAT(result.out, ContainsRegex("fast_tf32 .* portable .* n/a\n"));
  EXPECT_THAT(result.out, Not(ContainsRegex("(29[0-9]|88[0-9]) ?%")));
}

TEST(roofline, plots_keep_cache_states_apart_and_tell_the_share_of_each_point) {
  const temporary_folder folder;
  const program_result result =
      run_prumo(joined({"roofline", file_of_various_roofs(folder), "--plot", "always"}, no_worker));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("fake:0 f32, cold, 2MiB"), HasSubstr("fake:0 f32, hot, 2MiB")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("add 97.3 %"), HasSubstr("gemm fast_tf32 library 88.6 %")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("triad, hot, 2MiB | fma"), HasSubstr("triad, cold, 2MiB | matrix")));
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
