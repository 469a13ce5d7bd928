// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What tests of products of every type have in common.

#include "all_scalars.hpp"
#include "filling.hpp"
#include <prumo/gemm.hpp>
#include <prumo/spaces.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace prumo::products {

using space = Kokkos::DefaultExecutionSpace;

template <class T>
double value(const T& stored) {
  return static_cast<double>(static_cast<compute_t<T>>(stored));
}

inline transposition as_transposition(bool yes) { return yes ? transposition::yes : transposition::no; }

/// alpha op(A) op(B) + beta C, with beta C for a C of ones times `old`, within the bound of ops/gemm/README.md.
template <class T, class A, class B, class C>
void expect_product(bool trans_a, bool trans_b, double alpha, const A& a, const B& b, double beta, double old,
                    const C& c, const std::string& what) {
  const auto left = tests::host_copy(a);
  const auto right = tests::host_copy(b);
  const auto result = tests::host_copy(c);
  const std::size_t k = trans_a ? a.extent(0) : a.extent(1);
  const double u = unit_roundoff<compute_t<T>>();
  for (std::size_t i = 0; i < c.extent(0); ++i) {
    for (std::size_t j = 0; j < c.extent(1); ++j) {
      double sum = 0;
      double size = 0;
      for (std::size_t p = 0; p < k; ++p) {
        const double term = value(trans_a ? left(p, i) : left(i, p)) * value(trans_b ? right(j, p) : right(p, j));
        sum += term;
        size += std::abs(term);
      }
      const double expected = alpha * sum + (beta == 0 ? 0 : beta * old);
      const double bound = 2 * (static_cast<double>(k) + 2) * u * (std::abs(alpha) * size + std::abs(beta * old)) +
                           (sizeof(T) == 2 ? 1.01 * unit_roundoff<T>() * std::abs(expected) + 1e-7 : 0);
      ASSERT_LE(std::abs(value(result(i, j)) - expected), bound) << what << " at " << i << ", " << j;
    }
  }
}

/// Products of a type by implementations that are called by name.
template <class T>
class gemm_typed : public testing::Test {
 public:
  context<space> ctx;
  std::vector<std::string_view> implementations =
      gemm_implementations(detail::space_kind_of<space>::value, dtype_of<T>());

  /// Runs unless the implementation refuses; says whether it ran.
  template <class A, class B, class C>
  bool run(std::string_view implementation, bool trans_a, bool trans_b, double alpha, const A& a, const B& b,
           double beta, const C& c) {
    try {
      gemm(ctx, as_transposition(trans_a), as_transposition(trans_b), static_cast<compute_t<T>>(alpha), a, b,
           static_cast<compute_t<T>>(beta), c, {.implementation = implementation});
    } catch (const unsupported_error&) {
      return false;
    }
    ctx.fence();
    return true;
  }
};

}  // namespace prumo::products
