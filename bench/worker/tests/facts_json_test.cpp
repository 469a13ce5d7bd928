// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "facts_json.hpp"

#include <gtest/gtest.h>

namespace prumo::worker {
namespace {

TEST(describe, keeps_every_fact_and_leaves_unknown_null) {
  machine::device_facts facts;
  facts.id = "openmp:0";
  facts.backend = "openmp";
  facts.name = "some processor";
  facts.threads = 4;
  facts.cores = 2;
  facts.instruction_sets = std::vector<std::string>{"sse2", "avx2"};
  facts.extras = {{"nested", machine::fact_value::object{{"flag", true}, {"list", machine::fact_value::list{1, 2.5}}}}};
  const protocol::device_answer answer = describe(facts, {}, false);
  EXPECT_EQ(answer.device.id, "openmp:0");
  EXPECT_EQ(answer.device.threads, 4);
  EXPECT_EQ(answer.facts.at("cores"), 2);
  EXPECT_TRUE(answer.facts.at("clock_max_mhz").is_null());
  EXPECT_EQ(answer.facts.at("instruction_sets").dump(), R"(["sse2","avx2"])");
  EXPECT_EQ(answer.facts.at("nested").dump(), R"({"flag":true,"list":[1,2.5]})");
}

TEST(summarize, a_device_with_a_memory_of_its_own_has_transfers_and_no_number_of_threads) {
  machine::device_facts facts;
  facts.threads = 1;
  EXPECT_EQ(summarize(facts, true).threads, std::nullopt);
  EXPECT_EQ(summarize(facts, true).transfers, true);
  EXPECT_EQ(summarize(facts, false).threads, 1);
  EXPECT_EQ(summarize(facts, false).transfers, false);
}

TEST(describe, tells_where_a_peak_comes_from) {
  machine::peak known;
  known.type = dtype::f32;
  known.value = 1.5e12;
  known.clock_mhz = 3000;
  known.source = "by multiplication";
  machine::peak unknown;
  unknown.unit = machine::peak_unit::memory;
  unknown.clock = machine::peak_clock::measured;
  const protocol::json peaks = describe({}, {known, unknown}, false).peaks;
  EXPECT_EQ(peaks.at(0).at("unit"), "vector");
  EXPECT_EQ(peaks.at(0).at("dtype"), "f32");
  EXPECT_EQ(peaks.at(0).at("value"), 1.5e12);
  EXPECT_EQ(peaks.at(0).at("clock"), "max");
  EXPECT_EQ(peaks.at(0).at("source"), "by multiplication");
  EXPECT_TRUE(peaks.at(1).at("dtype").is_null());
  EXPECT_TRUE(peaks.at(1).at("value").is_null());
  EXPECT_EQ(peaks.at(1).at("clock"), "measured");
}

}  // namespace
}  // namespace prumo::worker
