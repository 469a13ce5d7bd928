// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is done for oneDNN's kernels for AMX, on any processor.

#include "host/onednn_rows.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace prumo::backend {
namespace {

using host = Kokkos::DefaultHostExecutionSpace;

/// Rows of ones in matrices of a batch, with numbers in the gaps behind the rows of a matrix.
template <class T>
struct rows_of_ones {
  std::int64_t matrices, rows, length, gap;
  std::vector<T> numbers = std::vector<T>(static_cast<std::size_t>(matrices * rows * (length + gap)), T(1.0f));

  matrix_rows<T> seen() const {
    blas_form<T> form;
    form.problem.batch = matrices;
    form.problem.m = rows;
    form.problem.k = length;
    form.problem.a = {numbers.data(), length + gap, 1, rows * (length + gap)};
    form.a = {false, length + gap};
    return matrix_rows<T>(form);
  }
  T& at(std::int64_t row, std::int64_t column) {
    return numbers[static_cast<std::size_t>(row * (length + gap) + column)];
  }
};

template <class T>
class onednn_rows : public testing::Test {};
using half_types = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(onednn_rows, half_types, );

TYPED_TEST(onednn_rows, loads_end_at_even_numbers_or_multiples_of_32) {
  EXPECT_EQ(loaded_length(1), 2);
  EXPECT_EQ(loaded_length(30), 30);
  EXPECT_EQ(loaded_length(31), 32);
  EXPECT_EQ(loaded_length(32), 32);
  EXPECT_EQ(loaded_length(33), 64);
  EXPECT_EQ(loaded_length(50), 64);
}

TYPED_TEST(onednn_rows, special_numbers_are_found_behind_every_row) {
  using T = TypeParam;
  for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t length : {1, 2, 3, 7, 31, 32, 33, 50, 63, 64, 100}) {
      rows_of_ones<T> all{3, 5, length, 0};
      EXPECT_FALSE(may_load_special_numbers(host(), all.seen())) << length;
      const std::int64_t behind = loaded_length(length) - length;
      for (std::int64_t row = 1; row < 15; ++row) {
        for (std::int64_t column = 0; column < behind; ++column) {
          all.at(row, column) = static_cast<T>(special);
          EXPECT_TRUE(may_load_special_numbers(host(), all.seen())) << length << " at " << row << ", " << column;
          all.at(row, column) = T(1.0f);
        }
      }
    }
  }
}

TYPED_TEST(onednn_rows, gaps_are_not_looked_at) {
  using T = TypeParam;
  EXPECT_TRUE(may_load_special_numbers(host(), rows_of_ones<T>{1, 5, 31, 1}.seen()));
  EXPECT_FALSE(may_load_special_numbers(host(), rows_of_ones<T>{1, 5, 32, 1}.seen()));
  EXPECT_FALSE(may_load_special_numbers(host(), rows_of_ones<T>{1, 1, 31, 1}.seen()));
  EXPECT_TRUE(may_load_special_numbers(host(), rows_of_ones<T>{2, 1, 31, 1}.seen()));
}

TYPED_TEST(onednn_rows, one_of_two_neighbours_tells) {
  using T = TypeParam;
  for (const float special : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t rows : {1, 2, 3, 8, 17, 64, 65}) {
      for (const std::int64_t gap : {0, 3}) {
        rows_of_ones<T> all{3, rows, 5, gap};
        EXPECT_FALSE(are_special(all.seen()));
        // Numbers behind the first one do not matter, nor those in gaps.
        for (std::int64_t row = 0; row < 3 * rows; ++row) all.at(row, 4 + gap) = static_cast<T>(special);
        EXPECT_FALSE(are_special(all.seen()));
        for (std::int64_t row = 0; row < 3 * rows; ++row) {
          const bool has_next = row % rows + 1 < rows;
          all.at(row, 0) = static_cast<T>(special);
          if (has_next) all.at(row + 1, 0) = static_cast<T>(special);
          EXPECT_TRUE(are_special(all.seen())) << rows << " at " << row;
          all.at(row, 0) = T(1.0f);
          if (has_next) all.at(row + 1, 0) = T(1.0f);
        }
      }
    }
  }
}

TYPED_TEST(onednn_rows, what_is_not_loaded_is_not_looked_at) {
  using T = TypeParam;
  EXPECT_TRUE(load_next_rows(rows_of_ones<T>{1, 2, 31, 0}.seen()));
  EXPECT_TRUE(load_next_rows(rows_of_ones<T>{2, 1, 33, 0}.seen()));
  EXPECT_FALSE(load_next_rows(rows_of_ones<T>{2, 5, 32, 0}.seen()));
  EXPECT_FALSE(load_next_rows(rows_of_ones<T>{2, 5, 30, 0}.seen()));
  EXPECT_FALSE(load_next_rows(rows_of_ones<T>{1, 1, 31, 0}.seen()));
}

TYPED_TEST(onednn_rows, copies_end_in_zeros) {
  using T = TypeParam;
  for (const std::int64_t length : {1, 3, 15, 16, 17, 31, 33, 100, 9000}) {
    rows_of_ones<T> all{2, 5, length, 2};
    for (std::int64_t row = 0; row < 10; ++row) all.at(row, length - 1) = T(static_cast<float>(row + 2));
    const std::int64_t stride = loaded_length(length);
    std::vector<T> copy(static_cast<std::size_t>(10 * stride), T(5.0f));
    copy_with_zeros_behind(host(), all.seen().part(0, 2, 0, 5), copy.data());
    for (std::int64_t row = 0; row < 10; ++row) {
      for (std::int64_t column = 0; column < stride; ++column) {
        const float expected = column < length ? static_cast<float>(all.at(row, column)) : 0;
        ASSERT_EQ(static_cast<float>(copy[static_cast<std::size_t>(row * stride + column)]), expected)
            << length << " at " << row << ", " << column;
      }
    }
  }
}

}  // namespace
}  // namespace prumo::backend
