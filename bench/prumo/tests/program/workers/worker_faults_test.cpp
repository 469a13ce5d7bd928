// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A worker that dies, hangs or lies: what the client says, and that it goes on.
#include "run_program.hpp"
#include "terminal/interrupt.hpp"
#include "workers/worker_client.hpp"
#include "workers/worker_fleet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <tuple>

namespace prumo::bench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

protocol::prepare_request add_request() {
  protocol::prepare_request what;
  what.device = "fake:0";
  what.op = "add";
  what.dtype = "f32";
  what.shape = {{"n", 1000}};
  return what;
}

struct fault {
  const char* name;
  worker_failure::reason why;
  const char* message;
};

void PrintTo(const fault& value, std::ostream* out) { *out << value.name; }

class sample_fault : public ::testing::TestWithParam<fault> {};

TEST_P(sample_fault, names_the_worker_and_what_it_did_and_goes_on) {
  const temporary_folder folder;
  worker_client client(
      fake_worker({"--once", folder.file("once"), "--fault", std::string("sample=") + GetParam().name}), {});
  const auto first = client.prepare(add_request(), 0);
  const int generation = client.generation();
  try {
    std::ignore = client.sample(first.case_id, 0.01, 0);
    FAIL() << "no failure was reported";
  } catch (const worker_failure& failure) {
    EXPECT_EQ(failure.why(), GetParam().why);
    EXPECT_THAT(failure.what(),
                AllOf(HasSubstr("worker 'fake'"), HasSubstr("'sample'"), HasSubstr(GetParam().message)));
  }
  const auto second = client.prepare(add_request(), 0);
  EXPECT_EQ(client.generation(), generation + 1) << "the worker was not started again";
  EXPECT_FALSE(client.sample(second.case_id, 0.01, 0).samples.empty());
}

INSTANTIATE_TEST_SUITE_P(
    protocol, sample_fault,
    ::testing::Values(fault{"die", worker_failure::reason::died, "exited with code 7"},
                      fault{"kill", worker_failure::reason::died, "killed by signal 9 (SIGKILL), perhaps"},
                      fault{"garbage", worker_failure::reason::lied, "not JSON: Intel MKL WARNING"},
                      fault{"not_an_object", worker_failure::reason::lied, "no JSON object"},
                      fault{"wrong_id", worker_failure::reason::lied, "another id"},
                      fault{"no_ok", worker_failure::reason::lied, "no 'ok'"},
                      fault{"nan", worker_failure::reason::lied, "not JSON"},
                      fault{"negative", worker_failure::reason::lied, "'samples[1]' should be above 0 and is -0.001"},
                      fault{"missing", worker_failure::reason::lied, "'samples' is missing"},
                      fault{"endless", worker_failure::reason::died, "a line of more than"},
                      fault{"deep", worker_failure::reason::lied, "nested more than 64 levels deep"},
                      fault{"orphan", worker_failure::reason::died, "exited with code 9"},
                      fault{"silent_close", worker_failure::reason::died, "closed its output"}),
    [](const auto& instance) { return instance.param.name; });

TEST(worker_client, ends_a_worker_that_hangs) {
  for (const char* how : {"hang", "flood", "drip"}) {
    worker_client client(fake_worker({"--fault", std::string("sample=") + how}), {1.0, false});
    const auto prepared = client.prepare(add_request(), 0);
    try {
      std::ignore = client.sample(prepared.case_id, 0.01, 0);
      FAIL() << "no failure was reported";
    } catch (const worker_failure& failure) {
      EXPECT_EQ(failure.why(), worker_failure::reason::hung) << how;
      EXPECT_THAT(failure.what(), HasSubstr("did not answer 'sample' within"));
    }
    EXPECT_FALSE(client.alive());
  }
}

TEST(worker_client, ends_a_worker_that_does_not_read) {
  // It greets, and then does not read a request that is longer than what a pipe holds.
  const std::string greet =
      "read line; echo '" +
      std::string(R"({"id":1,"ok":true,"protocol":1,"worker":{"name":"deaf","version":"1","backend":"deaf",)"
                  R"("versions":{},"build":{},"environment":{},"warnings":[],"pid":1},"devices":[],"cases":[]})") +
      "'; exec sleep 1000";
  worker_client client({"deaf", {"/bin/sh", "-c", greet}}, {0.5, false});
  protocol::prepare_request what = add_request();
  what.op = std::string(1 << 20, 'x');
  try {
    std::ignore = client.prepare(what, 0);
    FAIL() << "no failure was reported";
  } catch (const worker_failure& failure) {
    EXPECT_EQ(failure.why(), worker_failure::reason::hung);
    EXPECT_THAT(failure.what(), HasSubstr("did not read 'prepare' within"));
  }
  EXPECT_FALSE(client.alive());
}

TEST(worker_client, tells_the_last_words) {
  worker_client client(fake_worker({"--fault", "verify=die"}), {});
  const auto prepared = client.prepare(add_request(), 0);
  try {
    std::ignore = client.verify(prepared.case_id, std::nullopt, 0);
    FAIL() << "no failure was reported";
  } catch (const worker_failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("the fake worker was told to die"));
  }
}

