// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/loop_nest.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo {
namespace {

using host = Kokkos::HostSpace;
using testing::HasSubstr;

TEST(array, lowers_extents_and_strides_of_a_subview) {
  const Kokkos::View<float***, Kokkos::LayoutRight, host> whole("whole", 4, 5, 6);
  const auto part = Kokkos::subview(whole, 1, Kokkos::pair(1, 4), Kokkos::ALL);
  const array<float> lowered = lower(part);
  EXPECT_EQ(lowered.rank, 2);
  EXPECT_EQ(lowered.extents[0], 3);
  EXPECT_EQ(lowered.extents[1], 6);
  EXPECT_EQ(lowered.strides[0], 6);
  EXPECT_EQ(lowered.strides[1], 1);
  EXPECT_EQ(lowered.data, &whole(1, 1, 0));
  EXPECT_EQ(lowered.size(), 18);
}

TEST(array, description_names_everything) {
  const Kokkos::View<double**, Kokkos::LayoutLeft, host> view("temperature", 3, 4);
  EXPECT_EQ(to_string(describe(view, "x")), "x 'temperature': f64 [3 x 4], strides (1, 3), left, in Host");
  const double number = 0;
  const Kokkos::View<const double, host, Kokkos::MemoryUnmanaged> unnamed(&number);
  EXPECT_EQ(to_string(describe(unnamed, "result")), "result: f64 [], strides (), right, in Host");
}

TEST(array, overlap_is_judged_by_spans) {
  const Kokkos::View<float*, host> memory("memory", 100);
  const auto first = Kokkos::subview(memory, Kokkos::pair(0, 50));
  const auto second = Kokkos::subview(memory, Kokkos::pair(50, 100));
  const auto across = Kokkos::subview(memory, Kokkos::pair(49, 60));
  const auto nothing = Kokkos::subview(memory, Kokkos::pair(10, 10));
  EXPECT_FALSE(spans_overlap(describe(first, "a"), describe(second, "b")));
  EXPECT_TRUE(spans_overlap(describe(first, "a"), describe(across, "b")));
  EXPECT_TRUE(spans_overlap(describe(second, "a"), describe(across, "b")));
  EXPECT_FALSE(spans_overlap(describe(first, "a"), describe(nothing, "b")));
}

TEST(check, unequal_extents_name_all_arrays) {
  const Kokkos::View<float**, Kokkos::LayoutRight, host> x("x", 3, 4);
  const Kokkos::View<float**, Kokkos::LayoutRight, host> y("y", 4, 3);
  try {
    check::same_extents("prumo::add", describe(x, "x"), describe(y, "y"));
    FAIL() << "no error";
  } catch (const shape_error& error) {
    EXPECT_STREQ(error.what(),
                 "prumo::add: expected arrays of the same extents; got x 'x': f32 [3 x 4], strides (4, 1), right, in "
                 "Host; y 'y': f32 [4 x 3], strides (3, 1), right, in Host");
  }
}

TEST(check, an_output_that_overlaps_is_refused_unless_it_is_the_input) {
  const Kokkos::View<float*, host> memory("memory", 100);
  const auto x = Kokkos::subview(memory, Kokkos::pair(0, 50));
  const auto shifted = Kokkos::subview(memory, Kokkos::pair(1, 51));
  EXPECT_NO_THROW(check::no_overlap("op", describe(x, "y"), describe(x, "x"), aliasing::in_place));
  EXPECT_THROW(check::no_overlap("op", describe(x, "y"), describe(x, "x"), aliasing::none), alias_error);
  try {
    check::no_overlap("op", describe(shifted, "y"), describe(x, "x"), aliasing::in_place);
    FAIL() << "no error";
  } catch (const alias_error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("op: expected an output that is apart from the inputs, or exactly one of them"));
    EXPECT_THAT(error.what(), HasSubstr("y 'memory': f32 [50]"));
  }
}

TEST(loop_nest, merges_what_lies_in_one_run) {
  const Kokkos::View<float***, Kokkos::LayoutLeft, host> x("x", 3, 4, 5);
  const Kokkos::View<float***, Kokkos::LayoutLeft, host> y("y", 3, 4, 5);
  const auto nest = detail::make_loop_nest(lower(y), lower_const(x));
  EXPECT_TRUE(nest.contiguous());
  EXPECT_EQ(nest.extents[0], 60);
}

TEST(loop_nest, keeps_apart_what_does_not_and_walks_the_output_in_order) {
  const Kokkos::View<float**, Kokkos::LayoutLeft, host> x("x", 3, 4);
  const Kokkos::View<float**, Kokkos::LayoutRight, host> y("y", 3, 4);
  const auto nest = detail::make_loop_nest(lower(y), lower_const(x));
  EXPECT_FALSE(nest.contiguous());
  ASSERT_EQ(nest.rank, 2);
  EXPECT_EQ(nest.extents[nest.inner()], 4);
  EXPECT_EQ(nest.strides[0][nest.inner()], 1);
  EXPECT_EQ(nest.strides[1][nest.inner()], 3);
  EXPECT_EQ(nest.size(), 12);
}

TEST(loop_nest, empty_and_single_arrays) {
  const Kokkos::View<float**, Kokkos::LayoutRight, host> none("none", 3, 0);
  EXPECT_EQ(detail::make_loop_nest(lower(none)).size(), 0);
  const Kokkos::View<float**, Kokkos::LayoutStride, host> one("one", Kokkos::LayoutStride(1, 7, 1, 9));
  EXPECT_TRUE(detail::make_loop_nest(lower(one)).contiguous());
}

}  // namespace
}  // namespace prumo
