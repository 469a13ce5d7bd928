// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_error.hpp>
#include <prumo/serving/server.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace prumo::protocol {
namespace {

/// Answers what it was told to, or throws.
class scripted_handler : public request_handler {
 public:
  hello_answer hello() override {
    hello_answer answer;
    answer.worker.name = "scripted";
    return answer;
  }
  device_answer device(const device_request&) override { throw std::bad_alloc(); }
  resolve_answer resolve(const resolve_request&) override { throw 7; }
  prepare_answer prepare(const prepare_request&) override {
    throw request_error(error_kind::unsupported, "not \xff here");
  }
  verify_answer verify(const verify_request&) override { throw std::runtime_error("broke"); }
  count_answer count(const count_request&) override { return {}; }
  sample_answer sample(const sample_request&) override {
    sample_answer answer;
    answer.samples = {1e-3};
    answer.wall = {1e-3};
    answer.batch = 4;
    return answer;
  }
  void release(std::int64_t case_id) override { released = case_id; }

  std::int64_t released = -1;
};

/// Cannot use a file.
template <bench::file_error::cause Why>
class handler_of_files final : public scripted_handler {
 public:
  count_answer count(const count_request&) override { throw bench::file_error(Why, "f: is no use"); }
};

/// Has one net with three images.
class net_handler final : public scripted_handler, public workload_handler {
 public:
  workload_handler* workloads() override { return this; }
  open_answer open(const open_request& request) override {
    if (request.workload != "inference") throw request_error(error_kind::usage, "no such workload");
    open_answer answer;
    answer.session = 5;
    answer.implementation = "layers";
    answer.images = 3;
    answer.classes = 2;
    return answer;
  }
  check_answer check(const check_request& request) override {
    check_answer answer;
    answer.verified = request.layer;
    return answer;
  }
  sample_answer time(const time_request& request) override {
    sample_answer answer;
    answer.samples = {static_cast<double>(request.step.value_or(9) + 1)};
    return answer;
  }
  evaluate_answer evaluate(const evaluate_request&) override { return {3, 2, {0, 1, 1}, 0.5}; }
  void close(std::int64_t session) override { closed = session; }

