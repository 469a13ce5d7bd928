// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case's general test does not reach: operands of different layouts, batches, extents at which kernels change.
// Every implementation is called by name.

#include "gemm_typed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace prumo::products {
namespace {

using tests::place;
using tests::placing;
using tests::set_uniform;
constexpr placing all_placings[] = {placing::right, placing::left, placing::padded_right, placing::padded_left,
                                    placing::strided};

std::string name_of(std::string_view implementation, placing a, placing b, placing c, bool trans_a, bool trans_b) {
  return std::string(implementation) + " placings " + std::to_string(static_cast<int>(a)) + " " +
         std::to_string(static_cast<int>(b)) + " " + std::to_string(static_cast<int>(c)) + (trans_a ? " A'" : " A") +
         (trans_b ? " B'" : " B");
}

TYPED_TEST_SUITE(gemm_typed, tests::all_scalars);

TYPED_TEST(gemm_typed, operands_of_every_layout_together) {
  using T = TypeParam;
  constexpr std::size_t m = 37;
  constexpr std::size_t n = 45;
  constexpr std::size_t k = 29;
  // A library may have kernels for some devices only; the first is the one that takes what the others do not.
  std::set<std::string_view> at_home{"portable", this->implementations.front()};
  const auto plain = place<T>(m, m, placing::right);
  set_uniform(plain, 1);
  for (const std::string_view implementation : this->implementations) {
    const auto c = place<T>(m, m, placing::right);
    if (this->run(implementation, false, false, 1, plain, plain, 0, c)) at_home.insert(implementation);
  }
  int vendor_runs = 0;
  for (const placing pa : all_placings) {
    for (const placing pb : all_placings) {
      for (const placing pc : all_placings) {
        for (const bool trans_a : {false, true}) {
          for (const bool trans_b : {false, true}) {
            const auto a = place<T>(trans_a ? k : m, trans_a ? m : k, pa);
            const auto b = place<T>(trans_b ? n : k, trans_b ? k : n, pb);
            set_uniform(a, 1);
            set_uniform(b, 2);
            for (const std::string_view implementation : this->implementations) {
              const auto c = place<T>(m, n, pc);  // NaN, which beta = 0 may not read
              const bool ran = this->run(implementation, trans_a, trans_b, 0.5, a, b, 0, c);
              const bool strided = pa == placing::strided || pb == placing::strided || pc == placing::strided;
              const bool must_run =
                  implementation == "portable" || (sizeof(T) > 2 && !strided && at_home.contains(implementation));
              ASSERT_TRUE(ran || !must_run) << implementation;
              if (!ran) continue;
              vendor_runs += implementation != "portable";
              expect_product<T>(trans_a, trans_b, 0.5, a, b, 0, 0, c,
                                name_of(implementation, pa, pb, pc, trans_a, trans_b));
              if (this->HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
  const bool has_vendor = sizeof(T) > 2 && this->implementations.size() > 1;
  EXPECT_GE(vendor_runs, has_vendor ? 64 * 4 : 0);
}

TYPED_TEST(gemm_typed, every_alpha_and_beta) {
  using T = TypeParam;
  for (const std::size_t k : {std::size_t{5}, std::size_t{600}}) {
    const auto a = place<T>(50, k, placing::right);
    const auto b = place<T>(k, 70, placing::left);
    set_uniform(a, 1);
    set_uniform(b, 2);
    for (const double alpha : {1.0, -0.5, 0.0}) {
      for (const double beta : {1.0, 0.25, 0.0}) {
        for (const std::string_view implementation : this->implementations) {
          const auto c = place<T>(50, 70, placing::padded_right);
          Kokkos::deep_copy(c, static_cast<T>(2.0f));
          if (!this->run(implementation, false, false, alpha, a, b, beta, c)) continue;
          expect_product<T>(false, false, alpha, a, b, beta, 2, c, std::string(implementation));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(gemm_typed, few_rows_or_columns_or_short_sums) {
  using T = TypeParam;
  struct extents {
    std::size_t m, n, k;
  };
  // Sums of one register and of several, with and without rests; those that are cut into parts; blocks of many rows.
  // Then short sums: tiles and panels with and without rests, C of less than a panel, blocks of fewer columns. At last
  // sums that are kept in memory: in a few long rows, over several blocks of the depth, in parts; with columns of B
  // that are copied, and rows of B that are narrower than a panel. The last ones are for 16-bit numbers: sums that are
  // narrowed in several rows of C together, few columns for many rows, and a narrow B that is widened as it lies.
  // Behind them are columns that are read on, a column of sums that are shorter than a vector, low tiles of short sums,
  // and a few rows side by side. The last four have low tiles of six rows, whole rows of C whose A is widened in
  // pieces, a few columns that are added up together, and columns of B that are turned with rests of rows and columns.
  for (const auto& [m, n, k] :
       {extents{1, 1, 1}, {5, 1, 63},    {3, 2, 64},    {7, 1, 130},   {2, 4, 20000}, {33, 8, 700},   {1500, 1, 70},
        {2100, 3, 9},     {9, 1, 1001},  {300, 2, 257}, {6, 16, 4},    {13, 100, 10}, {47, 530, 5},   {7, 150, 33},
        {64, 48, 256},    {29, 37, 255}, {1, 300, 40},  {3, 613, 41},  {5, 330, 300}, {40, 130, 400}, {65, 6, 300},
        {33, 98, 1100},   {70, 17, 515}, {3, 13, 4254}, {13, 7, 1500}, {61, 8, 1030}, {99, 15, 305},  {70, 12, 400},
        {62, 400, 40},    {50, 11, 53},  {13, 1500, 7}, {200, 7, 150}, {300, 9, 600}, {45, 40, 64},   {1, 46, 300},
        {40, 1, 9},       {17, 99, 1},   {11, 130, 8},  {20, 6, 2000}, {260, 3, 400}, {150, 70, 12},  {600, 50, 5},
        {3, 40, 300},     {31, 90, 19}}) {
    for (const placing pa : {placing::right, placing::padded_left, placing::strided}) {
      for (const placing pb : {placing::right, placing::left}) {
        const auto a = place<T>(m, k, pa);
        const auto b = place<T>(k, n, pb);
        set_uniform(a, 1);
        set_uniform(b, 2);
        for (const std::string_view implementation : this->implementations) {
          const auto c = place<T>(m, n, placing::padded_right);
          Kokkos::deep_copy(c, static_cast<T>(2.0f));
          const std::string what = std::string(implementation) + " m = " + std::to_string(m) +
                                   ", n = " + std::to_string(n) + ", k = " + std::to_string(k);
          if (!this->run(implementation, false, false, 0.5, a, b, 0.25, c)) continue;
          expect_product<T>(false, false, 0.5, a, b, 0.25, 2, c, what);
          // The same with rows for columns.
          const auto transposed = place<T>(n, m, placing::right);
          if (!this->run(implementation, true, true, 1, b, a, 0, transposed)) continue;
          expect_product<T>(true, true, 1, b, a, 0, 0, transposed, what + ", transposed");
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

/// Long rows times as many columns as registers hold sums of: with and without rests of rows, columns and vectors; sums
/// in parts, of which each block computes one or all, and whose last one is shorter than a vector; columns of B in rows
/// with gaps and without, and one behind the other.
TYPED_TEST(gemm_typed, long_rows_and_few_columns) {
  using T = TypeParam;
  struct extents {
    std::size_t m, n, k;
  };
  for (const auto& [m, n, k] :
       {extents{67, 2, 129}, {79, 3, 84},   {66, 4, 100},  {131, 5, 77},  {64, 6, 1500},   {200, 7, 65},
        {65, 8, 161},        {69, 9, 200},  {75, 10, 230}, {64, 11, 415}, {70, 12, 1234},  {65, 13, 701},
        {66, 14, 300},       {64, 5, 9101}, {4, 3, 30000}, {9, 4, 2000},  {15, 14, 21313}, {64, 14, 9101},
        {1030, 2, 40},       {21, 1, 600},  {7, 1, 5003},  {9, 1, 33000}, {30, 3, 3001},   {20, 8, 517}}) {
    const auto a = place<T>(m, k, placing::right);
    set_uniform(a, 1);
    for (const placing pb : {placing::right, placing::padded_right, placing::left, placing::strided}) {
      const auto b = place<T>(k, n, pb);
      set_uniform(b, 2);
      for (const std::string_view implementation : this->implementations) {
        const auto c = place<T>(m, n, placing::right);
        if (!this->run(implementation, false, false, 1, a, b, 0, c)) continue;
        expect_product<T>(false, false, 1, a, b, 0, 0, c,
                          std::string(implementation) + " m = " + std::to_string(m) + ", n = " + std::to_string(n) +
                              ", k = " + std::to_string(k));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

/// Rows of C that tiles hold as a whole: a vector and less, up to four of them, with and without rests; short and
/// longer sums, more columns than tiles hold, and columns of B with gaps. Nothing is written behind a row.
TYPED_TEST(gemm_typed, short_rows_of_c) {
  using T = TypeParam;
  constexpr std::size_t gap = 3;
  constexpr float untouched = 3;
  for (const std::size_t n : {1, 5, 8, 9, 15, 16, 17, 20, 25, 31, 32, 33, 40, 48, 49, 60, 64, 65}) {
    for (const std::size_t k : {1, 7, 11, 40, 130}) {
      const std::size_t m = k == 7 ? 333 : 131;
      for (const placing pa : {placing::right, placing::left}) {
        for (const placing pb : {placing::right, placing::left, placing::strided}) {
          const auto a = place<T>(m, k, pa);
          const auto b = place<T>(k, n, pb);
          set_uniform(a, 1);
          set_uniform(b, 2);
          for (const std::string_view implementation : this->implementations) {
            const auto wide = place<T>(m, n + gap, placing::right);
            Kokkos::deep_copy(wide, static_cast<T>(untouched));
            const auto c = Kokkos::subview(wide, Kokkos::ALL, std::pair<std::size_t, std::size_t>(0, n));
            if (!this->run(implementation, false, false, 1, a, b, 0, c)) continue;
            const std::string what = std::string(implementation) + " m = " + std::to_string(m) +
                                     ", n = " + std::to_string(n) + ", k = " + std::to_string(k);
            expect_product<T>(false, false, 1, a, b, 0, 0, c, what);
            const auto written = tests::host_copy(wide);
            for (std::size_t i = 0; i < m; ++i) {
              for (std::size_t j = n; j < n + gap; ++j) ASSERT_EQ(value(written(i, j)), untouched) << what;
            }
            const auto whole = place<T>(m, n, placing::right);
            this->run(implementation, false, false, 1, a, b, 0, whole);
            expect_product<T>(false, false, 1, a, b, 0, 0, whole, what + " without gaps");
            if (this->HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

/// Tiles of one vector with each number of rows: the last rows of most overlap those before. Sums that are complete in
/// registers, and sums in parts; a single column that is written as a row.
TYPED_TEST(gemm_typed, each_number_of_rows_and_few_columns) {
  using T = TypeParam;
  for (std::size_t m = 1; m <= 26; ++m) {
    for (const std::size_t n : {1, 3, 8}) {
      for (const std::size_t k : {20, 1100}) {
        for (const placing pa : {placing::right, placing::left}) {
          const auto a = place<T>(m, k, pa);
          const auto b = place<T>(k, n, placing::right);
          set_uniform(a, 1);
          set_uniform(b, 2);
          for (const std::string_view implementation : this->implementations) {
            for (const double beta : {0.0, 0.25}) {
              const auto c = place<T>(m, n, placing::right);
              Kokkos::deep_copy(c, static_cast<T>(2.0f));
              if (!this->run(implementation, false, false, 0.5, a, b, beta, c)) continue;
              expect_product<T>(false, false, 0.5, a, b, beta, 2, c,
                                std::string(implementation) + " m = " + std::to_string(m) +
                                    ", n = " + std::to_string(n) + ", k = " + std::to_string(k));
              if (this->HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

/// Rows of B that are read as far as possible in one go, by more than one tile of rows of C, and by few rows where B is
/// larger than the caches; rows that are about a multiple of 1 KiB apart, by few rows and by several. And rows of C
/// whose last block has one column.
TYPED_TEST(gemm_typed, few_rows_and_a_wide_matrix) {
  using T = TypeParam;
  struct extents {
    std::size_t m, n, k;
  };
  for (const auto& [m, n, k] : {extents{13, 13001, 165},
                                {2, 1026, 41},
                                {1, 4099, 160},
                                {2, 2055, 300},
                                {3, 1027, 530},
                                {5, 1022, 70},
                                {7, 1024, 30},
                                {27, 514, 9},
                                {37, 6001, 90},
                                {50, 5120, 170},
                                {30, 8193, 7},
                                {26, 6721, 7}}) {
    const auto a = place<T>(m, k, placing::right);
    const auto b = place<T>(k, n, placing::right);
    set_uniform(a, 1);
    set_uniform(b, 2);
    for (const std::string_view implementation : this->implementations) {
      const auto c = place<T>(m, n, placing::right);
      if (!this->run(implementation, false, false, 1, a, b, 0, c)) continue;
      expect_product<T>(false, false, 1, a, b, 0, 0, c, std::string(implementation) + " n = " + std::to_string(n));
    }
  }
}

TYPED_TEST(gemm_typed, empty_extents) {
  using T = TypeParam;
  for (const std::string_view implementation : this->implementations) {
    const auto c = place<T>(4, 6, placing::right);
    Kokkos::deep_copy(c, static_cast<T>(2.0f));
    ASSERT_TRUE(this->run(implementation, false, false, 1, place<T>(4, 0, placing::right),
                          place<T>(0, 6, placing::right), 0.5, c));
    EXPECT_EQ(value(tests::host_copy(c)(3, 5)), 1.0);
    ASSERT_TRUE(this->run(implementation, false, false, 1, place<T>(4, 0, placing::right),
                          place<T>(0, 6, placing::right), 0, c));
    EXPECT_EQ(value(tests::host_copy(c)(3, 5)), 0.0);
    EXPECT_TRUE(this->run(implementation, false, false, 1, place<T>(0, 5, placing::right),
                          place<T>(5, 6, placing::left), 0, place<T>(0, 6, placing::right)));
    EXPECT_TRUE(this->run(implementation, false, false, 1, place<T>(4, 5, placing::right),
                          place<T>(5, 0, placing::left), 0, place<T>(4, 0, placing::right)));
  }
}

TYPED_TEST(gemm_typed, batches) {
  using T = TypeParam;
  constexpr std::size_t batch = 5;
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{17, 19, 6}, {7, 11, 1100}, {3, 200, 40}, {65, 5, 70}}) {
    const Kokkos::View<T***, Kokkos::LayoutRight, space> a("a", batch, m, k);
    const Kokkos::View<T***, Kokkos::LayoutLeft, space> left("left", batch, k, n);
    const Kokkos::View<T***, Kokkos::LayoutRight, space> right("right", batch, k, n);
    // One matrix for the whole batch: a batch stride of 0.
    const Kokkos::View<T**, Kokkos::LayoutRight, space> shared_matrix("shared", k, n);
    const Kokkos::View<T***, Kokkos::LayoutStride, space, Kokkos::MemoryUnmanaged> shared(
        shared_matrix.data(), Kokkos::LayoutStride(batch, 0, k, n, n, 1));
    for (std::size_t which = 0; which < batch; ++which) {
      set_uniform(Kokkos::subview(a, which, Kokkos::ALL, Kokkos::ALL), which);
      set_uniform(Kokkos::subview(left, which, Kokkos::ALL, Kokkos::ALL), 10 + which);
      set_uniform(Kokkos::subview(right, which, Kokkos::ALL, Kokkos::ALL), 10 + which);
    }
    set_uniform(shared_matrix, 30);
    const auto check = [&](const auto& b) {
      for (const std::string_view implementation : this->implementations) {
        const Kokkos::View<T***, Kokkos::LayoutRight, space> c("c", batch, m, n);
        Kokkos::deep_copy(c, static_cast<T>(2.0f));
        if (!this->run(implementation, false, false, 1, a, b, 0.5, c)) continue;
        for (std::size_t which = 0; which < batch; ++which) {
          expect_product<T>(false, false, 1, Kokkos::subview(a, which, Kokkos::ALL, Kokkos::ALL),
                            Kokkos::subview(b, which, Kokkos::ALL, Kokkos::ALL), 0.5, 2,
                            Kokkos::subview(c, which, Kokkos::ALL, Kokkos::ALL), std::string(implementation));
        }
      }
    };
    check(left);
    check(right);
    check(shared);
  }
}

/// An operand may be one row or column that stands for all.
TYPED_TEST(gemm_typed, operands_with_a_stride_of_zero) {
  using T = TypeParam;
  using repeated = Kokkos::View<T**, Kokkos::LayoutStride, space, Kokkos::MemoryUnmanaged>;
  const auto row = place<T>(1, 40, placing::right);
  set_uniform(row, 1);
  const auto other = place<T>(40, 70, placing::right);
  set_uniform(other, 2);
  for (const std::string_view implementation : this->implementations) {
    const auto c = place<T>(40, 40, placing::right);
    const repeated b(row.data(), Kokkos::LayoutStride(70, 0, 40, 1));
    if (this->run(implementation, false, false, 1, other, b, 0, c)) {
      expect_product<T>(false, false, 1, other, b, 0, 0, c, std::string(implementation) + ", rows of B");
    }
    const repeated a(row.data(), Kokkos::LayoutStride(40, 1, 40, 0));
    const auto wide = place<T>(40, 70, placing::right);
    if (this->run(implementation, false, false, 1, a, other, 0, wide)) {
      expect_product<T>(false, false, 1, a, other, 0, 0, wide, std::string(implementation) + ", columns of A");
    }
  }
}

TYPED_TEST(gemm_typed, const_and_unmanaged_views) {
  using T = TypeParam;
  const Kokkos::View<T**, Kokkos::LayoutRight, space> a("a", 3, 4);
  const Kokkos::View<T**, Kokkos::LayoutRight, space> b("b", 4, 5);
  set_uniform(a, 1);
  set_uniform(b, 2);
  const Kokkos::View<T[3][5], Kokkos::LayoutLeft, space> c("c");
  gemm(this->ctx, transposition::no, transposition::no, 1, Kokkos::View<const T**, Kokkos::LayoutRight, space>(a),
       Kokkos::View<const T**, Kokkos::LayoutRight, space, Kokkos::MemoryUnmanaged>(b), 0, c);
  this->ctx.fence();
  expect_product<T>(false, false, 1, a, b, 0, 0, c, "const");
}

}  // namespace
}  // namespace prumo::products
