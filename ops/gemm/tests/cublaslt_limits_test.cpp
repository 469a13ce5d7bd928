// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What products of f8 cuBLASLt is not asked for.
#include "cuda/cublaslt_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace prumo::backend::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int bf16_bytes = 2;

/// Row-major A, B stored transposed.
gemm_plan_shape square(std::int64_t n) { return {{n, n, n, 1}, {n, n, n}, {0, 0, 0}, {false, true}}; }

TEST(cublaslt_f8, needs_a_device_that_has_it) {
  EXPECT_EQ(why_not_f8_device({8, 9}), "");
  EXPECT_EQ(why_not_f8_device({9, 0}), "");
  EXPECT_EQ(why_not_f8_device({10, 0}), "");
  EXPECT_EQ(why_not_f8_device({12, 1}), "");
  EXPECT_EQ(why_not_f8_device({8, 0}), "f8_e4m3 needs compute capability 8.9 or later, this device has 8.0");
  EXPECT_EQ(why_not_f8_device({8, 7}), "f8_e4m3 needs compute capability 8.9 or later, this device has 8.7");
  EXPECT_THAT(why_not_f8_device({7, 5}), HasSubstr("this device has 7.5"));
}

TEST(cublaslt_f8, needs_operands_that_are_contiguous_along_the_sums) {
  EXPECT_EQ(why_not_f8_shape(square(4096), false, bf16_bytes), "");
  EXPECT_EQ(why_not_f8_shape(square(4096), true, bf16_bytes), "");
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      if (!trans_a && trans_b) continue;
      gemm_plan_shape shape = square(64);
      shape.transposed[0] = trans_a;
      shape.transposed[1] = trans_b;
      EXPECT_THAT(why_not_f8_shape(shape, false, bf16_bytes),
                  AllOf(HasSubstr("B stored transposed and A not (trans_a=0, trans_b=1)"),
                        HasSubstr("of column-major ones, A and not B (trans_a=1, trans_b=0)")));
    }
  }
}

TEST(cublaslt_f8, needs_lines_of_16_bytes) {
  gemm_plan_shape shape = square(64);
  shape.extents[0] = 7;
  EXPECT_EQ(why_not_f8_shape(shape, false, bf16_bytes), "");  // the number of lines of A is free
  shape.extents[1] = 40;
  EXPECT_EQ(why_not_f8_shape(shape, false, bf16_bytes), "");  // five lines of bf16
  shape.extents[1] = 36;
  EXPECT_EQ(why_not_f8_shape(shape, false, bf16_bytes), "f8_e4m3 needs n to be a multiple of 8, it is 36");
  EXPECT_EQ(why_not_f8_shape(shape, true, bf16_bytes), "f8_e4m3 needs m to be a multiple of 8, it is 36");
  EXPECT_EQ(why_not_f8_shape(shape, false, 4), "");
  gemm_plan_shape odd_sums = square(64);
  odd_sums.extents[2] = 40;
  EXPECT_EQ(why_not_f8_shape(odd_sums, false, bf16_bytes), "f8_e4m3 needs k to be a multiple of 16, it is 40");
}

TEST(cublaslt_f8, names_the_callers_operands) {
  gemm_plan_shape shape = square(64);
  shape.leading[0] = 72;
  EXPECT_THAT(why_not_f8_shape(shape, false, bf16_bytes),
              HasSubstr("the leading dimension of A to be a multiple of 16"));
  EXPECT_THAT(why_not_f8_shape(shape, true, bf16_bytes),
              HasSubstr("the leading dimension of B to be a multiple of 16"));
  gemm_plan_shape batch = square(64);
  batch.batch_strides[1] = 4096 + 8;
  EXPECT_THAT(why_not_f8_shape(batch, false, bf16_bytes), HasSubstr("the stride of B's batch to be a multiple of 16"));
  gemm_plan_shape result = square(64);
  result.leading[2] = 68;
  EXPECT_THAT(why_not_f8_shape(result, false, bf16_bytes),
              HasSubstr("the leading dimension of C to be a multiple of 8"));
}

TEST(cublaslt_f8, needs_aligned_addresses) {
  EXPECT_EQ(why_not_f8_alignments({256, 16, 32}), "");
  EXPECT_EQ(why_not_f8_alignments({256, 8, 32}), "f8_e4m3 needs A, B and C to begin at multiples of 16 bytes");
}

}  // namespace
}  // namespace prumo::backend::cuda
