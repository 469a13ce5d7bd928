// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/messages.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <ostream>

namespace prumo::protocol {
namespace {

json prepare_request_json() {
  return json::parse(R"({"request": "prepare", "device": "openmp:0", "op": "add", "dtype": "f32",
                         "shape": {"n": 1000}, "layout": "left", "parameters": {"alpha": 2.5},
                         "compute_mode": "strict", "seed": 18446744073709551615, "data": "resident",
                         "host_memory": null, "cache": "hot", "dispatch": "single", "implementation": null})");
}

TEST(parse_prepare, reads_every_field) {
  const prepare_request parsed = parse_prepare(prepare_request_json());
  EXPECT_EQ(parsed.device, "openmp:0");
  EXPECT_EQ(parsed.op, "add");
  EXPECT_EQ(parsed.dtype, "f32");
  ASSERT_EQ(parsed.shape.size(), 1u);
  EXPECT_EQ(parsed.shape[0].first, "n");
  EXPECT_EQ(parsed.shape[0].second, 1000);
  ASSERT_EQ(parsed.parameters.size(), 1u);
  EXPECT_EQ(parsed.parameters[0].second, 2.5);
  EXPECT_EQ(parsed.layout, "left");
  EXPECT_EQ(parsed.seed, 18446744073709551615u);
  EXPECT_FALSE(parsed.transferred);
  EXPECT_FALSE(parsed.host_memory);
  EXPECT_FALSE(parsed.cold);
  EXPECT_TRUE(parsed.single_calls);
  EXPECT_FALSE(parsed.implementation);
}

TEST(parse_prepare, absent_fields_take_the_defaults) {
  const prepare_request parsed = parse_prepare(json::parse(R"({"device": "d:0", "op": "add", "dtype": "f32"})"));
  EXPECT_EQ(parsed.layout, "right");
  EXPECT_EQ(parsed.compute_mode, "strict");
  EXPECT_EQ(parsed.seed, 1u);
  EXPECT_TRUE(parsed.cold);
  EXPECT_FALSE(parsed.single_calls);
}

struct broken_field {
  const char* field;
  json value;
  const char* said;

  // Without it the tests' names hold addresses.
  friend void PrintTo(const broken_field& it, std::ostream* out) { *out << it.field << '=' << it.value.dump(); }
};

class refused_field : public testing::TestWithParam<broken_field> {};

TEST_P(refused_field, is_named) {
  json request = prepare_request_json();
  request[GetParam().field] = GetParam().value;
  try {
    parse_prepare(request);
    FAIL() << "accepted";
  } catch (const request_error& refused) {
    EXPECT_EQ(refused.kind(), error_kind::usage);
    EXPECT_NE(std::string(refused.what()).find(GetParam().said), std::string::npos) << refused.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    prepare, refused_field,
    testing::Values(broken_field{"op", nullptr, "'op' is missing"}, broken_field{"op", 7, "'op' should be a text"},
                    broken_field{"dtype", json::array(), "'dtype' should be a text and is []"},
                    broken_field{"shape", "big", "'shape' should be an object"},
                    broken_field{"shape", {{"n", -1}}, "'shape.n' should be at least 0"},
                    broken_field{"shape", {{"n", 1.5}}, "'shape.n' should be a whole number"},
                    broken_field{"shape", {{"n", 1e300}}, "'shape.n' should be a whole number"},
                    broken_field{
                        "shape", {{"n", std::numeric_limits<std::uint64_t>::max()}}, "'shape.n' should be below"},
                    broken_field{"parameters", {{"alpha", "x"}}, "'parameters.alpha' should be a number"},
                    broken_field{"device", nullptr, "'device' is missing"},
                    broken_field{"data", "moved", "'data' should be 'resident' or 'transferred' and is \"moved\""},
                    broken_field{"cache", true, "'cache' should be a text"},
                    broken_field{"host_memory", "far", "'host_memory' should be"},
                    broken_field{"seed", -3, "'seed' should be at least 0"},
                    broken_field{"implementation", 1, "'implementation' should be a text"}));

TEST(parse_sample, refuses_times_that_make_no_sense) {
  EXPECT_THROW(parse_sample(json::parse(R"({"case": 1})")), request_error);
  EXPECT_THROW(parse_sample(json::parse(R"({"case": 1, "seconds": -1})")), request_error);
  EXPECT_THROW(parse_sample(json::parse(R"({"case": 1, "seconds": 1e9})")), request_error);
  EXPECT_THROW(parse_sample(json::parse(R"({"case": "one", "seconds": 1})")), request_error);
  EXPECT_EQ(parse_sample(json::parse(R"({"case": 1, "seconds": 0})")).seconds, 0);
}

TEST(answers, unknown_is_null) {
  verify_answer verification;
  verification.error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(to_json(verification).at("error").is_null());
  EXPECT_TRUE(to_json(count_answer{}).at("counted").is_null());
  EXPECT_TRUE(to_json(sample_answer{}).at("clock_mhz").is_null());
}

TEST(answers, cases_tell_why_a_type_is_missing) {
  hello_answer hello;
  hello.cases.resize(2);
  hello.cases[1].missing_dtypes = {{"f64", "for GPUs only"}};
  const json cases = to_json(hello).at("cases");
  EXPECT_FALSE(cases.at(0).contains("missing_dtypes"));
  EXPECT_EQ(cases.at(1).at("missing_dtypes").dump(), R"({"f64":"for GPUs only"})");
}

TEST(answers, whole_numbers_stay_whole) {
  resolve_answer resolved;
  resolved.parameters = {{"alpha", 1}, {"beta", 0.5}};
  resolved.model.flops = 17179869184;
  const json answer = to_json(resolved);
  EXPECT_EQ(answer.at("parameters").dump(), R"({"alpha":1,"beta":0.5})");
  EXPECT_EQ(answer.at("model").at("flops").dump(), "17179869184");
}

TEST(answers, counts_hold_kinds_and_source) {
  EXPECT_EQ(to_json(count_answer{{{"add", 5}, {"total", 5}}, "kernel"}).at("counted").dump(),
            R"({"add":5,"total":5,"source":"kernel"})");
}

}  // namespace
}  // namespace prumo::protocol
