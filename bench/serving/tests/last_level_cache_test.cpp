// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/serving/last_level_cache.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace prumo::protocol {
namespace {

/// Files as Linux has them below /sys/devices/system/cpu, in a folder of the test's own.
class last_level_cache : public testing::Test {
 protected:
  std::filesystem::path system_ =
      std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();

  void SetUp() override { std::filesystem::remove_all(system_); }
  void TearDown() override { std::filesystem::remove_all(system_); }

  void add(int processor, int index, const std::string& type, int level, const std::string& size,
           const std::string& shared) const {
    const auto folder = system_ / ("cpu" + std::to_string(processor)) / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "type") << type << '\n';
    std::ofstream(folder / "level") << level << '\n';
    std::ofstream(folder / "size") << size << '\n';
    std::ofstream(folder / "shared_cpu_list") << shared << '\n';
  }
};

TEST_F(last_level_cache, of_each_group_of_cores_counts_once) {
  for (int processor = 0; processor < 8; ++processor) {
    add(processor, 0, "Data", 1, "48K", std::to_string(processor));
    add(processor, 1, "Instruction", 1, "32K", std::to_string(processor));
    add(processor, 2, "Unified", 2, "1024K", std::to_string(processor));
    add(processor, 3, "Unified", 3, "32768K", processor < 4 ? "0-3" : "4-7");
  }
  EXPECT_EQ(last_level_cache_bytes(system_, {0, 1, 2, 3, 4, 5, 6, 7}), std::size_t{64} << 20);
  EXPECT_EQ(last_level_cache_bytes(system_, {1, 3}), std::size_t{32} << 20);
  EXPECT_EQ(last_level_cache_bytes(system_, {0, 7}), std::size_t{64} << 20);
}

TEST_F(last_level_cache, may_be_the_second) {
  add(0, 0, "Data", 1, "64K", "0");
  add(0, 1, "Unified", 2, "512K", "0-1");
  add(1, 1, "Unified", 2, "512K", "0-1");
  EXPECT_EQ(last_level_cache_bytes(system_, {0, 1}), std::size_t{512} << 10);
}

TEST_F(last_level_cache, may_be_unknown) {
  EXPECT_EQ(last_level_cache_bytes(system_, {0, 1}), 0U);
  add(0, 0, "Instruction", 1, "32K", "0");
  EXPECT_EQ(last_level_cache_bytes(system_, {0}), 0U);
  EXPECT_EQ(last_level_cache_bytes(system_, {}), 0U);
}

TEST_F(last_level_cache, of_this_machine_is_more_than_nothing) { EXPECT_GT(last_level_cache_bytes(), 0U); }

}  // namespace
}  // namespace prumo::protocol
