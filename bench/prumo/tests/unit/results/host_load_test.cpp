// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What others use of the processors, from files that stand for /proc and /sys.
#include "results/host_load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class host_load : public ::testing::Test {
 protected:
  host_load() : root_(fs::temp_directory_path() / ("prumo-load-test-" + std::to_string(::getpid()))) {}
  ~host_load() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  /// The load between two states of /proc/stat, `seconds` apart, of processors 0 and 1. prumo itself used nothing.
  [[nodiscard]] json between(const std::string& before, const std::string& after, double seconds = 1) const {
    write("proc/stat", before);
    const load_reading earlier = read_load(root_, {0, 1});
    write("proc/stat", after);
    return after_seconds(earlier, seconds);
  }
  [[nodiscard]] json after_seconds(const load_reading& earlier, double seconds) const {
    load_reading later = read_load(root_, {0, 1});
    later.own = earlier.own;
    later.when = earlier.when + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                    std::chrono::duration<double>(seconds));
    return load_between(earlier, later, root_);
  }

  const fs::path root_;
};

// Ticks are hundredths of a second. user nice system idle iowait irq softirq steal guest guest_nice
constexpr const char* idle = R"(cpu  900 0 0 9000 0 0 0 0 0 0
cpu0 100 0 10 1000 5 1 2 3 0 0
cpu1 100 0 10 1000 5 1 2 3 0 0
cpu2 700 0 10 1000 5 1 2 3 0 0
intr 12345
)";

TEST_F(host_load, of_a_quiet_machine_says_nothing) {
  const json load = between(idle, R"(cpu  900 0 0 9000 0 0 0 0 0 0
cpu0 102 0 11 1097 5 1 2 3 0 0
cpu1 100 0 10 1100 5 1 2 3 0 0
cpu2 800 0 10 1000 5 1 2 3 0 0
)");
  EXPECT_EQ(load.at("processors"), 2) << "prumo may not use the third one";
  EXPECT_NEAR(load.at("used_by_others").get<double>(), 0.03, 1e-9);
  EXPECT_EQ(describe_load(load), "");
}

TEST_F(host_load, counts_programs_interrupts_and_nice_ones_but_no_waiting) {
  const json load = between(idle, R"(cpu0 140 20 30 1000 50 6 7 3 0 0
cpu1 200 0 10 1000 5 1 2 3 0 0
)");
  EXPECT_NEAR(load.at("used_by_others").get<double>(), 0.40 + 0.20 + 0.20 + 0.05 + 0.05 + 1.00, 1e-9);
  EXPECT_EQ(describe_load(load), "other programs use 1.9 of 2 processors");
}

TEST_F(host_load, without_the_time_of_prumo_itself) {
  write("proc/stat", idle);
  const load_reading earlier = read_load(root_, {0, 1});
  load_reading later = earlier;
  later.when += std::chrono::seconds(1);
  later.busy = *earlier.busy + 2;
  later.own = earlier.own + 1.99;
  EXPECT_NEAR(load_between(earlier, later, root_).at("used_by_others").get<double>(), 0.01, 1e-9);
}

TEST_F(host_load, counts_processes_that_are_running) {
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  write("proc/77/stat", "77 (a (strange) name 1 2) S 1 77 77 0 -1 4194560 1 2 3 4 150 50 20 5 20 0 1 0 99\n");
  EXPECT_EQ(processor_seconds(77, root_), 225 / ticks);
  write("proc/78/stat", "78 (short) S 1 2 3\n");
  EXPECT_EQ(processor_seconds(78, root_), 0);
  EXPECT_EQ(processor_seconds(79, root_), 0) << "it has ended";
}

TEST_F(host_load, tells_whether_it_is_in_the_same_container) {
  write("proc/self/cgroup", "0::/box\n");
  write("sys/fs/cgroup/box/cpu.stat", "usage_usec 5000000\nuser_usec 1\nthrottled_usec 1000000\n");
  write("proc/stat", idle);
  const load_reading earlier = read_load(root_, {0, 1});
  write("proc/stat", "cpu0 200 0 10 1000 5 1 2 3 0 0\ncpu1 200 0 10 1000 5 1 2 3 0 0\n");
  EXPECT_EQ(describe_load(after_seconds(earlier, 1)),
            "other programs use 2.0 of 2 processors (none in prumo's own control group)");
  write("sys/fs/cgroup/box/cpu.stat", "usage_usec 6500000\nuser_usec 1\nthrottled_usec 1000000\n");
  EXPECT_EQ(describe_load(after_seconds(earlier, 1)),
            "other programs use 2.0 of 2 processors (1.5 in prumo's own control group)");
  write("sys/fs/cgroup/box/cpu.stat", "usage_usec 5000000\nuser_usec 1\nthrottled_usec 1400000\n");
  EXPECT_THAT(describe_load(after_seconds(earlier, 1)),
              HasSubstr("and the quota of the control group stopped its programs for 0.4 s"));
}

TEST_F(host_load, finds_the_group_of_a_container_whose_path_only_the_host_sees) {
  write("proc/self/cgroup", "0::/system.slice/box\n");
  write("sys/fs/cgroup/cpu.stat", "usage_usec 5000000\n");
  write("proc/stat", idle);
  EXPECT_EQ(read_load(root_, {0, 1}).group, 5.0);
}

TEST_F(host_load, tells_of_stolen_time) {
  const json load = between(idle, "cpu0 100 0 10 1000 5 1 2 53 0 0\ncpu1 100 0 10 1000 5 1 2 3 0 0\n");
  EXPECT_NEAR(load.at("stolen").get<double>(), 0.5, 1e-9);
  EXPECT_EQ(describe_load(load), "the hypervisor gives 0.5 of 2 processors to other machines");
}

TEST_F(host_load, tolerates_more_on_a_large_machine) {
  json load = {{"seconds", 1.0}, {"processors", 128}, {"used_by_others", 3.5}};
  EXPECT_EQ(describe_load(load), "");
  load["used_by_others"] = 5;
  EXPECT_EQ(describe_load(load), "other programs use 5.0 of 128 processors");
}

TEST_F(host_load, is_unknown_where_the_system_does_not_tell) {
  const load_reading none = read_load(root_, {0, 1});
  EXPECT_TRUE(after_seconds(none, 1).is_null());
  EXPECT_EQ(describe_load(json()), "");
}

TEST_F(host_load, reads_the_load_average) {
  write("proc/loadavg", "2.25 1.00 0.50 3/123 4711\n");
  EXPECT_EQ(between(idle, idle).at("load_average"), 2.25);
}

}  // namespace
}  // namespace prumo::bench
