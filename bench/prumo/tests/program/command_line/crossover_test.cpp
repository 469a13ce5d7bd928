// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// prumo crossover, with a host and a GPU whose times follow formulas, so that their break-even is known.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string worker(const std::string& name, const std::string& options) {
  return name + '=' + fake_worker_command("--noise 0 " + options);
}

/// A host of 20 GB/s and 200 GFLOP/s, and a GPU that is `speed` times as fast with 5 us for each call beside it.
std::vector<std::string> host_and_gpu(const std::string& gpu_options = "--speed 10") {
  return {"--no-search", "--worker", worker("host", "--backend openmp"), "--worker",
          worker("gpu", "--backend cuda --no-energy " + gpu_options)};
}

program_result crossover(const std::vector<std::string>& words, const std::vector<std::string>& workers) {
  return run_prumo(joined(joined({"crossover", "--time-budget", "20s"}, words), workers));
}

json measure(const std::vector<std::string>& words, const std::vector<std::string>& workers) {
  const temporary_folder folder;
  const program_result result = crossover(joined(words, {"-o", folder.file("r.json")}), workers);
  EXPECT_EQ(result.code, 0) << result.err << result.out;
  return load_results(folder.file("r.json"));
}

json crossing(const json& document, const std::string& data) {
  for (const json& it : document.at("run").at("crossovers")) {
    if (it.at("data") == data) return it;
  }
  return {};
}

/// 3 s / 20 GB/s on the host. The work of the GPU takes less than its launch and 5 us around it.
void expect_break_even_of_add(const std::vector<std::string>& words, const std::string& dispatch, double launch) {
  const json found =
      crossing(measure(joined({"--op", "add", "--data", "resident"}, words), host_and_gpu()), "resident");
  ASSERT_EQ(found.at("break_even").size(), 1U) << found;
  EXPECT_EQ(found.at("dispatch"), dispatch);
  const double exact = (launch + 5e-6) * 2e10 / 3;
  const json& at = found.at("break_even").at(0);
  EXPECT_NEAR(at.at("size").get<double>(), exact, 0.02 * exact);
  EXPECT_LE(at.at("low").get<double>(), exact);
  EXPECT_GE(at.at("high").get<double>(), exact);
  EXPECT_LE(at.at("high").get<double>(), 1.1 * at.at("low").get<double>()) << "searched, not only bracketed";
  EXPECT_EQ(at.at("overtakes"), true);
  EXPECT_EQ(found.at("faster_at_largest"), true);
}

TEST(crossover, finds_the_size_at_which_both_take_the_same_time) { expect_break_even_of_add({}, "single", 4.5e-6); }

TEST(crossover, recorded_calls_break_even_earlier) {
  expect_break_even_of_add({"--dispatch", "recorded"}, "recorded", 2e-6);
}

TEST(crossover, says_how_calls_are_launched) {
  const program_result usual = crossover({"--op", "add", "--data", "resident"}, host_and_gpu());
  EXPECT_THAT(usual.out, HasSubstr("calls: the host launches each by itself (--dispatch single)"));
  const program_result recorded =
      crossover({"--op", "add", "--data", "resident", "--dispatch", "recorded"}, host_and_gpu());
  EXPECT_THAT(recorded.out,
              AllOf(HasSubstr("(--dispatch recorded), which hides the cost of launching"), HasSubstr("larger size")));
  EXPECT_THAT(run_prumo({"crossover", "--help"}).out, HasSubstr("(default single)"));
}

TEST(crossover, transfers_move_it_away) {
  const json document = measure({"--op", "gemm"}, host_and_gpu());
  const double resident = crossing(document, "resident").at("break_even").at(0).at("size").get<double>();
  const double pinned = crossing(document, "pinned").at("break_even").at(0).at("size").get<double>();
  const double pageable = crossing(document, "pageable").at("break_even").at(0).at("size").get<double>();
  EXPECT_LT(resident, pinned);
  EXPECT_LT(pinned, pageable);
}

TEST(crossover, tells_where_there_is_none) {
  const program_result slow = crossover({"--op", "add"}, host_and_gpu("--speed 0.5"));
  EXPECT_EQ(slow.code, 0) << slow.err;
  EXPECT_THAT(slow.out, HasSubstr("cuda:0 resident never overtakes openmp:0 from 4KiB to 64MiB"));
  const program_result fast = crossover({"--op", "add", "--data", "resident", "--size", "1MB:64MB"}, host_and_gpu());
  EXPECT_THAT(fast.out, HasSubstr("cuda:0 resident is faster than openmp:0 at every size from 1MiB to 64MiB"));
}

