// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: many steps beside the textbook's formulas, numbers that change in memory, refusals.

#include "operation_test.hpp"
#include <prumo/optimizer.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace prumo {
namespace {

using namespace tests;
using doubles = Kokkos::View<double*, exec>;

constexpr std::size_t count = 37;

doubles number(double value) {
  const doubles result("number", 1);
  Kokkos::deep_copy(result, value);
  return result;
}

double gradient_at(std::size_t step, std::size_t i) {
  return std::sin(0.7 * static_cast<double>(i) + 1.3 * static_cast<double>(step)) + 0.25;
}

doubles gradients_of(std::size_t step) {
  const doubles result("gradients", count);
  tests::set_elements(result, [&](std::size_t i) { return gradient_at(step, i); });
  return result;
}

void expect_near(const std::vector<double>& expected, const doubles& found) {
  const auto copy = tests::host_copy(found);
  for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(copy(i), expected[i], 1e-14) << i;
}

TEST(sgd, follows_a_rate_that_changes_in_memory) {
  const exec instance;
  const doubles weights("weights", count), rate("rate", 1);
  std::vector<double> expected(count);
  for (std::size_t step = 0; step < 10; ++step) {
    const double now = 0.1 / static_cast<double>(step + 1);
    Kokkos::deep_copy(rate, now);
    sgd(instance, rate, gradients_of(step), weights);
    instance.fence();
    for (std::size_t i = 0; i < count; ++i) expected[i] -= now * gradient_at(step, i);
  }
  expect_near(expected, weights);
}

TEST(momentum, keeps_the_velocity) {
  const exec instance;
  const doubles weights("weights", count), velocity("velocity", count), rate = number(0.1);
  std::vector<double> expected(count), of_velocity(count);
  for (std::size_t step = 0; step < 10; ++step) {
    momentum(instance, rate, 0.9, gradients_of(step), velocity, weights);
    instance.fence();
    for (std::size_t i = 0; i < count; ++i) {
      of_velocity[i] = 0.9 * of_velocity[i] + gradient_at(step, i);
      expected[i] -= 0.1 * of_velocity[i];
    }
  }
  expect_near(expected, weights);
  expect_near(of_velocity, velocity);
}

TEST(adam, takes_the_steps_of_the_paper) {
  const exec instance;
  const doubles weights("weights", count), mean("mean", count), square("square", count), step("step", 1);
  const doubles rate = number(0.01);
  std::vector<double> expected(count), of_mean(count), of_square(count);
  for (std::size_t t = 1; t <= 10; ++t) {
    const auto now = static_cast<double>(t);
    Kokkos::deep_copy(step, now);
    adam(instance, rate, step, gradients_of(t), mean, square, weights);
    instance.fence();
    for (std::size_t i = 0; i < count; ++i) {
      const double gradient = gradient_at(t, i);
      of_mean[i] = 0.9 * of_mean[i] + 0.1 * gradient;
      of_square[i] = 0.999 * of_square[i] + 0.001 * gradient * gradient;
      const double mean_hat = of_mean[i] / (1 - std::pow(0.9, now));
      const double square_hat = of_square[i] / (1 - std::pow(0.999, now));
      expected[i] -= 0.01 * mean_hat / (std::sqrt(square_hat) + 1e-8);
    }
  }
  expect_near(expected, weights);
}

/// The first step of Adam is the rate, against the sign of the gradient, however large the gradient is.
TEST(adam, begins_with_the_rate) {
  const exec instance;
  const Kokkos::View<float*, exec> weights("weights", 4), mean("mean", 4), square("square", 4), gradients("g", 4);
  const float values[] = {1e-3f, -20.0f, 1e6f, 0.0f};
  tests::set_elements(gradients, [&](std::size_t i) { return values[i]; });
  adam(instance, number(0.5), number(1), gradients, mean, square, weights);
  instance.fence();
  const auto found = tests::host_copy(weights);
  EXPECT_NEAR(found(0), -0.5f, 1e-5f);
  EXPECT_NEAR(found(1), 0.5f, 1e-6f);
  EXPECT_NEAR(found(2), -0.5f, 1e-6f);
  EXPECT_EQ(found(3), 0.0f);
}

TEST(optimizer, takes_nothing) {
  const exec instance;
  const doubles none("none", 0), rate = number(0.1);
  sgd(instance, rate, none, none);
  momentum(instance, rate, 0.5, none, none, none);
  adam(instance, rate, rate, none, none, none, none);
  instance.fence();
}

TEST(optimizer, refuses_what_does_not_fit) {
  const exec instance;
  const doubles weights("my weights", 8), gradients("my gradients", 8), state("my state", 8), rate = number(0.1);
  const doubles few("few", 7), two("two numbers", 2);
  const Kokkos::View<float*, exec> floats("floats", 8), short_rate("short rate", 1);
  const auto of_sgd = [&](const array_ref& number_of, const array_ref& from, const array_ref& to) {
    return tests::message_of<error>([&] { sgd(instance, number_of, from, to); });
  };
  EXPECT_THAT(of_sgd(two, gradients, weights),
              AllOf(StartsWith("prumo::sgd: expected one number of f64"), HasSubstr("'two numbers': f64 [2]")));
  EXPECT_THAT(of_sgd(short_rate, gradients, weights), HasSubstr("one number of f64"));
  EXPECT_THAT(of_sgd(rate, few, weights), AllOf(HasSubstr("arrays of the same extent"), HasSubstr("'few': f64 [7]")));
  EXPECT_THAT(of_sgd(rate, floats, weights), HasSubstr("arrays of the same type"));
  EXPECT_THROW(sgd(instance, rate, weights, weights), alias_error);
  EXPECT_THROW(momentum(instance, rate, 0.9, gradients, weights, weights), alias_error);
  for (const double decay : {-0.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(tests::message_of<argument_error>([&] { momentum(instance, rate, decay, gradients, state, weights); }),
                StartsWith("prumo::momentum: expected a decay of 0 or more; got "));
  }
  const doubles square("my square", 8);
  for (const adam_options& wrong :
       {adam_options{.beta1 = 1}, adam_options{.beta2 = -0.1}, adam_options{.epsilon = 0}}) {
    EXPECT_THAT(tests::message_of<argument_error>(
                    [&] { adam(instance, rate, rate, gradients, state, square, weights, wrong); }),
                StartsWith("prumo::adam: expected beta1 and beta2 from 0 to less than 1, and a positive epsilon"));
  }
}

}  // namespace
}  // namespace prumo
