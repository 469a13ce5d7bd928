// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loop_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace prumo::peers {
namespace {

const operation& find(const std::string& op) {
  return *std::ranges::find_if(operations(), [&](const operation& it) { return it.op == op; });
}

call vector_of(std::int64_t n) {
  call extents;
  extents.n = n;
  return extents;
}

/// Lengths around those of vectors, cache lines and threads' shares.
class every_length : public testing::TestWithParam<std::int64_t> {};

TEST_P(every_length, is_computed_right_by_every_implementation) {
  for (const operation& what : operations()) {
    if (what.shape == operation_shape::product) continue;
    for (const implementation& how : implementations_of(what.op)) {
      for (const bool is_double : {false, true}) {
        loop_case prepared(what, how, vector_of(GetParam()), is_double, 3, 2);
        const protocol::verify_answer result = prepared.verify(1e12);
        EXPECT_TRUE(result.verified) << what.op << ' ' << how.name << ' ' << result.error << ' ' << result.message;
        EXPECT_EQ(result.method, "all");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(loops, every_length, testing::Values(0, 1, 7, 15, 16, 17, 63, 64, 65, 1000, 4099, 100003));

TEST(gemm, all_transposes_and_factors) {
  if (implementations_of("gemm").empty()) GTEST_SKIP() << "no CBLAS";
  const implementation how = implementations_of("gemm").front();
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      for (const double beta : {0.0, 1.0, -0.5}) {
        call extents;
        extents.m = 33;
        extents.n = 17;
        extents.k = 40;
        extents.alpha = 1.5;
        extents.beta = beta;
        extents.trans_a = trans_a;
        extents.trans_b = trans_b;
        for (const bool is_double : {false, true}) {
          const protocol::verify_answer result = loop_case(find("gemm"), how, extents, is_double, 1, 1).verify(1e12);
          EXPECT_TRUE(result.verified) << trans_a << trans_b << beta << ' ' << result.message;
        }
      }
    }
  }
}

void off_by_a_little(const call& it) {
  for (std::int64_t i = 0; i < it.n; ++i)
    static_cast<float*>(it.arrays[1])[i] = static_cast<const float*>(it.arrays[0])[i];
  static_cast<float*>(it.arrays[1])[it.n - 1] *= 1.000001f;
}

void writes_too_little(const call& it) {
  std::memcpy(it.arrays[1], it.arrays[0], static_cast<std::size_t>(it.n - 1) * sizeof(float));
}

TEST(verification, finds_what_is_wrong) {
  const implementation wrong{"copy", "wrong", off_by_a_little, off_by_a_little, 0};
  EXPECT_FALSE(loop_case(find("copy"), wrong, vector_of(1000), false, 1, 1).verify(1e12).verified);
  const implementation lazy{"copy", "lazy", writes_too_little, writes_too_little, 0};
  const protocol::verify_answer result = loop_case(find("copy"), lazy, vector_of(1000), false, 1, 1).verify(1e12);
  EXPECT_FALSE(result.verified);
  EXPECT_NE(result.message.find("1 entries"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace prumo::peers
