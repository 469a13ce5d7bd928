// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of devices for sums of few products: on the host, thread by thread, and how it shares out C on devices of
// any size. And which products it takes.

#include "device_choice.hpp"
#include "emulated_team.hpp"
#include "portable/short_sums_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace prumo::backend {
namespace {

TEST(short_sums, every_entry_belongs_to_one_team) {
  for (const std::int64_t multiprocessors : {1, 8, 132, 1000}) {
    for (const int most_rows : {409, 682, 2048}) {
      for (const int columns : {1, 2, 4}) {
        for (const std::int64_t m : {1, 2, 31, 33, 1000, 300'001, 2'000'000'011}) {
          for (const std::int64_t n : {1, 2, 3, 16, 17, 32, 33, 64, 129, 1025, 100'003}) {
            const auto told = testing::Message() << m << " x " << n << ", up to " << most_rows << " rows, " << columns
                                                 << " columns, " << multiprocessors << " multiprocessors";
            const auto cut = short_sums_partition::of(m, n, columns, most_rows, multiprocessors);
            const std::int64_t width = std::int64_t{cut.column_lanes} * columns * cut.column_warps;
            ASSERT_GE(cut.row_groups * cut.rows, m) << told;
            ASSERT_LT((cut.row_groups - 1) * cut.rows, m) << told;
            ASSERT_GE(cut.column_groups * width, n) << told;
            ASSERT_LT((cut.column_groups - 1) * width, n) << told;
            // Each row that a team computes at a time has threads of its own.
            ASSERT_EQ(cut.rows_of_a_step() * cut.column_lanes * cut.column_warps, short_sums_partition::threads)
                << told;
            ASSERT_LE(cut.rows, std::max(most_rows, 256)) << told;
          }
        }
      }
    }
  }
}

/// Matrices that lie somewhere in memory, with gaps that nothing may write.
template <class T>
struct matrices {
  static constexpr float untouched = 7;
  std::vector<T> a, b, c;
  gemm_problem<T> problem;

  matrices(std::int64_t m, std::int64_t n, std::int64_t k, bool by_columns, std::int64_t gap) {
    const auto place = [&](std::vector<T>& values, std::int64_t rows, std::int64_t columns, float seed) {
      const std::int64_t lines = by_columns ? columns : rows, pitch = (by_columns ? rows : columns) + gap;
      for (std::int64_t i = 0; i < lines * pitch; ++i) {
        values.push_back(static_cast<T>(std::sin(seed * static_cast<float>(i + 1))));
      }
      return gemm_matrix<T>{values.data(), by_columns ? 1 : pitch, by_columns ? pitch : 1, 0};
    };
    const auto as_const = [](const gemm_matrix<T>& of) {
      return gemm_matrix<const T>{of.data, of.row_stride, of.column_stride, 0};
    };
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = as_const(place(a, m, k, 0.37f));
    problem.b = as_const(place(b, k, n, 0.71f));
    problem.c = place(c, m, n, 1.0f);
    c.assign(c.size(), static_cast<T>(untouched));
  }

  double sum_at(std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t p = 0; p < problem.k; ++p) {
      sum += static_cast<double>(
                 static_cast<float>(problem.a.data[row * problem.a.row_stride + p * problem.a.column_stride])) *
             static_cast<double>(
                 static_cast<float>(problem.b.data[p * problem.b.row_stride + column * problem.b.column_stride]));
    }
    return sum;
  }
};

template <class T, int Depth, int Columns>
void expect_products(std::int64_t m, std::int64_t n, std::int64_t k, bool by_columns, double alpha, double beta) {
  constexpr std::int64_t gap = 3;
  matrices<T> given(m, n, k, by_columns, gap);
  gemm_problem<T>& problem = given.problem;
  problem.alpha = static_cast<float>(alpha);
  problem.beta = static_cast<float>(beta);
  tests::run_emulated_teams(short_sums_device_kernel<T, Depth, Columns>(problem, 2));
  const double unit = sizeof(T) == 2 ? (std::is_same_v<T, f16> ? 0x1p-11 : 0x1p-8) : 0;
  std::size_t written = 0;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const double expected = alpha * given.sum_at(row, column) + beta * matrices<T>::untouched;
      const double got = static_cast<double>(
          static_cast<float>(problem.c.data[row * problem.c.row_stride + column * problem.c.column_stride]));
      // Every |a| and |b| is at most 1: k + 2 roundings of the sum in f32, and that of the entry.
      const double size = std::abs(alpha) * static_cast<double>(k) + std::abs(beta) * matrices<T>::untouched;
      const double bound = static_cast<double>(k + 2) * 0x1p-24 * 1.01 * size + unit * std::abs(expected);
      ASSERT_NEAR(got, expected, bound * 1.01) << m << " x " << n << " x " << k << ", entry " << row << ", " << column;
      ++written;
    }
  }
  std::size_t left = 0;
  for (const T& entry : given.c) left += static_cast<float>(entry) == matrices<T>::untouched;
  EXPECT_GE(left, given.c.size() - written) << "a gap was written";
}

