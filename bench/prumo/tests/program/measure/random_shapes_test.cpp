// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// prumo bench --random-shapes: what is drawn, and the summary.
#include "plan/random_shapes.hpp"

#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

program_result bench_random_shapes(const std::vector<std::string>& words,
                                   const std::string& worker = "--backend openmp") {
  return run_prumo(joined(joined({"bench", "--no-probe"}, words), fake_worker_words(worker)));
}

TEST(random_extent, is_the_same_on_every_machine) {
  std::vector<std::uint64_t> drawn;
  for (std::uint64_t number = 0; number < 6; ++number) drawn.push_back(random_extent(1, "softmax", number, 0, 24));
  EXPECT_EQ(drawn, (std::vector<std::uint64_t>{225753, 5, 90241, 377, 3, 4061256}));
  EXPECT_NE(random_extent(2, "softmax", 0, 0, 24), drawn[0]);
}

TEST(random_extent, has_every_number_of_bits_equally_often) {
  std::map<int, int> lengths;
  constexpr int draws = 6000, most_bits = 11;
  for (std::uint64_t number = 0; number < draws; ++number) {
    const std::uint64_t extent = random_extent(1, "add", number, 3, most_bits);
    int bits = 0;
    while (extent >> (bits + 1) != 0) ++bits;
    ++lengths[bits];
  }
  EXPECT_EQ(lengths.size(), most_bits + 1);
  for (const auto& [bits, count] : lengths) EXPECT_NEAR(count, draws / (most_bits + 1), 120) << bits;
}

/// The operations take turns, and choosing among them changes none of their shapes.
TEST(random_shapes, do_not_depend_on_the_other_operations) {
  const temporary_folder folder;
  const auto shapes = [&](const std::vector<std::string>& words) {
    const program_result result =
        bench_random_shapes(joined(words, {"--time-budget", "60s", "--force", "-o", folder.file("r.json")}));
    EXPECT_EQ(result.code, 0) << result.err;
    std::map<std::string, std::multiset<std::string>> found;
    const json document = load_results(folder.file("r.json"));
    for (const json& it : document.at("results")) {
      EXPECT_EQ(it.at("status"), "ok");
      EXPECT_EQ(it.at("verified"), true);
      found[it.at("op")].insert(it.at("shape").dump() + it.at("cache").dump());
    }
    return found;
  };
  const auto two = shapes({"--random-shapes", "10", "--op", "add,softmax"});
  EXPECT_EQ(two.at("add").size(), 5U);
  EXPECT_EQ(two.at("softmax").size(), 5U);
  const auto one = shapes({"--random-shapes", "5", "--op", "softmax"});
  EXPECT_EQ(one.at("softmax"), two.at("softmax"));
  const auto others = shapes({"--random-shapes", "5", "--op", "softmax", "--seed", "2"});
  EXPECT_NE(others.at("softmax"), two.at("softmax"));
}

/// prumo takes twice the peer's time: each case is behind, and has its command.
TEST(random_shapes, are_summed_up_beside_a_peer) {
  const temporary_folder folder;
  const program_result result = run_prumo(
      {"bench", "--no-probe", "--no-search", "--random-shapes", "4", "--op", "softmax", "--dtype", "f32", "--cache",
       "hot", "--time-budget", "60s", "--worker", "own=" + fake_worker_command("--backend openmp --factor softmax=2"),
       "--worker", "other=" + fake_worker_command("--backend torch-cpu")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("All shapes of each operation"), HasSubstr("mean ratio"),
                                HasSubstr("The worst shapes beside a peer")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("0.50"), HasSubstr("--op softmax --shape columns="),
                                HasSubstr("--dtype f32 --cache hot --data resident")));
}

/// NumPy does not report its threads, but it runs on the same processor.
TEST(random_shapes, are_compared_with_a_peer_that_tells_no_threads) {
  const program_result result = run_prumo(
      {"bench", "--no-probe", "--no-search", "--random-shapes", "2", "--op", "softmax", "--dtype", "f32", "--cache",
       "hot", "--time-budget", "60s", "--worker", "own=" + fake_worker_command("--backend openmp --factor softmax=2"),
       "--worker", "other=" + fake_worker_command("--backend numpy")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mean ratio"), HasSubstr("peer numpy:0")));
}

TEST(random_shapes, without_a_peer_are_sorted_by_their_roofline) {
  const program_result result =
      run_prumo(joined({"bench", "--random-shapes", "4", "--op", "add", "--dtype", "f32", "--time-budget", "60s"},
                       fake_worker_words("--backend openmp")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("by their share of the roofline"), Not(HasSubstr("mean ratio"))));
}

/// The results of 60 shapes on two devices. The second device first loads kernels for three seconds.
json results_beside_a_slow_start(const std::string& budget) {
  const temporary_folder folder;
  const std::string path = folder.file("r.json");
  const program_result result =
      run_prumo({"bench", "--no-probe", "--no-search", "--random-shapes", "60", "--op", "add,softmax", "--dtype", "f32",
                 "--time-budget", budget, "-o", path, "--worker", "own=" + fake_worker_command("--backend openmp"),
                 "--worker", "other=" + fake_worker_command("--backend torch-cpu --loads 6")});
  EXPECT_EQ(result.code, 0) << result.err;
  return json::parse(read_file(path)).at("results");
}

/// If the first cases were taken for usual, there would seem to be no time for most of the others.
TEST(random_shapes, are_measured_beside_a_peer_that_loads_kernels_at_first) {
  const json results = results_beside_a_slow_start("30s");
  std::size_t measured = 0;
  for (const json& it : results) measured += it.at("status") == "ok" ? 1 : 0;
  EXPECT_GE(measured, 100U) << "of 120";
}

/// A shape that was measured on one device only cannot be compared.
TEST(random_shapes, are_left_out_for_all_devices_or_for_none) {
  const json results = results_beside_a_slow_start("3s");
  std::map<std::string, std::set<std::string>> statuses;
  for (const json& it : results) statuses[it.at("key")].insert(it.at("status"));
  EXPECT_EQ(statuses.size(), 60U);
  std::set<std::set<std::string>> kinds;
  for (const auto& [key, of_case] : statuses) kinds.insert(of_case);
  EXPECT_EQ(kinds, (std::set<std::set<std::string>>{{"ok"}, {"skipped"}}));
}

TEST(random_shapes, replace_sizes) {
  EXPECT_EQ(bench_random_shapes({"--random-shapes", "4", "--size", "2MB"}).code, 2);
  EXPECT_EQ(bench_random_shapes({"--random-shapes", "0"}).code, 2);
  EXPECT_THAT(bench_random_shapes({"--random-shapes", "3", "--op", "gemm", "--list"}).out, HasSubstr("k="));
}

}  // namespace
}  // namespace prumo::bench::test
