// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NaN and infinity, in what is multiplied and in what may not be read. Every implementation is called by name.

#include "gemm_typed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace prumo::products {
namespace {

using tests::place;
using tests::placing;
using tests::set_uniform;

template <class T>
class gemm_special_numbers : public gemm_typed<T> {};
TYPED_TEST_SUITE(gemm_special_numbers, tests::all_scalars);

TYPED_TEST(gemm_special_numbers, what_is_not_finite_stays_in_its_row_and_its_column) {
  using T = TypeParam;
  using limits = std::numeric_limits<compute_t<T>>;
  constexpr std::size_t m = 19, n = 21, row = 7, column = 5;
  for (const compute_t<T> special : {limits::quiet_NaN(), limits::infinity()}) {
    for (const placing how : {placing::right, placing::padded_right, placing::left}) {
      for (const std::size_t k : {1, 8, 29, 34, 58, 64, 83}) {
        for (const bool trans_a : {false, true}) {
          for (const bool trans_b : {false, true}) {
            const auto a = place<T>(trans_a ? k : m, trans_a ? m : k, how);
            const auto b = place<T>(trans_b ? n : k, trans_b ? k : n, how);
            set_uniform(a, 1);
            set_uniform(b, 2);
            using Kokkos::ALL;
            using Kokkos::subview;
            const T stored = static_cast<T>(special);
            Kokkos::deep_copy(this->ctx.instance(), trans_a ? subview(a, ALL, row) : subview(a, row, ALL), stored);
            Kokkos::deep_copy(this->ctx.instance(), trans_b ? subview(b, column, ALL) : subview(b, ALL, column),
                              stored);
            for (const std::string_view implementation : this->implementations) {
              const auto c = place<T>(m, n, placing::right);
              if (!this->run(implementation, trans_a, trans_b, 1, a, b, 0, c)) continue;
              const auto result = tests::host_copy(c);
              for (std::size_t i = 0; i < m; ++i) {
                for (std::size_t j = 0; j < n; ++j) {
                  ASSERT_EQ(!std::isfinite(value(result(i, j))), i == row || j == column)
                      << implementation << " k = " << k << (trans_a ? " A'" : " A") << (trans_b ? " B'" : " B")
                      << " at " << i << ", " << j << ", of " << special;
                }
              }
            }
          }
        }
      }
    }
  }
}

/// The vectors at the ends of long rows overlap those before them.
TYPED_TEST(gemm_special_numbers, in_long_rows_and_few_columns) {
  using T = TypeParam;
  using limits = std::numeric_limits<compute_t<T>>;
  constexpr std::size_t m = 70, row = 68;
  for (const auto& [n, k] :
       {std::pair<std::size_t, std::size_t>{1, 605}, {2, 37}, {3, 187}, {5, 1700}, {9, 203}, {14, 300}}) {
    for (const placing how : {placing::right, placing::padded_right, placing::left}) {
      const auto a = place<T>(m, k, placing::right);
      const auto b = place<T>(k, n, how);
      for (const bool is_in_b : {false, true}) {
        set_uniform(a, 1);
        set_uniform(b, 2);
        const T stored = static_cast<T>(limits::infinity());
        for (const std::size_t p : {std::size_t{0}, k - 1}) {
          if (is_in_b) {
            Kokkos::deep_copy(this->ctx.instance(), Kokkos::subview(b, p, n - 1), stored);
          } else {
            Kokkos::deep_copy(this->ctx.instance(), Kokkos::subview(a, row, p), stored);
          }
        }
        for (const std::string_view implementation : this->implementations) {
          const auto c = place<T>(m, n, placing::right);
          if (!this->run(implementation, false, false, 1, a, b, 0, c)) continue;
          const auto result = tests::host_copy(c);
          for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
              ASSERT_EQ(!std::isfinite(value(result(i, j))), is_in_b ? j == n - 1 : i == row)
                  << implementation << " n = " << n << ", k = " << k << " at " << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

/// Some kernels for 16-bit numbers load what follows a row: here another row, another matrix, or a gap.
TYPED_TEST(gemm_special_numbers, behind_rows_in_a_batch) {
  using T = TypeParam;
  constexpr std::size_t batch = 3, m = 18, n = 40;
  for (const auto& [k, gap] : {std::pair<std::size_t, std::size_t>{31, 0}, {31, 3}, {95, 0}, {95, 3}}) {
    const auto memory = place<T>(1, batch * (m * k + gap), placing::right);  // NaN
    const Kokkos::View<T***, Kokkos::LayoutStride, space, Kokkos::MemoryUnmanaged> a(
        memory.data(), Kokkos::LayoutStride(batch, m * k + gap, m, k, k, 1));
    const Kokkos::View<T***, Kokkos::LayoutRight, space> b("b", batch, k, n);
    using Kokkos::ALL;
    using Kokkos::subview;
    for (std::size_t which = 0; which < batch; ++which) {
      set_uniform(subview(a, which, ALL, ALL), which);
      set_uniform(subview(b, which, ALL, ALL), 10 + which);
    }
    const T infinity = static_cast<T>(std::numeric_limits<compute_t<T>>::infinity());
    Kokkos::deep_copy(this->ctx.instance(), subview(a, 1, 0, ALL), infinity);
    for (const std::string_view implementation : this->implementations) {
      for (const double beta : {0.25, 0.0}) {
        const Kokkos::View<T***, Kokkos::LayoutRight, space> c("c", batch, m, n);
        Kokkos::deep_copy(c, static_cast<T>(2.0f));
        if (!this->run(implementation, false, false, 0.5, a, b, beta, c)) continue;
        const auto result = tests::host_copy(c);
        for (std::size_t which = 0; which < batch; ++which) {
          for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
              ASSERT_EQ(!std::isfinite(value(result(which, i, j))), which == 1 && i == 0)
                  << implementation << " k = " << k << " with a gap of " << gap << ", beta " << beta << ", matrix "
                  << which << " at " << i << ", " << j;
            }
          }
          if (which == 1) continue;
          expect_product<T>(false, false, 0.5, subview(a, which, ALL, ALL), subview(b, which, ALL, ALL), beta, 2,
                            subview(c, which, ALL, ALL), std::string(implementation));
        }
      }
    }
  }
}

/// Rows of C tell where A is not looked at: in one piece or in several, whose first and last rows are special.
TYPED_TEST(gemm_special_numbers, in_one_of_many_rows) {
  using T = TypeParam;
  struct extents {
    std::size_t m, n, k;
  };
  for (const auto& [m, n, k] : {extents{20, 40, 31}, {700, 5, 31}, {700, 40, 70}, {30001, 5, 37}}) {
    const auto a = place<T>(m, k, placing::right);
    const auto b = place<T>(k, n, placing::right);
    set_uniform(b, 2);
    for (const std::size_t row : {std::size_t{0}, std::size_t{1}, m / 2, m / 4 * 3 + 1, m - 1}) {
      set_uniform(a, 1);
      Kokkos::deep_copy(this->ctx.instance(), Kokkos::subview(a, row, Kokkos::ALL),
                        static_cast<T>(std::numeric_limits<compute_t<T>>::infinity()));
      for (const std::string_view implementation : this->implementations) {
        const auto c = place<T>(m, n, placing::right);
        if (!this->run(implementation, false, false, 1, a, b, 0, c)) continue;
        const auto result = tests::host_copy(c);
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            ASSERT_EQ(!std::isfinite(value(result(i, j))), i == row)
                << implementation << " at " << i << ", " << j << " of " << m << " x " << n << " x " << k;
          }
        }
      }
    }
  }
}

TYPED_TEST(gemm_special_numbers, what_lies_between_the_elements_stays) {
  using T = TypeParam;
  const auto a = place<T>(13, 8, placing::right);
  const auto b = place<T>(8, 21, placing::right);
  set_uniform(a, 1);
  set_uniform(b, 2);
  for (const placing how : {placing::padded_right, placing::padded_left, placing::strided}) {
    for (const std::string_view implementation : this->implementations) {
      const auto c = place<T>(13, 21, how);
      if (!this->run(implementation, false, false, 1, a, b, 0, c)) continue;
      const Kokkos::View<T*, space, Kokkos::MemoryUnmanaged> whole(c.data(), c.span());
      const auto memory = tests::host_copy(whole);
      std::size_t untouched = 0;
      for (std::size_t i = 0; i < memory.extent(0); ++i) untouched += std::isnan(value(memory(i)));
      EXPECT_EQ(untouched, memory.extent(0) - 13 * 21) << implementation;
    }
  }
}

TYPED_TEST(gemm_special_numbers, alpha_zero_does_not_read_a_or_b) {
  using T = TypeParam;
  const auto a = place<T>(9, 7, placing::right);  // NaN
  const auto b = place<T>(7, 11, placing::right);
  for (const std::string_view implementation : this->implementations) {
    for (const double beta : {0.0, 0.5, 1.0}) {
      const auto c = place<T>(9, 11, placing::left);
      if (beta != 0) Kokkos::deep_copy(c, static_cast<T>(3.0f));
      ASSERT_TRUE(this->run(implementation, false, false, 0, a, b, beta, c));
      const auto result = tests::host_copy(c);
      for (std::size_t i = 0; i < 9; ++i) {
        for (std::size_t j = 0; j < 11; ++j) ASSERT_EQ(value(result(i, j)), 3 * beta) << implementation;
      }
    }
  }
}

TYPED_TEST(gemm_special_numbers, nan_in_the_inputs_reaches_its_row_and_column_only) {
  using T = TypeParam;
  const auto a = place<T>(14, 9, placing::right);
  const auto b = place<T>(9, 34, placing::right);
  set_uniform(a, 1);
  set_uniform(b, 2);
  const auto copy = tests::host_copy(a);
  copy(3, 4) = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  copy(13, 0) = static_cast<T>(std::numeric_limits<float>::infinity());
  tests::write_back(a, copy);
  for (const std::string_view implementation : this->implementations) {
    const auto c = place<T>(14, 34, placing::right);
    if (!this->run(implementation, false, false, 1, a, b, 0, c)) continue;
    const auto result = tests::host_copy(c);
    for (std::size_t i = 0; i < 14; ++i) {
      for (std::size_t j = 0; j < 34; ++j) {
        EXPECT_EQ(std::isnan(value(result(i, j))), i == 3) << implementation;
        EXPECT_EQ(std::isinf(value(result(i, j))), i == 13) << implementation;
      }
    }
  }
}

}  // namespace
}  // namespace prumo::products
