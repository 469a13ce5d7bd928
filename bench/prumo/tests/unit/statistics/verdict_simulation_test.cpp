// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How often verdicts are right, over made-up comparisons of fixed seeds: some cells of the tables of docs/comparing.md,
// with fewer trials than the tables have. What is expected comes from the tables, whose bounds no trial may cross.
#include "simulation_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

namespace prumo::bench::simulation {
namespace {

std::string document() {
  std::ifstream in(PRUMO_DOCUMENTATION_FOLDER "/comparing.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(verdict_simulation, the_tables_are_what_the_simulation_says) {
  const std::string published = document();
  for (const cell& which : {cell{pattern::independent, {3, 3}, 1, 0.01}, cell{pattern::independent, {3, 3}, 20, 0.005},
                            cell{pattern::independent, {3, 17}, 1, 0.01}, cell{pattern::persistent, {3, 3}, 20, 0.02},
                            cell{pattern::drift, {6, 6}, 1, 0.005}, cell{pattern::shared, {6, 6}, 20, 0.01},
                            cell{pattern::two_modes, {3, 3}, 1, 0.003}, cell{pattern::some_modes, {6, 6}, 20, 0.005},
                            cell{pattern::autocorrelated, {3, 3}, 96, 0.01}}) {
    const int trials = which.cases == 1 ? 600 : which.cases == 20 ? 100 : 30;
    const rates found = rates_of(which, trials);
    for (const quantity& what : quantities) {
      if (!what.is_percentage) continue;
      const double expected = published_value(published, what, which) / 100;
      // 3.3 standard errors are left by one binomial count of a thousand; a rate of 0 in the table may be 0.3 %.
      const double reach = 4 * standard_error(std::min(std::max(expected, 0.003), 0.997), trials) + 0.001;
      EXPECT_NEAR(found.*what.value, expected, reach)
          << what.title << ", " << to_string(which.chance) << ", runs " << to_string(which.plan) << ", " << which.cases
          << " cases, spread " << which.spread;
    }
  }
}

TEST(verdict_simulation, the_tables_keep_what_the_document_promises) {
  const std::string published = document();
  for (const cell& which : all_cells()) {
    const std::string name = std::string(to_string(which.chance)) + ' ' + to_string(which.plan);
    EXPECT_LE(published_value(published, quantities[0], which), 5) << name;
    const bool has_modes = which.chance == pattern::two_modes;
    const bool is_quiet = which.spread <= 0.01 && !has_modes && which.chance != pattern::persistent;
    if (which.plan.most != 17 || !is_quiet) continue;
    EXPECT_GE(published_value(published, quantities[1], which), 90) << name;
  }
}

TEST(verdict_simulation, the_bound_is_that_of_a_known_spread) {
  // Three pairs of spread 1 %: a standard error of 0.816 %, and 5 % lie 1.923 % above 3 %.
  EXPECT_NEAR(bound_of_power(0.01, 1, 3), 0.761, 0.001);
  EXPECT_LT(bound_of_power(0.01, 96, 11), 0.9);
  EXPECT_GT(bound_of_power(0.01, 96, 12), 0.9);
}

}  // namespace
}  // namespace prumo::bench::simulation
