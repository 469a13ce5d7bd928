// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/counted.hpp>
#include <prumo/math.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace prumo {
namespace {

using number = counted<double>;

TEST(counted, tells_kinds_apart_and_totals_as_documented) {
  flop_counts counts;
  {
    const counting_scope scope(counts);
    const number a(2), b(3);
    number c = a + b;                 // add
    c = c - a;                        // add
    c *= b;                           // mul
    c = c / b;                        // div
    c = prumo::fma(a, b, c);          // fma
    c = prumo::exp(prumo::tanh(c));   // tanh, exp
    c = prumo::sqrt(prumo::abs(-c));  // sqrt; negation and abs are free
    c = prumo::maximum(c, a);         // minmax
    EXPECT_TRUE(c >= a);              // compare
  }
  EXPECT_EQ(counts[flop_kind::add], 2u);
  EXPECT_EQ(counts[flop_kind::mul], 1u);
  EXPECT_EQ(counts[flop_kind::div], 1u);
  EXPECT_EQ(counts[flop_kind::fma], 1u);
  EXPECT_EQ(counts[flop_kind::exp], 1u);
  EXPECT_EQ(counts[flop_kind::tanh], 1u);
  EXPECT_EQ(counts[flop_kind::sqrt], 1u);
  EXPECT_EQ(counts[flop_kind::minmax], 1u);
  EXPECT_EQ(counts[flop_kind::compare], 1u);
  EXPECT_EQ(counts.total(), 2u + 1 + 1 + 2 + 1 + 1 + 1);
}

TEST(counted, counts_only_inside_a_scope_and_scopes_nest) {
  flop_counts outer_counts, inner_counts;
  const number a(1);
  (void)(a + a);
  {
    const counting_scope outer(outer_counts);
    (void)(a + a);
    {
      const counting_scope inner(inner_counts);
      (void)(a * a);
    }
    (void)(a + a);
  }
  EXPECT_EQ(outer_counts.total(), 2u);
  EXPECT_EQ(inner_counts.total(), 1u);
  EXPECT_EQ(inner_counts[flop_kind::mul], 1u);
}

TEST(counted, computes_what_the_plain_type_computes) {
  for (const double x : {-3.0, -0.5, 0.0, 0.25, 1.0, 7.0}) {
    // Another formula than the host's; both are within 3 units in the last place.
    const double sigmoid = prumo::sigmoid(x);
    EXPECT_NEAR(prumo::sigmoid(number(x)).value(), sigmoid, 6 * std::numeric_limits<double>::epsilon() * sigmoid);
    EXPECT_EQ(prumo::tanh(number(x)).value(), prumo::tanh(x));
  }
}

}  // namespace
}  // namespace prumo