  std::int64_t closed = -1;
};

template <class Handler = scripted_handler>
json converse(const std::string& line) {
  Handler handler;
  bool quit = false;
  const std::string answer = answer_line(handler, line, quit);
  EXPECT_EQ(answer.find('\n'), std::string::npos);
  return json::parse(answer);
}

std::string kind_of(const json& answer) {
  EXPECT_FALSE(answer.at("ok").get<bool>());
  EXPECT_FALSE(answer.at("error").at("message").get<std::string>().empty());
  return answer.at("error").at("kind").get<std::string>();
}

TEST(answer_line, carries_the_id_of_the_request) {
  EXPECT_EQ(converse(R"({"id": 7, "request": "hello", "protocol": 1})").at("id"), 7);
  EXPECT_EQ(converse(R"({"id": "x", "request": "nothing"})").at("id"), "x");
  EXPECT_TRUE(converse(R"({"request": "hello"})").at("id").is_null());
}

TEST(answer_line, begins_with_id_and_ok) {
  scripted_handler handler;
  bool quit = false;
  EXPECT_TRUE(answer_line(handler, R"({"request": "hello", "id": 1})", quit).starts_with(R"({"id":1,"ok":true,)"));
}

TEST(answer_line, refuses_what_is_no_request) {
  for (const char* line : {"", "{", "nonsense", "[1, 2]", "7", "{}", R"({"request": 5})", R"({"request": "jump"})",
                           "{\"request\": \"\xff\"}", R"({"request": "sample"})", "{\"request\": \"hello\"} extra"}) {
    EXPECT_EQ(kind_of(converse(line)), "usage") << line;
  }
}

TEST(answer_line, refuses_deep_nesting_without_harm) {
  EXPECT_EQ(kind_of(converse(std::string(100000, '['))), "usage");
  const std::string nested = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_EQ(kind_of(converse(R"({"request": "hello", "id": )" + nested + "}")), "usage");
}

TEST(answer_line, refuses_overlong_lines) {
  const json answer = converse(std::string(longest_line + 1, ' '));
  EXPECT_EQ(kind_of(answer), "usage");
  EXPECT_TRUE(answer.at("id").is_null());
}

TEST(answer_line, greets_a_front_end_of_any_version_with_its_own_and_its_features) {
  const json answer = converse(R"({"request": "hello", "protocol": 2, "mood": "good"})");
  EXPECT_TRUE(answer.at("ok").get<bool>());
  EXPECT_EQ(answer.at("protocol"), protocol_version);
  EXPECT_EQ(answer.at("features").dump(), R"(["device","resolve","prepare","verify","count","sample","release"])");
}

TEST(answer_line, tells_the_variables_that_are_asked_for_and_no_others) {
  ASSERT_EQ(setenv("PRUMO_TEST_ASKED", "1", 1), 0);
  ASSERT_EQ(setenv("OMP_TEST_SECRET", "hunter2", 1), 0);
  const json answer = converse(R"({"request": "hello", "variables": ["PRUMO_TEST_ASKED", "PRUMO_TEST_UNSET"]})");
  EXPECT_EQ(answer.at("worker").at("environment"), json({{"PRUMO_TEST_ASKED", "1"}}));
  EXPECT_EQ(converse(R"({"request": "hello"})").at("worker").at("environment"), json::object());
  EXPECT_EQ(kind_of(converse(R"({"request": "hello", "variables": [7]})")), "usage");
}

TEST(answer_line, maps_exceptions_to_kinds) {
  EXPECT_EQ(kind_of(converse(R"({"request": "device", "device": "d"})")), "memory");
  EXPECT_EQ(kind_of(converse(R"({"request": "resolve", "op": "a", "dtype": "f32"})")), "failed");
  EXPECT_EQ(kind_of(converse(R"({"request": "prepare", "device": "d", "op": "a", "dtype": "f32"})")), "unsupported");
  EXPECT_EQ(kind_of(converse(R"({"request": "verify", "case": 1})")), "failed");
}

TEST(answer_line, a_file_is_a_mistake_of_the_users_unless_the_machine_refuses_it) {
  using why = bench::file_error::cause;
  const std::string count = R"({"request": "count", "op": "a", "dtype": "f32"})";
  EXPECT_EQ(kind_of(converse<handler_of_files<why::input>>(count)), "usage");
  EXPECT_EQ(kind_of(converse<handler_of_files<why::io>>(count)), "failed");
}

TEST(answer_line, hands_on_answers) {
  EXPECT_EQ(converse(R"({"request": "sample", "case": 1, "seconds": 0.1})").at("batch"), 4);
  EXPECT_TRUE(converse(R"({"request": "count", "op": "a", "dtype": "f32"})").at("counted").is_null());
}

TEST(answer_line, a_worker_without_nets_has_no_requests_about_them) {
  for (const std::string_view name : workload_requests) {
    const json answer = converse(R"({"request": ")" + std::string(name) + R"(", "session": 1})");
    EXPECT_EQ(kind_of(answer), "usage") << name;
    EXPECT_NE(answer.dump().find("there is no request"), std::string::npos) << answer;
  }
}

TEST(answer_line, hands_on_requests_about_nets) {
  const json features = converse<net_handler>(R"({"request": "hello"})").at("features");
  EXPECT_EQ(features.back(), "workloads");
  EXPECT_EQ(features.size(), protocol_features.size() + 1);
  const std::string open = R"({"request": "open", "device": "d", "workload": "inference", "net": {}, "dtype": "f32",
                               "batch": 2, "images": "i", "labels": "l", "weights": "w"})";
  EXPECT_EQ(converse<net_handler>(open).at("session"), 5);
  EXPECT_EQ(kind_of(converse<net_handler>(R"({"request": "open", "device": "d"})")), "usage");
  EXPECT_EQ(converse<net_handler>(R"({"request": "check", "session": 5, "level": "layer"})").at("verified"), true);
  EXPECT_EQ(converse<net_handler>(R"({"request": "check", "session": 5})").at("verified"), false);
  EXPECT_EQ(converse<net_handler>(R"({"request": "time", "session": 5, "step": 2, "seconds": 0})").at("samples").dump(),
            "[3]");
  EXPECT_EQ(converse<net_handler>(R"({"request": "evaluate", "session": 5})").at("predictions").dump(), "[0,1,1]");
  net_handler handler;
  bool quit = false;
  answer_line(handler, R"({"request": "close", "session": 5})", quit);
  EXPECT_EQ(handler.closed, 5);
}

TEST(answer_line, releases_and_quits) {
  scripted_handler handler;
  bool quit = false;
  answer_line(handler, R"({"request": "release", "case": 3})", quit);
  EXPECT_EQ(handler.released, 3);
  EXPECT_FALSE(quit);
  EXPECT_EQ(answer_line(handler, R"({"id": 1, "request": "quit"})", quit), R"({"id":1,"ok":true})");
  EXPECT_TRUE(quit);
}

}  // namespace
}  // namespace prumo::protocol
