// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/interrupt.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace prumo::bench::test {
namespace {

/// Ends with 0 if the program was asked to stop and still runs.
void get_twice(int number, std::chrono::milliseconds between) {
  const interrupt_guard guard;
  ::raise(number);
  std::this_thread::sleep_for(between);
  ::raise(number);
  std::_Exit(interrupt_requested() ? 0 : 1);
}

TEST(interrupt, the_same_signal_for_the_program_and_for_its_group_is_one_request) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(get_twice(number, std::chrono::milliseconds(0)), ::testing::ExitedWithCode(0), "") << number;
  }
}

TEST(interrupt, a_second_request_ends_the_program_at_once) {
  EXPECT_EXIT(get_twice(SIGTERM, std::chrono::milliseconds(250)), ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace prumo::bench::test