TEST(worker_client, does_not_believe_verified_beyond_the_bound) {
  worker_client client(fake_worker({"--fault", "verify=liar"}), {});
  const auto prepared = client.prepare(add_request(), 0);
  EXPECT_THROW(std::ignore = client.verify(prepared.case_id, std::nullopt, 0), worker_failure);
}

TEST(worker_client, gives_up_after_three_failed_starts) {
  worker_client client({"absent", {"/nonexistent/prumo-worker-absent"}, false}, {});
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_FALSE(client.given_up());
    EXPECT_THROW(client.greet(), worker_failure);
  }
  EXPECT_TRUE(client.given_up());
  try {
    client.greet();
    FAIL() << "no failure was reported";
  } catch (const worker_failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("given up after 3 failed starts"));
  }
}

TEST(worker_client, distinguishes_a_refusal_from_a_fault) {
  worker_client client(fake_worker({"--fault", "verify=error:failed"}), {});
  const auto prepared = client.prepare(add_request(), 0);
  const int generation = client.generation();
  try {
    std::ignore = client.verify(prepared.case_id, std::nullopt, 0);
    FAIL() << "no refusal was reported";
  } catch (const request_refused& refusal) {
    EXPECT_EQ(refusal.kind(), "failed");
  }
  EXPECT_FALSE(client.sample(prepared.case_id, 0.01, 0).samples.empty());
  EXPECT_EQ(client.generation(), generation) << "a refusal must not restart the worker";
}

TEST(worker_client, restarts_a_worker_that_lost_its_device) {
  worker_client client(fake_worker({"--fault", "verify=error:device"}), {});
  const auto prepared = client.prepare(add_request(), 0);
  EXPECT_THROW(std::ignore = client.verify(prepared.case_id, std::nullopt, 0), request_refused);
  EXPECT_FALSE(client.alive());
}

TEST(worker_process, leaves_no_process_behind) {
  pid_t child = -1;
  {
    worker_process process({"/bin/sleep", "1000"});
    child = process.id();
    EXPECT_TRUE(process.running());
    EXPECT_EQ(::kill(child, 0), 0);
  }
  EXPECT_NE(::kill(child, 0), 0) << "the child still exists";
}

/// Whether a child was stopped, within seconds.
bool is_stopped(pid_t child) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    int status = 0;
    if (::waitpid(child, &status, WUNTRACED | WNOHANG) == child) return WIFSTOPPED(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(worker_process, the_first_signal_ends_a_write_that_waits) {
  const interrupt_guard guard;
  worker_process process({"/bin/sleep", "1000"});
  ::raise(SIGTERM);
  const auto never = std::chrono::steady_clock::now() + std::chrono::hours(1);
  EXPECT_THROW(std::ignore = process.write_line(std::string(1 << 20, 'x'), never), interrupted);
}

TEST(worker_process, an_answer_is_read_even_if_the_process_has_ended) {
  worker_process process({"/bin/sh", "-c", "sleep 1000 & echo last; exit 4"});
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(60); };
  EXPECT_EQ(process.read_line(soon()), "last");
  EXPECT_THROW(std::ignore = process.read_line(soon()), process_error);
  EXPECT_EQ(process.exit_status(), 4);
}

TEST(worker_process, stands_still_between_lines_and_ends_in_order) {
  worker_process process({"/bin/sh", "-c", "while read -r line; do echo \"$line\"; echo more; done; exit 5"});
  const auto read = [&] { return process.read_line(std::chrono::steady_clock::now() + std::chrono::seconds(10)); };
  for (const char* line : {"one", "two"}) {
    EXPECT_TRUE(process.write_line(line, std::chrono::steady_clock::now() + std::chrono::seconds(10)));
    EXPECT_EQ(read(), line);
    EXPECT_TRUE(is_stopped(process.id()));
    EXPECT_EQ(read(), "more");
  }
  process.stop(std::chrono::seconds(10));
  EXPECT_EQ(process.exit_status(), 5);
}

TEST(worker_process, explains_a_program_that_is_not_there) {
  try {
    worker_process process({"/nonexistent/program"});
    FAIL() << "no error was reported";
  } catch (const process_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("/nonexistent/program"), HasSubstr("No such file")));
  }
}

TEST(worker_fleet, tells_why_a_device_cannot_be_used_and_keeps_the_others) {
  std::vector<worker_launch> launches{fake_worker(), fake_worker({"--fault", "hello=unavailable"})};
  launches[1].name = "broken";
  worker_fleet fleet(launches, {});
  fleet.start();
  ASSERT_EQ(fleet.devices().size(), 1U);
  ASSERT_EQ(fleet.notes().size(), 1U);
  EXPECT_THAT(fleet.notes()[0], AllOf(HasSubstr("'broken'"), HasSubstr("there is no driver for the device")));
}

TEST(worker_fleet, gives_devices_of_two_workers_different_names) {
  std::vector<worker_launch> launches{fake_worker(), fake_worker()};
  launches[1].name = "old";
  worker_fleet fleet(launches, {});
  fleet.start();
  ASSERT_EQ(fleet.devices().size(), 2U);
  EXPECT_EQ(fleet.devices()[0].id, "fake:0");
  EXPECT_EQ(fleet.devices()[1].id, "fake:0@old");
}

}  // namespace
}  // namespace prumo::bench::test
