// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/thread_sweep.hpp"

#include "reports/thread_scaling.hpp"
#include "results/results_file.hpp"
#include "sample_results.hpp"
#include "terminal/program_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using numbers = std::vector<int>;
using words = std::vector<std::string>;

/// Two domains of three and two cores; the cores of the first have two hardware threads.
host_processors two_domains() {
  return host_processors::from_facts(json::parse(R"({"hardware_threads": 99, "numa_domains": [
      {"node": 0, "cores": [[0, 5], [1, 6], [2, 7]]}, {"node": 1, "cores": [[3], [4]]}]})"));
}

TEST(host_processors, counts_what_may_be_used) {
  EXPECT_EQ(two_domains().cores(), 5);
  EXPECT_EQ(two_domains().hardware_threads, 8);
}

TEST(host_processors, places_fill_cores_domain_by_domain_before_second_threads) {
  EXPECT_EQ(two_domains().places(1), (numbers{0}));
  EXPECT_EQ(two_domains().places(4), (numbers{0, 1, 2, 3}));
  EXPECT_EQ(two_domains().places(7), (numbers{0, 1, 2, 3, 4, 5, 6}));
}

TEST(host_processors, facts_of_another_form_are_not_known) {
  for (const char* facts : {"null", "{}", R"({"numa_domains": null})", R"({"numa_domains": "many"})",
                            R"({"numa_domains": [{"node": 0}]})", R"({"numa_domains": [{"cores": ["0-3"]}]})"}) {
    const host_processors host = host_processors::from_facts(json::parse(facts));
    EXPECT_THAT(host.domains, IsEmpty()) << facts;
    EXPECT_EQ(host.hardware_threads, std::nullopt) << facts;
    EXPECT_THAT(host.places(2), IsEmpty());
  }
  EXPECT_EQ(host_processors::from_facts(json::parse(R"({"hardware_threads": 4})")).hardware_threads, 4);
}

TEST(thread_numbers, are_ascending_and_once) {
  EXPECT_EQ(thread_numbers(words{"4", "1", "4"}, two_domains()), (numbers{1, 4}));
  EXPECT_EQ(thread_numbers(words{"cores"}, two_domains()), (numbers{1, 2, 4, 5}));
  EXPECT_EQ(thread_numbers(words{"numa"}, two_domains()), (numbers{3, 5}));
  EXPECT_EQ(thread_numbers(words{"numa", "cores", "8"}, two_domains()), (numbers{1, 2, 3, 4, 5, 8}));
}

TEST(thread_numbers, without_known_cores_take_numbers_only) {
  EXPECT_EQ(thread_numbers(words{"64"}, {}), (numbers{64}));
  try {
    std::ignore = thread_numbers(words{"cores"}, {});
    FAIL();
  } catch (const program_error& error) {
    EXPECT_EQ(error.code(), exit_code::machine_cannot);
    EXPECT_THAT(error.what(), HasSubstr("the cores of this machine are not known; name numbers"));
  }
}

TEST(words_for_threads, name_a_processor_for_each_thread) {
  const words started = words_for_threads(2, numbers{0, 8}, thread_binding::by_openmp);
  EXPECT_EQ(started.front(), "env");
  EXPECT_THAT(started, Contains("OMP_NUM_THREADS=2"));
  EXPECT_THAT(started, Contains("OMP_PLACES={0},{8}"));
  EXPECT_THAT(started, Not(Contains("taskset")));
}

TEST(words_for_threads, confine_pools_that_openmp_does_not_know) {
  const words started = words_for_threads(2, numbers{0, 8}, thread_binding::by_mask);
  ASSERT_GE(started.size(), 3U);
  EXPECT_THAT(words(started.end() - 3, started.end()), ElementsAre("taskset", "-c", "0,8"));
  EXPECT_THAT(words_for_threads(2, {}, thread_binding::by_mask), Not(Contains("taskset")));
}

json with_threads(int threads, double seconds) {
  json result = testing::sample_result("add", 2097152, seconds);
  result["threads"] = threads;
  result["key"] = result_key(result);
  return result;
}

TEST(thread_scalings, refer_to_the_fewest_threads) {
  const json results = json::array({with_threads(4, 0.5), with_threads(2, 0.8), with_threads(8, 0.2)});
  const thread_scalings scalings(results);
  EXPECT_TRUE(scalings.any());
  EXPECT_DOUBLE_EQ(scalings.of(results[1])->speed_up, 1);
  EXPECT_DOUBLE_EQ(scalings.of(results[0])->speed_up, 1.6);
  EXPECT_DOUBLE_EQ(scalings.of(results[0])->efficiency, 0.8);
  EXPECT_DOUBLE_EQ(scalings.of(results[2])->efficiency, 1);
}

TEST(thread_scalings, are_unknown_without_times_or_threads) {
  json failed = with_threads(1, 1);
  failed["status"] = "failed";
  const json results = json::array({failed, with_threads(2, 0.5)});
  EXPECT_EQ(thread_scalings(results).of(results[1]).has_value(), false);
  const json ordinary = json::array({testing::sample_result("add", 2097152, 1)});
  EXPECT_FALSE(thread_scalings(ordinary).any());
  EXPECT_EQ(thread_scalings(ordinary).of(ordinary[0]).has_value(), false);
}

TEST(result_key, tells_chosen_threads_and_no_others) {
  json result = testing::sample_result("add", 2097152, 1);
  const std::string plain = result_key(result);
  EXPECT_THAT(plain, EndsWith("/cold"));
  result.erase("threads");
  EXPECT_EQ(result_key(result), plain) << "files of earlier versions";
  result["threads"] = 4;
  EXPECT_EQ(result_key(result), plain + "/threads=4");
}

}  // namespace
}  // namespace prumo::bench
