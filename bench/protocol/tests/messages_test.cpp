// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/net_messages.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <tuple>

namespace prumo::protocol {
namespace {

json prepare_request_json() {
  return json::parse(R"({"request": "prepare", "device": "openmp:0", "op": "add", "dtype": "f32",
                         "shape": {"n": 1000}, "layout": "left", "parameters": {"alpha": 2.5},
                         "compute_mode": "strict", "seed": 18446744073709551615, "data": "resident",
                         "host_memory": null, "cache": "hot", "dispatch": "single", "implementation": null})");
}

TEST(read_message, reads_every_field) {
  const prepare_request parsed = read_message<prepare_request>(prepare_request_json());
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

TEST(read_message, absent_fields_take_the_defaults) {
  const prepare_request parsed =
      read_message<prepare_request>(json::parse(R"({"device": "d:0", "op": "add", "dtype": "f32"})"));
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
    std::ignore = read_message<prepare_request>(request);
    FAIL() << "accepted";
  } catch (const message_error& refused) {
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
                    broken_field{"cache", true, "'cache' should be a text and is true"},
                    broken_field{"host_memory", "far", "'host_memory' should be"},
                    broken_field{"seed", -3, "'seed' should be at least 0"},
                    broken_field{"implementation", 1, "'implementation' should be a text"}));

TEST(read_message, refuses_times_that_make_no_sense) {
  EXPECT_THROW(std::ignore = read_message<sample_request>(json::parse(R"({"case": 1})")), message_error);
  EXPECT_THROW(std::ignore = read_message<sample_request>(json::parse(R"({"case": 1, "seconds": -1})")), message_error);
  EXPECT_THROW(std::ignore = read_message<sample_request>(json::parse(R"({"case": 1, "seconds": 1e9})")),
               message_error);
  EXPECT_THROW(std::ignore = read_message<sample_request>(json::parse(R"({"case": "one", "seconds": 1})")),
               message_error);
  EXPECT_EQ(read_message<sample_request>(json::parse(R"({"case": 1, "seconds": 0})")).seconds, 0);
}

TEST(answers, unknown_is_null) {
  verify_answer verification;
  verification.error = std::numeric_limits<double>::quiet_NaN();
  verification.error_bound = std::nullopt;
  EXPECT_TRUE(write_message(verification).at("error").is_null());
  EXPECT_TRUE(write_message(verification).at("error_bound").is_null());
  EXPECT_TRUE(write_message(count_answer{}).at("counted").is_null());
  EXPECT_TRUE(write_message(sample_answer{}).at("clock_mhz").is_null());
}

TEST(answers, cases_tell_why_a_type_is_missing) {
  hello_answer hello;
  hello.cases.resize(2);
  hello.cases[1].missing_dtypes = {{"f64", "for GPUs only"}};
  const json cases = write_message(hello).at("cases");
  EXPECT_FALSE(cases.at(0).contains("missing_dtypes"));
  EXPECT_EQ(cases.at(1).at("missing_dtypes").dump(), R"({"f64":"for GPUs only"})");
}

TEST(answers, whole_numbers_stay_whole) {
  resolve_answer resolved;
  resolved.parameters = {{"alpha", 1}, {"beta", 0.5}};
  resolved.model.flops = 17179869184;
  const json answer = write_message(resolved);
  EXPECT_EQ(answer.at("parameters").dump(), R"({"alpha":1,"beta":0.5})");
  EXPECT_EQ(answer.at("model").at("flops").dump(), "17179869184");
}

TEST(answers, counts_hold_kinds_and_source) {
  EXPECT_EQ(write_message(count_answer{{{"add", 5}, {"total", 5}}, "kernel"}).at("counted").dump(),
            R"({"add":5,"total":5,"source":"kernel"})");
}

/// What one end writes the other one reads, field by field: written again it is the same.
template <class Message>
void expect_same_after_the_way(const Message& sent) {
  const json line = write_message(sent);
  EXPECT_EQ(write_message(read_message<Message>(line)).dump(), line.dump());
}

TEST(messages, requests_are_read_as_they_were_written) {
  prepare_request prepare;
  prepare.device = "cuda:0";
  prepare.op = "gemm";
  prepare.dtype = "f64";
  prepare.shape = {{"m", 3}, {"n", 4}};
  prepare.parameters = {{"alpha", 2.5}};
  prepare.seed = 18446744073709551615u;
  prepare.transferred = true;
  prepare.host_memory = "pageable";
  prepare.cold = false;
  prepare.single_calls = true;
  prepare.implementation = "library";
  expect_same_after_the_way(prepare);
  EXPECT_EQ(write_message(prepare).at("data"), "transferred");
  EXPECT_EQ(write_message(prepare).at("cache"), "hot");
  expect_same_after_the_way(hello_request{protocol_version, {"OMP_PLACES", "OMP_NUM_THREADS"}});
  expect_same_after_the_way(verify_request{3, 1e6});
  expect_same_after_the_way(sample_request{3, 0.05});
  resolve_request resolve;
  resolve.op = "add";
  resolve.dtype = "f32";
  expect_same_after_the_way(resolve);
  EXPECT_TRUE(write_message(resolve).at("bytes_per_array").is_null());
}

TEST(messages, answers_are_read_as_they_were_written) {
  hello_answer hello;
  hello.features = {"device", "telepathy"};
  hello.worker.name = "prumo-worker-openmp";
  hello.worker.backend = "openmp";
  hello.worker.versions = {{"kokkos", "5.2.2"}};
  hello.worker.pid = 4711;
  hello.devices = {{"openmp:0", "openmp", "", 2, false}};
  hello.cases.resize(1);
  hello.cases[0].op = "softmax";
  hello.cases[0].dtypes = {"f32"};
  hello.cases[0].axes = {{"rows", "of x", std::nullopt}, {"columns", "of x", 1024}};
  hello.cases[0].missing_dtypes = {{"f64", "for GPUs only"}};
  expect_same_after_the_way(hello);
  device_answer device;
  device.device = hello.devices[0];
  device.facts = {{"cores", 2}};
  expect_same_after_the_way(device);
  expect_same_after_the_way(prepare_answer{3, "kernel", 32, 201326592, "device", "recorded", "tensor"});
  expect_same_after_the_way(verify_answer{true, 0.25, 0.5, 100, "all", "", "recorded"});
  expect_same_after_the_way(count_answer{{{"add", 5}, {"total", 5}}, "kernel"});
  expect_same_after_the_way(count_answer{});
  sample_answer sample;
  sample.samples = {1e-3, 2e-3};
  sample.wall = {1e-3, 2e-3};
  sample.transfer = {{1e-4, 1e-4}, {0, 0}, 8, 4};
  sample.energy_j = 0.5;
  sample.throttle = {"power"};
  expect_same_after_the_way(sample);
}

TEST(messages, those_about_nets_are_read_as_they_were_written) {
  open_request open;
  open.device = "cuda:0";
  open.workload = "inference";
  open.net = {{"schema", "prumo.net/1"}, {"layers", json::array()}};
  open.dtype = "f16";
  open.batch = 1000;
  open.images = "/d/images";
  open.labels = "/d/labels";
  open.weights = "/d/weights";
  open.transferred = true;
  open.host_memory = "pinned";
  expect_same_after_the_way(open);
  EXPECT_EQ(write_message(open).at("data"), "transferred");
  open_answer opened;
  opened.implementation = "layers";
  opened.dispatch = "recorded";
  opened.images = opened.classes = 10;
  opened.steps = {{"conv1+pool1", {"conv1", "pool1"}, {1, 2, 3, "vector"}}};
  opened.load_s = 0.25;
  expect_same_after_the_way(opened);
  check_request check;
  check.session = 4;
  check.layer = true;
  check.images = {{3, 17}};
  expect_same_after_the_way(check);
  EXPECT_EQ(write_message(check).at("level"), "layer");
  EXPECT_FALSE(write_message(check_request{}).contains("images"));
  check_answer checked;
  checked.verified = true;
  checked.error = 0.25;
  checked.error_bound = 1;
  checked.checked = 36;
  checked.undecided = 1;
  checked.method = "sampled";
  expect_same_after_the_way(checked);
  time_request time;
  time.session = 4;
  time.layer = true;
  time.step = 2;
  time.seconds = 0.05;
  expect_same_after_the_way(time);
  expect_same_after_the_way(evaluate_answer{10000, 9871, {7, 2, 1}, 0.12});
  hello_answer hello;
  hello.worker.name = hello.worker.backend = "openmp";
  EXPECT_FALSE(write_message(hello).contains("workloads"));
  hello.workloads = {{"inference", {"f32"}, {"layers"}, {"strict"}}};
  expect_same_after_the_way(hello);
}

TEST(messages, those_about_trainings_are_read_as_they_were_written) {
  open_request open;
  open.device = "cuda:0";
  open.workload = "training";
  open.dtype = "f32";
  open.batch = 64;
  open.images = open.labels = open.weights = "/d/f";
  EXPECT_FALSE(write_message(open).contains("training"));
  open.training = {"/d/ti", "/d/tl", "softmax", "momentum", 0.02, 0.9, 7, false};
  expect_same_after_the_way(open);
  EXPECT_EQ(write_message(open).at("training").at("shuffle"), false);
  open_answer opened;
  opened.implementation = "layers";
  opened.images = opened.classes = 10;
  EXPECT_FALSE(write_message(opened).contains("steps_per_epoch"));
  opened.steps_per_epoch = 938;
  expect_same_after_the_way(opened);
  expect_same_after_the_way(advance_request{4, std::nullopt, 0.25});
  advance_answer advanced;
  advanced.steps = advanced.step = 12;
  advanced.images = 768;
  advanced.correct = 700;
  advanced.time = advanced.wall = 0.25;
  advanced.epoch_done = true;
  advanced.throttle = {"power"};
  expect_same_after_the_way(advanced);
  EXPECT_TRUE(write_message(advanced).at("loss").is_null());
  evaluate_answer tested{10000, 9871, {7, 2, 1}, 0.12};
  tested.loss = 0.07;
  tested.weights_sha256 = "00ff";
  expect_same_after_the_way(tested);
  save_request save{4, "/d/c", true, "what I know"};
  expect_same_after_the_way(save);
  EXPECT_EQ(write_message(save).at("content"), "weights");
  expect_same_after_the_way(save_answer{"00ff"});
  expect_same_after_the_way(load_request{4, "/d/c", true});
  expect_same_after_the_way(load_answer{3, 12, "what I know"});
}

TEST(read_message, refuses_messages_about_trainings_that_make_no_sense) {
  for (const char* text : {R"({"session": 1, "steps": 0})", R"({"session": 1, "seconds": -1})", R"({"steps": 1})"}) {
    EXPECT_THROW(std::ignore = read_message<advance_request>(json::parse(text)), message_error) << text;
  }
  for (const char* text : {R"({"session": 1})", R"({"session": 1, "path": ""})",
                           R"({"session": 1, "path": "p", "content": "everything"})"}) {
    EXPECT_THROW(std::ignore = read_message<save_request>(json::parse(text)), message_error) << text;
  }
  const json told = json::parse(R"({"steps": 1, "epoch": 1, "step": 1, "epoch_done": false, "images": 1, "loss": null,
                                    "correct": 0, "time": 1, "wall": 1})");
  EXPECT_FALSE(read_message<advance_answer>(told).loss);
  for (const char* field : {"steps", "epoch", "step", "images", "time"}) {
    json broken = told;
    broken[field] = 0;
    EXPECT_THROW(std::ignore = read_message<advance_answer>(broken), message_error) << field;
  }
  const json open = json::parse(R"({"device": "d:0", "workload": "training", "net": {}, "dtype": "f32", "batch": 1,
      "images": "i", "labels": "l", "weights": "w", "training": {"test_images": "i", "test_labels": "l",
      "loss": "softmax", "optimizer": "sgd", "learning_rate": 0.1}})");
  EXPECT_TRUE(read_message<open_request>(open).training->shuffle);
  json broken = open;
  broken["training"]["learning_rate"] = 0;
  EXPECT_THROW(std::ignore = read_message<open_request>(broken), message_error);
}

