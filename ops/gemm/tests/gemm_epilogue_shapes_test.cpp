// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bias and an activation behind products of many shapes. Elements are small integers, so sums are exact in every
// type, whatever computes them.

#include "gemm_typed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace prumo::products {
namespace {

using tests::host_copy;
using tests::place;
using tests::placing;

enum class biased { no, columns, rows };

/// -2 ... 2, in an order that the seed decides.
double small_integer(std::size_t i, std::size_t seed) {
  return static_cast<double>((i * i + seed * i + i / 7) % 5) - 2;
}

template <class T>
class gemm_epilogue_shapes : public gemm_typed<T> {
 protected:
  struct shape {
    std::size_t m, n, k;
  };

  /// Tries all that may follow the product of a shape.
  void expect_epilogues(const shape& of, const std::vector<placing>& places, const std::vector<biased>& biases,
                        const std::vector<activation_function>& functions) {
    const auto a = place<T>(of.m, of.k, placing::right), b = place<T>(of.k, of.n, placing::right);
    // At most 17 products of a sum are not 0, so no sum exceeds 68.
    const std::size_t apart = of.k / 16 + 1;
    tests::set_elements(a, [&](std::size_t i, std::size_t p) {
      return static_cast<T>(static_cast<float>(p % apart == i % apart ? small_integer(i + 3 * p, 1) : 0));
    });
    tests::set_elements(b, [&](std::size_t p, std::size_t j) {
      return static_cast<T>(static_cast<float>(small_integer(5 * p + j, 2)));
    });
    const std::vector<double> sums = sums_of(host_copy(a), host_copy(b));
    for (const biased kind : biases) {
      const auto bias = bias_of(kind == biased::rows ? of.m : of.n);
      for (const activation_function function : functions) {
        for (const placing of_c : places) {
          for (const std::string_view implementation : this->implementations) {
            const auto c = place<T>(of.m, of.n, of_c);
            gemm_options options{.implementation = implementation, .activation = function};
            if (kind == biased::columns) options.column_bias = bias;
            if (kind == biased::rows) options.row_bias = bias;
            try {
              gemm(this->ctx, transposition::no, transposition::no, 1, a, b, 0, c, options);
            } catch (const unsupported_error&) {
              continue;
            }
            this->ctx.fence();
            const std::string what =
                std::string(implementation) + " " + std::to_string(of.m) + " x " + std::to_string(of.n) + " x " +
                std::to_string(of.k) + ", " + std::string(activation_name(function)) + ", bias " +
                std::to_string(static_cast<int>(kind)) + ", C " + std::to_string(static_cast<int>(of_c));
            expect(host_copy(c), sums, kind, function, what);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }

 private:
  using vector = Kokkos::View<T*, space>;

  static double bias_at(std::size_t i) { return 8 * small_integer(i, 3); }
  static vector bias_of(std::size_t count) {
    const vector bias("bias", count);
    tests::set_elements(bias, [](std::size_t i) { return static_cast<T>(static_cast<float>(bias_at(i))); });
    return bias;
  }

  template <class A, class B>
  static std::vector<double> sums_of(const A& a, const B& b) {
    const std::size_t m = a.extent(0), n = b.extent(1), k = a.extent(1);
    std::vector<double> sums(m * n);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t p = 0; p < k; ++p) {
        const double factor = value(a(i, p));
        for (std::size_t j = 0; factor != 0 && j < n; ++j) sums[i * n + j] += factor * value(b(p, j));
      }
    }
    return sums;
  }

  /// Integers are exact. A sigmoid is within a few roundings of the compute type and one of C's.
  template <class C>
  static void expect(const C& c, const std::vector<double>& sums, biased kind, activation_function function,
                     const std::string& what) {
    const std::size_t m = c.extent(0), n = c.extent(1);
    const double bound = 16 * unit_roundoff<compute_t<T>>() + (sizeof(T) == 2 ? 1.01 * unit_roundoff<T>() : 0);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double sum = sums[i * n + j] + (kind == biased::no ? 0 : bias_at(kind == biased::rows ? i : j));
        if (function == activation_function::sigmoid) {
          // 16-bit numbers may be subnormal where the sum is far below zero.
          const double expected = 1 / (1 + std::exp(-sum));
          ASSERT_NEAR(value(c(i, j)), expected, bound * expected + 1e-7) << what << " at " << i << ", " << j;
        } else {
          const double expected = function == activation_function::relu ? std::max(sum, 0.0) : sum;
          ASSERT_EQ(value(c(i, j)), expected) << what << " at " << i << ", " << j;
        }
      }
    }
  }
};
TYPED_TEST_SUITE(gemm_epilogue_shapes, tests::all_scalars);

/// Rows of C that are shorter than a vector, of a few vectors, and wider than a block; few rows and few columns; sums
/// of few products and of many.
TYPED_TEST(gemm_epilogue_shapes, every_bias_and_activation) {
  using enum activation_function;
  for (const auto& [m, n, k] : std::vector<typename TestFixture::shape>{{203, 45, 18},
                                                                        {150, 10, 40},
                                                                        {130, 64, 5},
                                                                        {90, 33, 3},
                                                                        {37, 700, 9},
                                                                        {64, 130, 300},
                                                                        {13, 6, 2048},
                                                                        {3, 5, 1500},
                                                                        {120, 1, 77},
                                                                        {1, 300, 64},
                                                                        {2, 2, 1},
                                                                        {70, 70, 600}}) {
    this->expect_epilogues({m, n, k}, {placing::right, placing::padded_right, placing::left},
                           {biased::no, biased::columns, biased::rows}, {none, relu, sigmoid});
    if (this->HasFatalFailure()) return;
  }
}

/// A C that the caches of a host do not hold.
TYPED_TEST(gemm_epilogue_shapes, of_a_large_c) {
  this->ctx.set_working_set(std::size_t{1} << 40);
  for (const auto& [m, n, k] : std::vector<typename TestFixture::shape>{{1500, 1410, 3}, {300, 8001, 12}}) {
    this->expect_epilogues({m, n, k}, {placing::right}, {biased::columns}, {activation_function::relu});
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace prumo::products
