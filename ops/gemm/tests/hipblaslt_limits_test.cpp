// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What hipBLASLt is not asked for.
#include "hip/hipblaslt_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace prumo::backend::hip {
namespace {

using testing::HasSubstr;

constexpr std::int64_t limit = INT32_MAX;

gemm_plan_shape square(std::int64_t n) { return {{n, n, n, 1}, {n, n, n}, {0, 0, 0}, {false, false}}; }

TEST(hipblaslt_target, depends_on_the_release) {
  EXPECT_EQ(why_not_hipblaslt_target("gfx90a:sramecc+:xnack-", {0, 8}), "");
  EXPECT_EQ(why_not_hipblaslt_target("gfx942", {0, 8}), "");
  EXPECT_EQ(why_not_hipblaslt_target("gfx1100", {0, 10}), "");
  EXPECT_EQ(why_not_hipblaslt_target("gfx1100", {1, 0}), "");
  EXPECT_EQ(why_not_hipblaslt_target("gfx1100", {0, 8}),
            "hipBLASLt 0.8 has no kernels for gfx1100; hipBLASLt 0.10 is the first");
  EXPECT_EQ(why_not_hipblaslt_target("gfx950:sramecc+:xnack-", {0, 12}),
            "hipBLASLt 0.12 has no kernels for gfx950; hipBLASLt 1.0 is the first");
}

TEST(hipblaslt_target, without_kernels_is_named) {
  EXPECT_EQ(why_not_hipblaslt_target("gfx906:sramecc+:xnack-", {1, 1}), "hipBLASLt has no kernels for gfx906");
  EXPECT_EQ(why_not_hipblaslt_target("gfx90", {1, 1}), "hipBLASLt has no kernels for gfx90");
}

TEST(hipblaslt_shape, extents_and_strides_have_32_bits) {
  EXPECT_EQ(why_not_hipblaslt_shape(square(4096)), "");
  gemm_plan_shape long_sum = square(16);
  long_sum.extents[2] = limit;
  EXPECT_EQ(why_not_hipblaslt_shape(long_sum), "");
  long_sum.extents[2] = limit + 1;
  EXPECT_EQ(why_not_hipblaslt_shape(long_sum), "k = 2147483648 exceeds the 32 bits of hipBLASLt's kernels");
  gemm_plan_shape wide = square(16);
  wide.leading[1] = limit + 1;
  EXPECT_THAT(why_not_hipblaslt_shape(wide), HasSubstr("the leading dimension of B = 2147483648"));
  gemm_plan_shape far_apart = square(16);
  far_apart.extents[3] = 2;
  far_apart.batch_strides[2] = std::int64_t{1} << 32;  // 0 in 32 bits
  EXPECT_THAT(why_not_hipblaslt_shape(far_apart), HasSubstr("the stride of C's batch = 4294967296"));
}

TEST(hipblaslt_shape, a_launch_holds_as_many_threads_as_entries_of_padded_matrices) {
  const std::string too_many = "more than 2^31 entries of C may exceed a launch of hipBLASLt's kernels";
  EXPECT_EQ(why_not_hipblaslt_shape(square(46336)), "");  // 46336^2 < 2^31 < 46352^2
  EXPECT_EQ(why_not_hipblaslt_shape(square(46337)), too_many);
  gemm_plan_shape many = square(1);
  many.extents[3] = (std::int64_t{1} << 31) / 256;  // each takes a tile of 16 x 16
  EXPECT_EQ(why_not_hipblaslt_shape(many), "");
  ++many.extents[3];
  EXPECT_EQ(why_not_hipblaslt_shape(many), too_many);
  gemm_plan_shape largest = square(limit);
  largest.extents[3] = limit;
  EXPECT_EQ(why_not_hipblaslt_shape(largest), too_many);  // whose product would not fit 64 bits
}

}  // namespace
}  // namespace prumo::backend::hip
