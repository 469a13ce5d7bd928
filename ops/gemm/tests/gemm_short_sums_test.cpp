// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products whose sums have so few elements that most of the time goes into writing C.

#include "gemm_typed.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace prumo::products {
namespace {

using tests::place;
using tests::placing;
using tests::set_uniform;

template <class T>
class gemm_short_sums : public gemm_typed<T> {};
TYPED_TEST_SUITE(gemm_short_sums, tests::all_scalars);

/// Rows that begin anywhere in a line, in one block and in several, with and without gaps. 31 rows leave one over.
TYPED_TEST(gemm_short_sums, past_the_caches) {
  using T = TypeParam;
  this->ctx.set_working_set(std::size_t{1} << 40);
  struct extents {
    std::size_t n, k;
  };
  struct factors {
    double alpha, beta;
  };
  for (const auto& [n, k] : {extents{7, 10}, {64, 10}, {96, 10}, {301, 20}, {259, 1}, {533, 10}, {1606, 17}}) {
    const auto a = place<T>(31, k, placing::right);
    const auto b = place<T>(k, n, placing::right);
    set_uniform(a, 1);
    set_uniform(b, 2);
    for (const std::string_view implementation : this->implementations) {
      for (const placing pc : {placing::right, placing::padded_right}) {
        for (const auto& [alpha, beta] : {factors{1, 0}, {0.5, 0}, {1, 0.25}}) {
          const auto c = place<T>(31, n, pc);
          Kokkos::deep_copy(c, static_cast<T>(2.0f));
          if (!this->run(implementation, false, false, alpha, a, b, beta, c)) continue;
          expect_product<T>(false, false, alpha, a, b, beta, 2, c,
                            std::string(implementation) + " n = " + std::to_string(n) + " k = " + std::to_string(k) +
                                " alpha = " + std::to_string(alpha) + " beta = " + std::to_string(beta));
        }
      }
    }
  }
}

/// Sums of few products in a C of many entries: rows of a few columns and of several blocks, in more rows than a block
/// has, with gaps and by columns.
TYPED_TEST(gemm_short_sums, of_many_entries) {
  using T = TypeParam;
  struct extents {
    std::size_t m, n, k;
  };
  for (const auto& [m, n, k] : {extents{5000, 70, 3},
                                {700, 1100, 6},
                                {40, 4200, 12},
                                {9001, 2, 2},
                                {3, 9000, 13},
                                {3000, 20, 5},
                                {130, 3000, 16},
                                {20001, 5, 11},
                                {2000, 33, 1}}) {
    for (const placing pa : {placing::right, placing::left}) {
      for (const placing pc : {placing::right, placing::padded_left, placing::strided}) {
        const auto a = place<T>(m, k, pa);
        const auto b = place<T>(k, n, pc == placing::right ? placing::right : placing::padded_left);
        set_uniform(a, 1);
        set_uniform(b, 2);
        const double alpha = pa == placing::right ? 1 : 0.5, beta = pc == placing::padded_left ? 0.25 : 0;
        for (const std::string_view implementation : this->implementations) {
          const auto c = place<T>(m, n, pc);
          if (beta != 0) Kokkos::deep_copy(c, static_cast<T>(2.0f));
          if (!this->run(implementation, false, false, alpha, a, b, beta, c)) continue;
          expect_product<T>(false, false, alpha, a, b, beta, 2, c,
                            std::string(implementation) + " m = " + std::to_string(m) + ", n = " + std::to_string(n) +
                                ", k = " + std::to_string(k));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace prumo::products
