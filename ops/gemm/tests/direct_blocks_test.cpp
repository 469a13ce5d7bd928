// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How direct products are cut, for any number of threads: what a block keeps fits into the memory for it.

#include "portable/direct_columns_host.hpp"
#include "portable/direct_narrow_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
namespace {

template <class T>
gemm_problem<T> problem_of(std::int64_t m, std::int64_t n, std::int64_t k, bool has_rows) {
  gemm_problem<T> problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.a = {nullptr, k, 1, 0};
  problem.b = {nullptr, has_rows ? n : 1, has_rows ? 1 : k, 0};
  problem.c = {nullptr, n, 1, 0};
  return problem;
}

template <class T>
class direct_blocks_of : public testing::Test {
 protected:
  using sizes = direct_sizes<compute_t<T>>;

  static void expect_fitting(const gemm_problem<T>& problem, std::int64_t threads, bool may_stream,
                             bool may_write_rows) {
    const auto blocks = direct_blocks::of(problem, threads, may_stream, may_write_rows);
    const auto told = [&] {
      return testing::Message() << problem.m << " x " << problem.n << " x " << problem.k << ", " << threads
                                << " threads, strides of B " << problem.b.row_stride << ", " << problem.b.column_stride
                                << (may_stream ? ", may stream" : "") << (may_write_rows ? ", whole rows" : "");
    };
    ASSERT_GE(blocks.rows * blocks.row_blocks, problem.m) << told();
    ASSERT_GE(blocks.columns * blocks.column_blocks, problem.n) << told();
    ASSERT_EQ(blocks.columns % sizes::panel, 0) << told();
    const direct_columns_of_b<T> columns(problem, blocks);
    if (blocks.has_whole_rows) {
      ASSERT_EQ(blocks.column_blocks, 1) << told();
      ASSERT_FALSE(blocks.streams || blocks.keeps_sums) << told();
      ASSERT_LE(round_up(problem.n, sizes::lanes) * problem.k, sizes::whole_rows_elements) << told();
      if (blocks.rows >= direct_narrow<compute_t<T>>::fewest_rows) return;
    }
    const bool are_several = blocks.column_blocks > 1;
    const std::int64_t widest = std::min(blocks.columns + (are_several ? blocks.front : 0), problem.n);
    const std::int64_t behind = problem.n - (blocks.column_blocks - 1) * blocks.columns;
    const std::int64_t last = behind + (are_several ? blocks.front : 0);
    const bool are_in_registers =
        !blocks.keeps_sums && columns.is_read_at_once(widest) && columns.is_read_at_once(last);
    ASSERT_TRUE(are_in_registers || !blocks.streams) << told();
    const std::int64_t rows = are_in_registers ? sizes::tile_rows : blocks.rows;
    if (widest > sizes::lanes || !are_in_registers) {
      const std::int64_t kept = std::max(blocks.columns, round_up(widest, sizes::panel));
      ASSERT_LE(std::min(rows, problem.m) * kept, sizes::kept_elements) << told();
    }
  }
};

using types = testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(direct_blocks_of, types, );

TYPED_TEST(direct_blocks_of, any_shape_fits_into_its_memory) {
  using T = TypeParam;
  for (const std::int64_t threads : {1, 2, 3, 16, 96}) {
    for (const std::int64_t m : {1, 3, 4, 7, 12, 13, 24, 25, 33, 48, 62, 96, 97, 500, 20000}) {
      for (const std::int64_t n :
           {1, 5, 15, 16, 17, 31, 32, 33, 64, 96, 99, 128, 500, 512, 1024, 5120, 6721, 8193, 30001}) {
        for (const std::int64_t k : {1, 2, 8, 16, 17, 33, 64, 65, 130, 170, 192, 257, 368, 1100, 20000}) {
          if (std::min(m, n) > 96 && k > 192) continue;  // no direct product
          for (const bool has_rows : {true, false}) {
            for (const bool may_stream : {false, true}) {
              if (may_stream && (k > 20 || n < 48)) continue;  // it never does
              for (const bool may_write_rows : {false, true}) {
                this->expect_fitting(problem_of<T>(m, n, k, has_rows), threads, may_stream, may_write_rows);
                if (this->HasFatalFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace prumo::backend
