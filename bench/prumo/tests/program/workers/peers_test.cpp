// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other frameworks beside prumo: which of their devices are measured, and what is said of those that are not there.
#include "results/results_file.hpp"
#include "run_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

namespace prumo::bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using words = std::vector<std::string>;

/// A folder with peers: `thing` has two devices, `thing-cpu:0` and `:1`; `gone` lacks what it needs. Python is replaced
/// by a program that lacks everything.
class peers : public testing::Test {
 public:
  peers() {
    make_script("prumo-worker-thing", "exec " + fake_worker_command("--backend thing-cpu --devices 2"));
    make_script("prumo-worker-gone", "echo 'gone is not installed: install gone' >&2\nexit 3");
    make_script("python", "echo \"prumo_peers.$2: not installed: pip install it\" >&2\nexit 3");
    ::setenv("PRUMO_TEST_WORKER_PATH", folder_.file("").c_str(), 1);
    ::setenv("PRUMO_PYTHON", folder_.file("python").c_str(), 1);
  }
  ~peers() override {
    ::unsetenv("PRUMO_TEST_WORKER_PATH");
    ::unsetenv("PRUMO_PYTHON");
  }

 protected:
  void make_script(const std::string& name, const std::string& lines) const { write_script(folder_.file(name), lines); }

  /// A short bench of the scripted worker `openmp:0` and of what `more` asks for.
  program_result bench(const words& more) const {
    const words own = {"--no-search", "--worker", "openmp=" + fake_worker_command("--backend openmp")};
    return run_prumo(
        joined(joined({"bench", "--quick", "--op", "add", "--size", "2MB", "--force", "-o", path()}, own), more));
  }
  [[nodiscard]] std::string path() const { return folder_.file("r.json"); }

  [[nodiscard]] std::set<std::string> measured() const {
    std::set<std::string> devices;
    const json document = load_results(path());
    for (const json& it : document.at("results")) {
      if (it.at("status") == "ok") devices.insert(it.at("device"));
    }
    return devices;
  }
  /// The reasons of the rows that were skipped, by device.
  [[nodiscard]] std::map<std::string, std::string> skipped() const {
    std::map<std::string, std::string> reasons;
    const json document = load_results(path());
    for (const json& it : document.at("results")) {
      if (it.at("status") == "skipped") reasons[it.at("device")] = it.at("reason");
    }
    return reasons;
  }

 private:
  temporary_folder folder_;
};

using names = std::set<std::string>;

TEST_F(peers, nobody_is_measured_unasked) {
  const program_result result = bench({});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(measured(), names{"openmp:0"});
  EXPECT_TRUE(skipped().empty());
}

TEST_F(peers, all_devices_of_a_peer_stand_beside_prumos) {
  EXPECT_EQ(bench({"--peers", "thing"}).code, 0);
  EXPECT_EQ(measured(), (names{"openmp:0", "thing-cpu:0", "thing-cpu:1"}));
}

TEST_F(peers, single_devices_can_be_named) {
  EXPECT_EQ(bench({"--peers", "thing-cpu:1"}).code, 0);
  EXPECT_EQ(measured(), (names{"openmp:0", "thing-cpu:1"}));
  EXPECT_EQ(bench({"--peers", "thing", "--device", "openmp:0,thing-cpu:0"}).code, 0);
  EXPECT_EQ(measured(), (names{"openmp:0", "thing-cpu:0"}));
  EXPECT_EQ(bench({"--peers", "thing", "--device", "openmp"}).code, 0);
  EXPECT_EQ(measured(), (names{"openmp:0", "thing-cpu:0", "thing-cpu:1"}));
  EXPECT_EQ(bench({"--device", "thing-cpu:1"}).code, 0);
  EXPECT_EQ(measured(), names{"thing-cpu:1"});
}

TEST_F(peers, one_that_is_not_installed_is_a_row_that_tells_the_remedy_and_an_error) {
  const program_result result = bench({"--peers", "gone,thing,torch"});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("not there, although asked for or part of prumo: gone, torch"));
  EXPECT_EQ(measured(), (names{"openmp:0", "thing-cpu:0", "thing-cpu:1"}));
  EXPECT_EQ(skipped(),
            (std::map<std::string, std::string>{{"gone", "gone is not installed: install gone"},
                                                {"torch", "prumo_peers.torch: not installed: pip install it"}}));
  EXPECT_THAT(result.out, AllOf(HasSubstr("skipped"), HasSubstr("install gone")));
  EXPECT_THAT(result.err, Not(HasSubstr("install gone"))) << "once is enough";
}

TEST_F(peers, all_takes_those_that_are_there_and_tells_of_the_others) {
  EXPECT_EQ(bench({"--peers", "all"}).code, 0);
  EXPECT_THAT(measured(), ::testing::IsSupersetOf({"openmp:0", "thing-cpu:0", "thing-cpu:1"}));
  const auto reasons = skipped();
  for (const char* peer : {"gone", "numpy", "torch", "jax", "cupy"}) EXPECT_TRUE(reasons.contains(peer)) << peer;
}

TEST_F(peers, a_device_that_a_peer_does_not_reach_is_a_row_too) {
  EXPECT_EQ(bench({"--peers", "thing-gpu:0"}).code, 3);
  EXPECT_EQ(measured(), names{"openmp:0"});
  EXPECT_EQ(skipped().at("thing-gpu:0"),
            "thing reaches no device 'thing-gpu:0' here; it reaches: thing-cpu:0, thing-cpu:1");
  EXPECT_EQ(bench({"--device", "openmp:0,gone:0"}).code, 3);
  EXPECT_EQ(skipped().at("gone:0"), "gone is not installed: install gone");
}

TEST_F(peers, where_nothing_is_left_to_measure_the_remedy_is_the_message) {
  const program_result result = bench({"--device", "gone:0"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("install gone"));
}

TEST_F(peers, an_unknown_one_is_wrong_usage) {
  const program_result result = bench({"--peers", "thin"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("thin"), HasSubstr("thing")));
}

TEST_F(peers, nothing_in_the_current_folder_is_run) {
  const temporary_folder current;
  const std::string trap = "open('" + current.file("was_run") + "', 'w')\n";
  std::filesystem::create_directories(current.file("prumo_peers"));
  for (const char* module : {"json.py", "runpy.py", "numpy.py", "sitecustomize.py", "prumo_peers/__init__.py"}) {
    write_file(current.file(module), trap);
  }
  ::setenv("PRUMO_PYTHON", PRUMO_PYTHON, 1);
  for (const char* path : {"", ":", "/nonexistent:", "."}) {
    const std::string script = "cd '" + current.file("") + "' && PYTHONPATH=" + path + " exec \"$0\" \"$@\"";
    background_program program({"/bin/sh", "-c", script, PRUMO_PROGRAM, "bench", "--list", "--op", "add", "--size",
                                "2MB", "--no-search", "--worker", "openmp=" + fake_worker_command("--backend openmp"),
                                "--peers", "numpy"});
    const program_result result = program.wait();
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("numpy"));
    EXPECT_FALSE(fs::exists(current.file("was_run"))) << "with PYTHONPATH=" << path << '\n' << result.out;
  }
}

TEST_F(peers, devices_lists_them_and_notes_what_is_not_there) {
  const program_result result = run_prumo({"devices", "--no-search", "--list", "--peers", "thing,gone"});
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("thing-cpu:1"), Not(HasSubstr("gone"))));
  EXPECT_THAT(result.err, HasSubstr("gone is missing: gone is not installed: install gone"));
}

}  // namespace
}  // namespace prumo::bench::test