TEST(short_sums, entries_of_narrow_rows_wide_rows_and_many_rows) {
  expect_products<float, 4, 1>(700, 2, 2, false, 1, 0);
  expect_products<float, 4, 1>(37, 33, 3, false, 1, 0);
  expect_products<float, 8, 1>(300, 5, 7, true, 0.5, 0);
  expect_products<float, 4, 4>(3, 1100, 4, false, 1, 0.25);
  expect_products<float, 8, 4>(50, 300, 5, false, 0.5, 0);
  expect_products<float, 16, 2>(21, 200, 13, true, 1, 0);
  expect_products<float, 16, 1>(70, 17, 16, false, 1, 0.25);
}

TEST(short_sums, entries_of_16_bit_numbers) {
  expect_products<f16, 4, 1>(130, 3, 1, false, 1, 0);
  expect_products<f16, 8, 4>(9, 270, 6, true, 0.5, 0.25);
  expect_products<bf16, 4, 4>(40, 129, 3, false, 1, 0);
  expect_products<bf16, 16, 2>(5, 600, 11, false, 1, 0);
}

/// With beta = 0, C is not read. What lies behind rows of A and columns of B is not multiplied.
TEST(short_sums, nothing_else_is_read) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  matrices<float> given(65, 70, 3, false, 2);
  for (std::int64_t row = 0; row < 65; ++row) {
    for (std::int64_t p = 3; p < 5; ++p) given.a[static_cast<std::size_t>(row * 5 + p)] = nan;
  }
  for (std::int64_t p = 0; p < 3; ++p) {
    for (std::int64_t column = 70; column < 72; ++column) given.b[static_cast<std::size_t>(p * 72 + column)] = nan;
  }
  given.c.assign(given.c.size(), nan);
  tests::run_emulated_teams(short_sums_device_kernel<float, 4, 4>(given.problem, 1));
  for (std::int64_t row = 0; row < 65; ++row) {
    for (std::int64_t column = 0; column < 70; ++column) {
      ASSERT_NEAR(given.problem.c.data[row * 72 + column], given.sum_at(row, column), 1e-6) << row << ", " << column;
    }
  }
}

template <class T>
bool is_taken(std::int64_t m, std::int64_t n, std::int64_t k, bool has_rows = true) {
  gemm_problem<T> problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.c = {nullptr, has_rows ? n : 1, has_rows ? 1 : m, 0};
  return has_short_sums_for_device(problem);
}

TEST(short_sums, products_that_a_device_takes) {
  EXPECT_TRUE(is_taken<float>(4096, 4096, 16));
  EXPECT_FALSE(is_taken<float>(4096, 4096, 17));
  EXPECT_TRUE(is_taken<float>(2, 300'000, 2));
  EXPECT_TRUE(is_taken<float>(300'000, 2, 2));
  EXPECT_FALSE(is_taken<float>(300'000, 1, 2));
  EXPECT_FALSE(is_taken<float>(1, 300'000, 2));
  EXPECT_TRUE(is_taken<float>(1000, 20, 16));
  EXPECT_FALSE(is_taken<float>(100'000, 20, 9));
  EXPECT_TRUE(is_taken<float>(100'000, 20, 8));
  EXPECT_TRUE(is_taken<float>(100'000, 20, 9, false)) << "rows of the transposed product are long";
  EXPECT_TRUE(is_taken<bf16>(4096, 4096, 7));
  EXPECT_FALSE(is_taken<bf16>(4096, 4096, 9));
  EXPECT_FALSE(is_taken<f16>(10, 200'000, 8));
  EXPECT_TRUE(is_taken<f16>(10, 200'000, 11));
  EXPECT_FALSE(is_taken<f16>(10, 200, 11));
  EXPECT_FALSE(is_taken<double>(4096, 4096, 4));
}

TEST(short_sums, products_with_more_to_do_are_not_taken) {
  gemm_problem<float> problem;
  problem.m = problem.n = 1000;
  problem.k = 4;
  problem.c = {nullptr, 1000, 1, 0};
  EXPECT_TRUE(has_short_sums_for_device(problem));
  auto batched = problem, fast = problem, with_bias = problem;
  batched.batch = 2;
  fast.mode = gemm_mode::fast_tf32;
  with_bias.has_bias = true;
  EXPECT_FALSE(has_short_sums_for_device(batched));
  EXPECT_FALSE(has_short_sums_for_device(fast));
  EXPECT_FALSE(has_short_sums_for_device(with_bias));
}

}  // namespace
}  // namespace prumo::backend
