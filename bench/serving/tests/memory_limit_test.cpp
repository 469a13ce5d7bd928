// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/messages.hpp>
#include <prumo/serving/memory_limit.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

namespace prumo::protocol {
namespace {

namespace fs = std::filesystem;

class memory_files : public testing::Test {
 public:
  memory_files() {
    root_ = fs::path(testing::TempDir()) /
            (std::string("prumo_memory_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable: 2048 kB\n");
  }
  ~memory_files() override { fs::remove_all(root_); }

 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }

  fs::path root_;
};

TEST_F(memory_files, without_groups_the_system_decides) { EXPECT_EQ(available_memory_bytes_linux(root_), 2048 * 1024); }

TEST_F(memory_files, unknown_where_the_system_tells_nothing) {
  EXPECT_EQ(available_memory_bytes_linux(root_ / "nowhere"), std::nullopt);
}

TEST_F(memory_files, a_limit_of_any_group_above_counts) {
  write("proc/self/cgroup", "0::/user/job/step\n");
  write("sys/fs/cgroup/user/job/memory.max", "1000000\n");
  write("sys/fs/cgroup/user/job/memory.current", "900000\n");
  write("sys/fs/cgroup/user/job/memory.stat", "anon 1\ninactive_file 50000\n");
  write("sys/fs/cgroup/user/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/user/job/step/memory.current", "900000\n");
  EXPECT_EQ(available_memory_bytes_linux(root_), 150000);
}

TEST_F(memory_files, a_group_over_its_limit_leaves_nothing) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "2000\n");
  EXPECT_EQ(available_memory_bytes_linux(root_), 0);
}

TEST_F(memory_files, the_first_version_of_groups) {
  write("proc/self/cgroup", "7:cpu,cpuacct:/job\n5:memory:/job\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "5\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "70000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "20000\n");
  EXPECT_EQ(available_memory_bytes_linux(root_), 50000);
}

TEST(require_memory, refuses_with_both_figures) {
  if (!available_memory_bytes()) GTEST_SKIP() << "this system does not tell its available memory";
  EXPECT_NO_THROW(require_memory("add", 1));
  try {
    require_memory("add", std::numeric_limits<std::int64_t>::max());
    FAIL() << "accepted";
  } catch (const request_error& refused) {
    EXPECT_EQ(refused.kind(), error_kind::memory);
    EXPECT_NE(std::string(refused.what()).find("add needs 9223372036854775807 bytes of memory, but only "),
              std::string::npos)
        << refused.what();
  }
}

}  // namespace
}  // namespace prumo::protocol