TEST(read_message, refuses_requests_about_nets_that_make_no_sense) {
  const json open = json::parse(R"({"device": "d:0", "workload": "inference", "net": {}, "dtype": "f32", "batch": 1,
                                    "images": "i", "labels": "l", "weights": "w"})");
  EXPECT_EQ(read_message<open_request>(open).batch, 1);
  for (const broken_field& it : {broken_field{"batch", 0, "'batch' should be at least 1"},
                                 broken_field{"batch", 1.5, "'batch' should be a whole number"},
                                 broken_field{"net", "lenet5", "'net' should be an object"},
                                 broken_field{"weights", nullptr, "'weights' is missing"},
                                 broken_field{"data", "moved", "'data' should be 'resident' or 'transferred'"}}) {
    json broken = open;
    broken[it.field] = it.value;
    try {
      std::ignore = read_message<open_request>(broken);
      ADD_FAILURE() << broken << " was accepted";
    } catch (const message_error& refused) {
      EXPECT_NE(std::string(refused.what()).find(it.said), std::string::npos) << refused.what();
    }
  }
  for (const char* text :
       {R"({"session": 1})", R"({"session": -1, "seconds": 0})", R"({"session": 1, "seconds": 4000})",
        R"({"session": 1, "seconds": 0, "level": "op"})", R"({"session": 1, "seconds": 0, "step": -1})"}) {
    EXPECT_THROW(std::ignore = read_message<time_request>(json::parse(text)), message_error) << text;
  }
  EXPECT_THROW(std::ignore = read_message<check_request>(json::parse(R"({"session": 1, "images": [-1]})")),
               message_error);
}

