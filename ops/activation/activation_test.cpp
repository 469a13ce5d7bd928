// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values at the edges that ops/activation/README.md names, in every type.

#include "applied.hpp"
#include "message_of.hpp"
#include <prumo/activation.hpp>
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace prumo {
namespace {

using tests::applied;
using tests::largest;
using tests::smallest;

constexpr auto relu_of = [](const auto& space, const auto& x, const auto& y) { relu(space, x, y); };
constexpr auto gelu_of = [](const auto& space, const auto& x, const auto& y) { gelu(space, x, y); };
constexpr auto gelu_by_tanh_of = [](const auto& space, const auto& x, const auto& y) {
  gelu(space, x, y, gelu_form::tanh);
};
constexpr auto sigmoid_of = [](const auto& space, const auto& x, const auto& y) { sigmoid(space, x, y); };
constexpr auto tanh_of = [](const auto& space, const auto& x, const auto& y) { tanh(space, x, y); };

template <class T>
class activation : public testing::Test {
 protected:
  using limits = std::numeric_limits<compute_t<T>>;
  static constexpr auto infinity = limits::infinity();
  static constexpr auto nan = limits::quiet_NaN();
};
TYPED_TEST_SUITE(activation, tests::all_scalars);

TYPED_TEST(activation, nan_gives_nan) {
  EXPECT_TRUE(std::isnan(applied<TypeParam>(relu_of, this->nan)));
  EXPECT_TRUE(std::isnan(applied<TypeParam>(gelu_of, this->nan)));
  EXPECT_TRUE(std::isnan(applied<TypeParam>(gelu_by_tanh_of, this->nan)));
  EXPECT_TRUE(std::isnan(applied<TypeParam>(sigmoid_of, this->nan)));
  EXPECT_TRUE(std::isnan(applied<TypeParam>(tanh_of, this->nan)));
}

TYPED_TEST(activation, relu_at_the_edges) {
  using C = compute_t<TypeParam>;
  EXPECT_EQ(applied<TypeParam>(relu_of, this->infinity), this->infinity);
  EXPECT_EQ(applied<TypeParam>(relu_of, -this->infinity), C(0));
  for (const C zero : {C(0), C(-0.0)}) {
    const C result = applied<TypeParam>(relu_of, zero);
    EXPECT_EQ(result, C(0));
    EXPECT_FALSE(std::signbit(result)) << zero;
  }
  for (const C number : {smallest<TypeParam>(), largest<TypeParam>(), C(1)}) {
    EXPECT_EQ(applied<TypeParam>(relu_of, number), number);
    EXPECT_EQ(applied<TypeParam>(relu_of, -number), C(0));
  }
}

template <class T, class Gelu>
void expect_edges_of_gelu(const Gelu& form) {
  using C = compute_t<T>;
  const C infinity = std::numeric_limits<C>::infinity();
  EXPECT_EQ(applied<T>(form, infinity), infinity);
  EXPECT_EQ(applied<T>(form, largest<T>()), largest<T>());
  EXPECT_EQ(applied<T>(form, C(0)), C(0));
  EXPECT_FALSE(std::signbit(applied<T>(form, C(0))));
  for (const C nothing : {C(-0.0), C(-200), -largest<T>(), -infinity}) {
    const C result = applied<T>(form, nothing);
    EXPECT_EQ(result, C(0)) << nothing;
    EXPECT_TRUE(std::signbit(result)) << nothing;
  }
  // Phi(0) = 1/2, to the last bit.
  EXPECT_EQ(applied<T>(form, 4 * smallest<T>()), 2 * smallest<T>());
  EXPECT_EQ(applied<T>(form, -4 * smallest<T>()), -2 * smallest<T>());
}

TYPED_TEST(activation, gelu_at_the_edges) {
  expect_edges_of_gelu<TypeParam>(gelu_of);
  expect_edges_of_gelu<TypeParam>(gelu_by_tanh_of);
}

/// Far below zero x Phi(x) is small, and still accurate. The textbook's 1 + erf would give 0.
TEST(gelu, does_not_cancel_for_negative_arguments) {
  for (const double x : {-3.0, -4.19, -4.21, -6.0, -9.0, -12.0}) {
    const auto exact_of = [](double argument) { return 0.5 * argument * std::erfc(-argument * std::sqrt(0.5)); };
    const double exact = exact_of(x);
    const auto single = static_cast<float>(x);
    const auto result = static_cast<double>(applied<float>(gelu_of, single));
    EXPECT_NEAR(result / exact_of(static_cast<double>(single)), 1, 2e-6) << x;
    EXPECT_NEAR(applied<double>(gelu_of, x) / exact, 1, 1e-13) << x;
  }
}

/// Vectors whose numbers are all near zero may take a shorter way. The period of the numbers is odd, so that vectors of
/// any width are met with the number that is far from zero, and without it.
TYPED_TEST(activation, gelu_of_a_number_is_the_same_beside_any_other) {
  using C = compute_t<TypeParam>;
  std::vector<C> numbers{C(-9)};
  for (int i = 0; i < 256; ++i) numbers.push_back(C(-4) + C(i) / C(32));
  applied<TypeParam>(gelu_of, numbers);
  numbers.front() = this->nan;
  applied<TypeParam>(gelu_of, numbers);
}

TEST(gelu, has_two_forms) {
  const float by_erf = applied<float>(gelu_of, 2.0f);
  const float by_tanh = applied<float>(gelu_by_tanh_of, 2.0f);
  EXPECT_NEAR(by_erf, 1.9544997361f, 1e-6f);
  EXPECT_NEAR(by_tanh, 1.9545976877f, 1e-6f);
}

TEST(activation_refuses, unequal_extents) {
  using space = Kokkos::DefaultExecutionSpace;
  const Kokkos::View<double*, space> x("potential", 10);
  const Kokkos::View<double*, space> y("y", 11);
  const auto refusal_of = [&](const auto& call) {
    return tests::message_of<shape_error>([&] { call(space(), x, y); });
  };
  const std::string rest =
      ": expected arrays of the same extents, or inputs that broadcast to the output; got x 'potential': f64 [10]";
  EXPECT_THAT(refusal_of(relu_of), testing::StartsWith("prumo::relu" + rest.substr(0, 45)));
  EXPECT_THAT(refusal_of(gelu_of), testing::StartsWith("prumo::gelu" + rest.substr(0, 45)));
  EXPECT_THAT(refusal_of(gelu_by_tanh_of), testing::HasSubstr("'potential': f64 [10]"));
}

}  // namespace
}  // namespace prumo
