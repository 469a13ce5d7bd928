// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/thread_number.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo::protocol {
namespace {

using ::testing::HasSubstr;

TEST(thread_number, is_what_openmp_and_kokkos_take) {
  for (const char* value : {"1", "4", "512", " 8 ", "4,2", "4, 2 ,1", "", " "}) {
    EXPECT_EQ(why_no_threads("OMP_NUM_THREADS", value), "") << value;
  }
  for (const char* value : {"1", "4", "512"}) EXPECT_EQ(why_no_threads("KOKKOS_NUM_THREADS", value), "") << value;
}

TEST(thread_number, that_is_none_is_told_with_what_to_do) {
  for (const char* value :
       {"0", "-3", "abc", "1e3", "1.5", "4x", "513", "1000000", "99999999999999999999", "4,", ",4", "4,0", "4;2"}) {
    EXPECT_THAT(why_no_threads("OMP_NUM_THREADS", value),
                HasSubstr(std::string("the environment has OMP_NUM_THREADS=") + value +
                          ", which is no number of threads from 1 to 512; set one, for example OMP_NUM_THREADS=4, or "
                          "unset it to use all processors"));
  }
  for (const char* value : {"", "0", "4,2", " 4", "513"}) {
    EXPECT_THAT(why_no_threads("KOKKOS_NUM_THREADS", value), HasSubstr("set one, for example KOKKOS_NUM_THREADS=4"));
  }
  EXPECT_THAT(why_no_threads("OMP_NUM_THREADS", std::string(1000, '9')),
              HasSubstr("=" + std::string(40, '9') + "...,"));
}

}  // namespace
}  // namespace prumo::protocol
