// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values at the edges that ops/elementary/README.md names, in every type, and arguments that are refused.

#include "applied.hpp"
#include "message_of.hpp"
#include <prumo/case/rounding.hpp>
#include <prumo/elementary.hpp>
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace prumo {
namespace {

using tests::applied;
using tests::largest;
using tests::smallest;

constexpr auto exp_of = [](const auto& space, const auto& x, const auto& y) { exp(space, x, y); };
constexpr auto log_of = [](const auto& space, const auto& x, const auto& y) { log(space, x, y); };
constexpr auto sqrt_of = [](const auto& space, const auto& x, const auto& y) { sqrt(space, x, y); };
constexpr auto rsqrt_of = [](const auto& space, const auto& x, const auto& y) { rsqrt(space, x, y); };

/// Whether `result` is within `ulps` units of T's compute type, and T's own rounding, of the exact value.
template <class T>
void expect_close(compute_t<T> result, long double exact, double ulps) {
  const long double bound = cases::rounded_bound(scalar_traits<T>::type, exact, ulps);
  EXPECT_LE(std::fabs(static_cast<long double>(result) - exact), bound) << result << " for " << exact;
}

template <class T>
class elementary : public testing::Test {
 protected:
  using limits = std::numeric_limits<compute_t<T>>;
  static constexpr auto infinity = limits::infinity();
  static constexpr auto nan = limits::quiet_NaN();
};
TYPED_TEST_SUITE(elementary, tests::all_scalars);

TYPED_TEST(elementary, nan_gives_nan) {
  EXPECT_TRUE(std::isnan(applied<TypeParam>(exp_of, this->nan)));
  EXPECT_TRUE(std::isnan(applied<TypeParam>(log_of, this->nan)));
  EXPECT_TRUE(std::isnan(applied<TypeParam>(sqrt_of, this->nan)));
  EXPECT_TRUE(std::isnan(applied<TypeParam>(rsqrt_of, this->nan)));
}

TYPED_TEST(elementary, exp_at_the_edges) {
  using C = compute_t<TypeParam>;
  EXPECT_EQ(applied<TypeParam>(exp_of, this->infinity), this->infinity);
  EXPECT_EQ(applied<TypeParam>(exp_of, -this->infinity), C(0));
  EXPECT_EQ(applied<TypeParam>(exp_of, C(0)), C(1));
  EXPECT_EQ(applied<TypeParam>(exp_of, C(-0.0)), C(1));
  EXPECT_EQ(applied<TypeParam>(exp_of, smallest<TypeParam>()), C(1));
  EXPECT_EQ(applied<TypeParam>(exp_of, largest<TypeParam>()), this->infinity);
  EXPECT_EQ(applied<TypeParam>(exp_of, -largest<TypeParam>()), C(0));
  // The last argument of the type with a finite result, and results that are subnormal.
  const auto last = static_cast<C>(static_cast<TypeParam>(std::log(largest<TypeParam>()) * C(0.998)));
  expect_close<TypeParam>(applied<TypeParam>(exp_of, last), std::exp(static_cast<long double>(last)), 2);
  const auto tiny = static_cast<C>(static_cast<TypeParam>(std::log(smallest<TypeParam>()) * C(0.98)));
  EXPECT_GT(applied<TypeParam>(exp_of, tiny), C(0));
  expect_close<TypeParam>(applied<TypeParam>(exp_of, tiny), std::exp(static_cast<long double>(tiny)), 2);
}

TYPED_TEST(elementary, log_at_the_edges) {
  using C = compute_t<TypeParam>;
  EXPECT_EQ(applied<TypeParam>(log_of, C(0)), -this->infinity);
  EXPECT_EQ(applied<TypeParam>(log_of, C(-0.0)), -this->infinity);
  EXPECT_EQ(applied<TypeParam>(log_of, this->infinity), this->infinity);
  EXPECT_EQ(applied<TypeParam>(log_of, C(1)), C(0));
  EXPECT_FALSE(std::signbit(applied<TypeParam>(log_of, C(1))));
  for (const C negative : {C(-1), -smallest<TypeParam>(), -largest<TypeParam>(), -this->infinity}) {
    EXPECT_TRUE(std::isnan(applied<TypeParam>(log_of, negative))) << negative;
  }
  for (const C edge : {smallest<TypeParam>(), 3 * smallest<TypeParam>(), largest<TypeParam>()}) {
    expect_close<TypeParam>(applied<TypeParam>(log_of, edge), std::log(static_cast<long double>(edge)), 2);
  }
}

TYPED_TEST(elementary, sqrt_at_the_edges) {
  using C = compute_t<TypeParam>;
  EXPECT_EQ(applied<TypeParam>(sqrt_of, this->infinity), this->infinity);
  EXPECT_EQ(applied<TypeParam>(sqrt_of, C(0)), C(0));
  EXPECT_TRUE(std::signbit(applied<TypeParam>(sqrt_of, C(-0.0))));
  for (const C negative : {C(-1), -smallest<TypeParam>(), -this->infinity}) {
    EXPECT_TRUE(std::isnan(applied<TypeParam>(sqrt_of, negative))) << negative;
  }
  for (const C edge : {smallest<TypeParam>(), largest<TypeParam>(), C(2)}) {
    expect_close<TypeParam>(applied<TypeParam>(sqrt_of, edge), std::sqrt(static_cast<long double>(edge)), 0.5);
  }
}

TYPED_TEST(elementary, rsqrt_at_the_edges) {
  using C = compute_t<TypeParam>;
  EXPECT_EQ(applied<TypeParam>(rsqrt_of, C(0)), this->infinity);
  EXPECT_EQ(applied<TypeParam>(rsqrt_of, C(-0.0)), -this->infinity);
  EXPECT_EQ(applied<TypeParam>(rsqrt_of, this->infinity), C(0));
  EXPECT_EQ(applied<TypeParam>(rsqrt_of, C(4)), C(0.5));
  for (const C negative : {C(-1), -smallest<TypeParam>(), -this->infinity}) {
    EXPECT_TRUE(std::isnan(applied<TypeParam>(rsqrt_of, negative))) << negative;
  }
  for (const C edge : {smallest<TypeParam>(), largest<TypeParam>(), C(2)}) {
    expect_close<TypeParam>(applied<TypeParam>(rsqrt_of, edge), 1 / std::sqrt(static_cast<long double>(edge)), 2);
  }
}

TYPED_TEST(elementary, the_output_may_be_the_input) {
  using C = compute_t<TypeParam>;
  const auto in_place = [](const auto& space, const auto& x, const auto& y) {
    sqrt(space, x, x);
    Kokkos::deep_copy(space, y, x);
  };
  EXPECT_EQ(applied<TypeParam>(in_place, std::vector<C>{1, 4, 9, 16}), (std::vector<C>{1, 2, 3, 4}));
}

template <class Error, class Call>
void expect_refusal(const Call& call, const std::string& begin, const std::string& part) {
  EXPECT_THAT(tests::message_of<Error>(call), testing::AllOf(testing::StartsWith(begin), testing::HasSubstr(part)));
}

TEST(elementary_refuses, unequal_extents_and_partial_overlap) {
  using space = Kokkos::DefaultExecutionSpace;
  const space instance;
  const Kokkos::View<float*, space> x("temperature", 10);
  const Kokkos::View<float*, space> y("y", 11);
  const auto low = Kokkos::subview(y, Kokkos::pair(0, 10));
  const auto high = Kokkos::subview(y, Kokkos::pair(1, 11));
  const std::string shapes = ": expected arrays of the same extents, or inputs that broadcast to the output; got ";
  const std::string overlap = ": expected an output that is apart from the inputs, or exactly one of them; ";
  const std::string described = "'temperature': f32 [10]";
  expect_refusal<shape_error>([&] { exp(instance, x, y); }, "prumo::exp" + shapes, described);
  expect_refusal<shape_error>([&] { log(instance, x, y); }, "prumo::log" + shapes, described);
  expect_refusal<shape_error>([&] { sqrt(instance, x, y); }, "prumo::sqrt" + shapes, described);
  expect_refusal<shape_error>([&] { rsqrt(instance, x, y); }, "prumo::rsqrt" + shapes, described);
  expect_refusal<alias_error>([&] { exp(instance, low, high); }, "prumo::exp" + overlap, "overlaps");
  expect_refusal<alias_error>([&] { log(instance, low, high); }, "prumo::log" + overlap, "overlaps");
  expect_refusal<alias_error>([&] { sqrt(instance, low, high); }, "prumo::sqrt" + overlap, "overlaps");
  expect_refusal<alias_error>([&] { rsqrt(instance, low, high); }, "prumo::rsqrt" + overlap, "overlaps");
}

}  // namespace
}  // namespace prumo
