// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case's general test does not reach of axpby: arrays that may not be read, and outputs that are inputs.

#include "operation_test.hpp"
#include <prumo/arithmetic.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace prumo {
namespace {

using namespace tests;
using space = Kokkos::DefaultExecutionSpace;
constexpr std::size_t length = 1003;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
using vector = Kokkos::View<T*, space>;

template <class T>
vector<T> filled(float value) {
  const vector<T> made("made", length);
  Kokkos::deep_copy(made, static_cast<T>(value));
  return made;
}

template <class T>
void expect_all(const vector<T>& view, float expected) {
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  for (std::size_t i = 0; i < length; ++i) ASSERT_EQ(static_cast<float>(copy(i)), expected) << i;
}

template <class T>
class axpby_types : public testing::Test {};
TYPED_TEST_SUITE(axpby_types, tests::all_scalars);

TYPED_TEST(axpby_types, zero_factors_do_not_read) {
  const space instance;
  const auto two = filled<TypeParam>(2);
  const auto nothing = filled<TypeParam>(nan);
  const auto z = filled<TypeParam>(nan);
  axpby(instance, 3, two, 0, nothing, z);
  instance.fence();
  expect_all(z, 6);
  axpby(instance, 0, nothing, -3, two, z);
  instance.fence();
  expect_all(z, -6);
  axpby(instance, 0, nothing, 0, nothing, z);
  instance.fence();
  expect_all(z, 0);
  axpby(instance, 0, nothing, 0, z, nothing);  // the output was NaN
  instance.fence();
  expect_all(nothing, 0);
}

TYPED_TEST(axpby_types, other_factors_let_nan_through) {
  const space instance;
  const auto two = filled<TypeParam>(2);
  const auto nothing = filled<TypeParam>(nan);
  const auto z = filled<TypeParam>(1);
  axpby(instance, 1, two, 1, nothing, z);
  instance.fence();
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, z);
  for (std::size_t i = 0; i < length; ++i) ASSERT_TRUE(std::isnan(static_cast<float>(copy(i))));
}

TYPED_TEST(axpby_types, the_output_may_be_either_input_or_both) {
  const space instance;
  const auto x = filled<TypeParam>(2);
  const auto y = filled<TypeParam>(5);
  axpby(instance, 3, x, -1, y, y);
  instance.fence();
  expect_all(y, 1);
  axpby(instance, 2, x, 4, y, x);
  instance.fence();
  expect_all(x, 8);
  axpby(instance, 0.5f, x, 0.25f, x, x);
  instance.fence();
  expect_all(x, 6);
  axpby(instance, 0, y, 2, x, x);
  instance.fence();
  expect_all(x, 12);
}

TEST(axpby, layouts_may_differ) {
  const space instance;
  const Kokkos::View<float**, Kokkos::LayoutRight, space> x("x", 7, 9);
  const Kokkos::View<float**, Kokkos::LayoutLeft, space> y("y", 7, 9);
  const Kokkos::View<float**, Kokkos::LayoutRight, space> z("z", 7, 9);
  Kokkos::deep_copy(x, 1.0f);
  Kokkos::deep_copy(y, 10.0f);
  for (const float beta : {0.0f, 3.0f}) {
    axpby(instance, 2, x, beta, y, z);
    instance.fence();
    const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, z);
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t j = 0; j < 9; ++j) ASSERT_EQ(copy(i, j), 2 + 10 * beta);
  }
}

/// Arrays that are not read are checked all the same, so that an error does not depend on the factors.
TEST(axpby, refuses_unequal_extents_and_partial_overlap_whatever_the_factors) {
  const space instance;
  const vector<float> x("x", 10), z("z", 11);
  const vector<float> y("pressure", 11);
  const auto low = Kokkos::subview(z, Kokkos::pair(0, 10));
  const auto high = Kokkos::subview(z, Kokkos::pair(1, 11));
  for (const float beta : {0.0f, 1.0f}) {
    EXPECT_THAT(
        tests::message_of<shape_error>([&] { axpby(instance, 1, x, beta, y, z); }),
        AllOf(StartsWith(
                  "prumo::axpby: expected arrays of the same extents, or inputs that broadcast to the output; got "),
              HasSubstr("'pressure': f32 [11]")));
    EXPECT_THAT(
        tests::message_of<alias_error>([&] { axpby(instance, 1, x, beta, low, high); }),
        AllOf(StartsWith("prumo::axpby: expected an output that is apart from the inputs"), HasSubstr("overlaps")));
  }
}

}  // namespace
}  // namespace prumo
