// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An installation in which one of prumo's own workers cannot be used: no other framework is measured in its place.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <unistd.h>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using words = std::vector<std::string>;

/// A program with a worker of another framework, `loops`, beside it.
class broken_worker : public testing::Test {
 public:
  broken_worker() {
    fs::copy_file(PRUMO_PROGRAM, folder_.file("prumo"));
    make_worker("loops", "exec " + fake_worker_command("--backend loops"));
  }

 protected:
  void make_worker(const std::string& name, const std::string& lines, fs::perms allowed = fs::perms::owner_all) const {
    write_script(file(name), lines);
    fs::permissions(file(name), allowed);
  }
  [[nodiscard]] std::string file(const std::string& worker) const { return folder_.file("prumo-worker-" + worker); }

  [[nodiscard]] program_result run(const words& more) const {
    return background_program(joined({folder_.file("prumo")}, more)).wait();
  }
  [[nodiscard]] program_result bench(const words& more = {}) const {
    return run(
        joined({"bench", "--quick", "--no-probe", "--op", "add", "--size", "2MB", "--force", "-o", path()}, more));
  }
  [[nodiscard]] std::string path() const { return folder_.file("r.json"); }

  /// The status of each device's result.
  [[nodiscard]] std::map<std::string, std::string> statuses() const {
    std::map<std::string, std::string> found;
    const json document = load_results(path());
    for (const json& it : document.at("results")) found[it.at("device")] = it.at("status");
    return found;
  }

 private:
  temporary_folder folder_;
};

using by_device = std::map<std::string, std::string>;

TEST_F(broken_worker, is_an_error_and_no_reason_to_measure_another_framework) {
  const auto expect_refusal = [&](const std::string& why) {
    const program_result result = bench();
    EXPECT_EQ(result.code, 3) << why << result.out;
    EXPECT_THAT(result.err, AllOf(HasSubstr("no device to measure"), HasSubstr("openmp"), HasSubstr(why)));
    EXPECT_FALSE(fs::exists(path()));
  };
  make_worker("openmp", "echo 'symbol lookup error' >&2; exit 127");
  expect_refusal("exited with code 127");
  make_worker("openmp", "echo 'Hello, World!'");
  expect_refusal("not JSON: Hello, World!");
  make_worker("openmp", "exec " + fake_worker_command("--backend openmp --fault hello=missing_cases"));
  expect_refusal("broke the protocol");
  make_worker("openmp", "kill -SEGV $$");
  expect_refusal("SIGSEGV");
  fs::remove(file("openmp"));
  fs::create_symlink("/nonexistent/worker", file("openmp"));
  expect_refusal("cannot start");
  if (::geteuid() != 0) {  // root may run what has no such permission for anyone else
    make_worker("openmp", "exit 0", fs::perms::owner_read | fs::perms::owner_write);
    expect_refusal("Permission denied");
  }
}

TEST_F(broken_worker, has_a_row_beside_devices_that_are_measured) {
  make_worker("openmp", "exit 7");
  make_worker("cuda", "exec " + fake_worker_command("--backend cuda"));
  const program_result result = bench();
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_EQ(statuses(), (by_device{{"cuda:0", "ok"}, {"openmp", "skipped"}}));
  EXPECT_THAT(result.out, HasSubstr("exited with code 7"));
  EXPECT_THAT(result.err, HasSubstr("part of prumo: openmp"));
  EXPECT_EQ(bench({"--peers", "loops"}).code, 3);
  EXPECT_EQ(statuses(), (by_device{{"cuda:0", "ok"}, {"loops:0", "ok"}, {"openmp", "skipped"}}));
}

TEST_F(broken_worker, does_no_harm_if_others_are_asked_for) {
  make_worker("openmp", "exit 7");
  for (const char* other : {"cuda", "loops"}) {
    make_worker(other, "exec " + fake_worker_command(std::string("--backend ") + other));
    EXPECT_EQ(bench({"--device", other}).code, 0);
    EXPECT_EQ(statuses(), (by_device{{std::string(other) + ":0", "ok"}}));
  }
  const program_result asked = bench({"--device", "cuda,openmp:0"});
  EXPECT_EQ(asked.code, 3);
  EXPECT_THAT(asked.err, AllOf(HasSubstr("there is no device 'openmp:0'"), HasSubstr("exited with code 7")));
}

TEST_F(broken_worker, that_was_named_is_an_error_too) {
  make_worker("openmp", "exec " + fake_worker_command("--backend openmp"));
  EXPECT_EQ(bench({"--worker", "other=/nonexistent/worker"}).code, 3);
  EXPECT_EQ(statuses(), (by_device{{"openmp:0", "ok"}, {"other", "skipped"}}));
}

TEST_F(broken_worker, of_the_other_build_is_an_error_too) {
  const temporary_folder other;
  for (const char* name : {"openmp", "cuda"}) {
    make_worker(name, "exec " + fake_worker_command(std::string("--backend ") + name));
    fs::copy_file(file(name), other.file(std::string("prumo-worker-") + name));
  }
  const words against{"--against", other.file("")};
  EXPECT_EQ(bench(against).code, 0);
  write_script(other.file("prumo-worker-cuda"), "exit 7");
  const program_result result = bench(against);
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("cuda:0 is left out"), HasSubstr("exited with code 7")));
}

TEST_F(broken_worker, a_device_that_this_machine_lacks_is_only_noted) {
  make_worker("openmp", "exec " + fake_worker_command("--backend openmp"));
  make_worker("cuda", "echo 'there is no driver' >&2; exit 3");
  const program_result result = bench();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(statuses(), (by_device{{"openmp:0", "ok"}}));
  EXPECT_THAT(result.err, HasSubstr("there is no driver"));
}

TEST_F(broken_worker, where_there_are_but_other_frameworks_they_are_measured) {
  EXPECT_EQ(bench().code, 0);
  EXPECT_EQ(statuses(), (by_device{{"loops:0", "ok"}}));
}

}  // namespace
}  // namespace prumo::bench::test
