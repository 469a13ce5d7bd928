// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file_fixture.hpp"
#include <prumo/files/input_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string reading_message(const std::string& path, const input_limits& limits = {}) {
  return testing::message_of([&] { (void)read_text(path, limits); });
}

class input_file_test : public testing::file_fixture {};

TEST_F(input_file_test, says_what_is_no_file) {
  EXPECT_THAT(reading_message(""), HasSubstr("is empty; is a shell variable not set?"));
  EXPECT_THAT(reading_message(path_), HasSubstr("there is no such file"));
  EXPECT_THAT(reading_message(folder_.string()), HasSubstr("is a folder"));
}

TEST_F(input_file_test, a_slow_pipe_is_read_to_its_end) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::thread writer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    std::ofstream pipe(path_);
    pipe << "one" << std::flush;
    std::this_thread::sleep_for(milliseconds(100));
    pipe << "two";
  });
  EXPECT_EQ(read_text(path_, {1024, milliseconds(10000)}), "onetwo");
  writer.join();
}

TEST_F(input_file_test, a_pipe_without_a_writer_does_not_hang) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(reading_message(path_, {1024, milliseconds(50)}), HasSubstr("a pipe to which nobody writes"));
}

TEST_F(input_file_test, endless_input_ends_at_the_limit) {
  EXPECT_THAT(reading_message("/dev/zero"), HasSubstr("bytes that are zero"));
  std::ofstream(path_) << std::string(5000, 'y');
  EXPECT_THAT(reading_message(path_, {4096, milliseconds(50)}),
              AllOf(HasSubstr(path_), HasSubstr("holds more than 4096 bytes")));
  EXPECT_EQ(read_text(path_, {5000, milliseconds(50)}).size(), 5000u);
  fs::resize_file(path_, std::uintmax_t{1} << 30U);
  EXPECT_THAT(reading_message(path_), HasSubstr("holds more than 256MiB"));
}

}  // namespace
}  // namespace prumo::bench