struct broken_answer {
  const char* text;
  const char* said;
};

TEST(read_message, refuses_answers_that_make_no_sense) {
  for (const broken_answer& it :
       {broken_answer{R"({"samples": []})", "'samples' should be a list that is not empty"},
        broken_answer{R"({"samples": [0]})", "'samples[0]' should be above 0 and is 0"},
        broken_answer{R"({"samples": [1], "transfer": {"h2d": [1]}})", "'transfer.d2h' is missing"}}) {
    try {
      std::ignore = read_message<sample_answer>(json::parse(it.text));
      ADD_FAILURE() << it.text << " was accepted";
    } catch (const message_error& refused) {
      EXPECT_NE(std::string(refused.what()).find(it.said), std::string::npos) << refused.what();
    }
  }
  EXPECT_THROW(std::ignore = read_message<count_answer>(json::parse("{}")), message_error);
  EXPECT_THROW(std::ignore = read_message<device_answer>(json::parse(R"({"device": null})")), message_error);
}

TEST(read_message, passes_over_what_a_newer_end_adds) {
  const json answer = json::parse(R"({"verified": true, "error": null, "confidence": 0.9})");
  const verify_answer verification = read_message<verify_answer>(answer);
  EXPECT_TRUE(verification.verified);
  EXPECT_FALSE(verification.error);
}

}  // namespace
}  // namespace prumo::protocol