TEST(crossover, one_device_has_a_curve_and_nothing_to_cross) {
  const program_result result = crossover({"--op", "add,sum", "--plot", "always"}, fake_worker_words());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("There is no crossover to find"), HasSubstr("64MiB"), HasSubstr("● fake:0")));
}

TEST(crossover, without_a_terminal_there_is_no_plot) {
  const program_result result = crossover({"--op", "add"}, fake_worker_words());
  EXPECT_THAT(result.out, Not(HasSubstr("●")));
}

TEST(crossover, the_lesson_stands_beside_its_four_published_figures) {
  const temporary_folder folder;
  const program_result result = crossover({"-o", folder.file("r.json")}, host_and_gpu());
  ASSERT_EQ(result.code, 0) << result.err << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("33.0 s"), HasSubstr("53.2 s"), HasSubstr("96.5 ms"), HasSubstr("5.88 ms")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("published"), HasSubstr("floor"), HasSubstr("measured here")));
  const json document = load_results(folder.file("r.json"));
  std::set<std::string> large;
  for (const json& it : document.at("results")) {
    if (it.at("op") != "matmul_sum" || it.at("shape") != json{{"m", 7000}, {"n", 7000}, {"k", 3000}}) continue;
    large.insert(it.at("device").get<std::string>() + " " + it.at("data").get<std::string>());
    EXPECT_EQ(it.at("verified"), true);
    EXPECT_THAT(it.at("warnings").dump(), HasSubstr("composed"));
    EXPECT_EQ(it.at("key"), "matmul_sum/f32/k=3000,m=7000,n=7000/right/-/strict/" + it.at("data").get<std::string>() +
                                "/" + (it.at("host_memory").is_null() ? "-" : it.at("host_memory").get<std::string>()) +
                                "/hot" + (it.at("data") == "resident" ? "/dispatch=single" : ""))
        << "calls with copies are always single";
    if (it.at("device") != "openmp:0") continue;
    const double seconds = 2.0 * 7000 * 7000 * 3000 / 2e11 + 4.0 * 7000 * 7000 / 2e10;
    EXPECT_NEAR(it.at("time_s").at("median").get<double>(), seconds, 1e-3 * seconds);
  }
  EXPECT_EQ(large, (std::set<std::string>{"openmp:0 resident", "cuda:0 resident", "cuda:0 transferred"}));
}

TEST(crossover, a_worker_that_dies_costs_its_point) {
  const temporary_folder folder;
  auto workers = host_and_gpu("--speed 10 --fault prepare:add#3=die");
  const program_result result = crossover({"--op", "add", "--data", "resident", "-o", folder.file("r.json")}, workers);
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.out, AllOf(HasSubstr("left out: add"), HasSubstr("told to die"), HasSubstr("overtakes openmp:0")));
  EXPECT_EQ(crossing(load_results(folder.file("r.json")), "resident").at("break_even").size(), 1U);
}

TEST(crossover, what_does_not_fit_is_left_out) {
  const program_result result =
      crossover({"--op", "add", "--data", "resident"}, host_and_gpu("--speed 10 --memory 20000000"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("left out: add 64MiB cuda:0 resident: skipped"), HasSubstr("overtakes")));
}

TEST(crossover, refuses_what_it_does_not_understand) {
  const auto refused = [](const std::vector<std::string>& words, const std::string& why) {
    const program_result result = crossover(words, fake_worker_words());
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  refused({"--op", "ad"}, "did you mean 'add'?");
  refused({"--op", "add", "--rows", "1:2"}, "--rows goes without --op");
  refused({"--size", "1MB:2MB"}, "--size goes with --op");
  refused({"--op", "add", "--size", "2MB"}, "--size: '2MB' is not LOW:HIGH; for example --size 4KiB:64MiB");
  refused({"--rows", "70:7"}, "does not end above its beginning");
  refused({"--rows", "0:7"}, "--rows: '0' is not a whole number from 1 to");
  refused({"--data", "elsewhere"}, "unknown value 'elsewhere'");
  refused({"--plot", "perhaps"}, "unknown value 'perhaps'");
  refused({"--cache", "warm"}, "unknown value 'warm'");
  refused({"--dtype", "f31"}, "unknown type 'f31'");
}

TEST(crossover, lists_what_it_would_measure) {
  const program_result result = crossover({"--list"}, fake_worker_words());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("from 70 x 30 to 7000 x 3000"));
}

}  // namespace
}  // namespace prumo::bench::test
