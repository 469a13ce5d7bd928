// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/distributions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace prumo::bench {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(distributions, digamma_and_trigamma_have_their_known_values) {
  EXPECT_NEAR(digamma(1), -std::numbers::egamma, 1e-12);
  EXPECT_NEAR(digamma(0.5), -std::numbers::egamma - 2 * std::numbers::ln2, 1e-12);
  EXPECT_NEAR(digamma(20), digamma(19) + 1.0 / 19, 1e-12);
  EXPECT_NEAR(trigamma(1), std::numbers::pi * std::numbers::pi / 6, 1e-12);
  EXPECT_NEAR(trigamma(0.5), std::numbers::pi * std::numbers::pi / 2, 1e-12);
  for (const double x : {1e-3, 0.3, 1.0, 4.5, 200.0, 1e5}) {
    EXPECT_NEAR(inverse_trigamma(trigamma(x)) / x, 1, 1e-6) << x;
  }
}

TEST(distributions, student_agrees_with_tables) {
  // R: qt(0.975, df)
  EXPECT_NEAR(student_quantile(0.95, 1), 12.706204736432095, 1e-8);
  EXPECT_NEAR(student_quantile(0.95, 2), 4.302652729911275, 1e-9);
  EXPECT_NEAR(student_quantile(0.95, 4), 2.7764451051977987, 1e-9);
  EXPECT_NEAR(student_quantile(0.95, 10), 2.2281388519649385, 1e-9);
  EXPECT_NEAR(student_quantile(0.95, infinite), 1.959963984540054, 1e-9);
  EXPECT_NEAR(student_quantile(0.95, 1e6), 1.959963984540054, 1e-5);
  // Two degrees: a closed form.
  EXPECT_NEAR(student_upper(3, 2), (1 - 3 / std::sqrt(11.0)) / 2, 1e-12);
  EXPECT_NEAR(student_upper(-3, 2), (1 + 3 / std::sqrt(11.0)) / 2, 1e-12);
  EXPECT_EQ(student_upper(0, 5), 0.5);
  EXPECT_NEAR(chi_squared_quantile(0.5, 2), 2 * std::log(2.0), 1e-12);
  EXPECT_EQ(student_upper(infinite, 5), 0);
}

TEST(distributions, fisher_agrees_with_tables) {
  EXPECT_NEAR(fisher_upper(4.9646027, 1, 10), 0.05, 1e-7);  // R: qf(0.95, 1, 10)
  EXPECT_NEAR(fisher_upper(3.0983912, 3, 20), 0.05, 1e-7);  // R: qf(0.95, 3, 20)
  EXPECT_NEAR(fisher_upper(5.9914645 / 2, 2, infinite), 0.05, 1e-8);
  EXPECT_NEAR(fisher_upper(18.307038 / 10, 10, infinite), 0.05, 1e-7);
  EXPECT_NEAR(fisher_upper(3.940299 / 10, 10, infinite), 0.95, 1e-6);
  EXPECT_EQ(fisher_upper(0, 3, 4), 1);
}

TEST(distributions, refuse_what_lies_outside) {
  EXPECT_THROW((void)digamma(0), std::domain_error);
  EXPECT_THROW((void)trigamma(-1), std::domain_error);
  EXPECT_THROW((void)inverse_trigamma(0), std::domain_error);
  EXPECT_THROW((void)student_upper(1, 0), std::domain_error);
  EXPECT_THROW((void)student_quantile(1, 3), std::domain_error);
  EXPECT_THROW((void)fisher_upper(-1, 3, 3), std::domain_error);
}

}  // namespace
}  // namespace prumo::bench
