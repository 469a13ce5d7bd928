// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/build_identity.hpp>

#include <gtest/gtest.h>

namespace prumo::protocol {
namespace {

TEST(build_identity, is_known_and_stays_the_same) {
  const std::string identity = build_identity();
  EXPECT_EQ(identity.size(), 16U) << identity;
  EXPECT_EQ(identity.find_first_not_of("0123456789abcdef"), std::string::npos) << identity;
  EXPECT_EQ(build_identity(), identity);
}

}  // namespace
}  // namespace prumo::protocol
