// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message_of.hpp"
#include <prumo/check.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo {
namespace {

using host = Kokkos::HostSpace;
using exec = Kokkos::DefaultHostExecutionSpace;
using testing::HasSubstr;
using tests::message_of;

TEST(check, unequal_extents_name_all_arrays) {
  const Kokkos::View<float**, Kokkos::LayoutRight, host> x("x", 3, 4);
  const Kokkos::View<float**, Kokkos::LayoutRight, host> y("y", 4, 3);
  EXPECT_EQ(
      message_of<shape_error>([&] { check::same_extents("prumo::add", {{"x", array_ref(x)}, {"y", array_ref(y)}}); }),
      "prumo::add: expected arrays of the same extents; got x 'x': f32 [3 x 4], strides (4, 1), right, in "
      "Host; y 'y': f32 [4 x 3], strides (3, 1), right, in Host");
}

TEST(check, an_output_that_overlaps_is_refused_unless_it_is_the_input) {
  const Kokkos::View<float*, host> memory("memory", 100);
  const auto first_half = Kokkos::subview(memory, Kokkos::pair(0, 50));
  const array_ref x(first_half);
  const auto one_further = Kokkos::subview(memory, Kokkos::pair(1, 51));
  const array_ref shifted(one_further);
  EXPECT_NO_THROW(check::no_overlap("op", exec{}, {"y", x}, {"x", x}, aliasing::in_place));
  EXPECT_THROW(check::no_overlap("op", exec{}, {"y", x}, {"x", x}, aliasing::none), alias_error);
  EXPECT_THAT(
      message_of<alias_error>([&] { check::no_overlap("op", exec{}, {"y", shifted}, {"x", x}, aliasing::in_place); }),
      testing::AllOf(HasSubstr("op: expected an output that is apart from the inputs, or exactly one of them"),
                     HasSubstr("y 'memory': f32 [50]")));
}

TEST(check, disjoint_parts_of_one_buffer_are_apart) {
  float buffer[100 * 60] = {};
  const array_ref left(buffer, dtype::f32, {100, 20}, {60, 1});
  const array_ref right(buffer + 20, dtype::f32, {100, 40}, {60, 1});
  EXPECT_NO_THROW(check::no_overlap("op", exec{}, {"y", right}, {"x", left}, aliasing::none));
  EXPECT_NO_THROW(check::distinct_elements("op", exec{}, {"y", right}));
  const array_ref even(buffer, dtype::f32, {3000}, {2});
  const array_ref odd(buffer + 1, dtype::f32, {3000}, {2});
  EXPECT_NO_THROW(check::no_overlap("op", exec{}, {"y", odd}, {"x", even}, aliasing::in_place));
  const array_ref wider(buffer, dtype::f32, {100, 21}, {60, 1});
  EXPECT_EQ(
      message_of<alias_error>([&] { check::no_overlap("op", exec{}, {"y", right}, {"x", wider}, aliasing::none); }),
      "op: expected an output that is apart from the inputs; y: f32 [100 x 40], strides (60, 1), strided, in Host "
      "overlaps x: f32 [100 x 21], strides (60, 1), strided, in Host");
}

TEST(check, an_output_that_repeats_elements_is_refused) {
  float buffer[100] = {};
  for (const auto& [first, second] : {std::pair{1, 1}, {1, -1}, {0, 1}, {2, 3}}) {
    const array_ref y(buffer + 10, dtype::f32, {4, 4}, {first, second});
    EXPECT_THAT(message_of<alias_error>([&] { check::distinct_elements("op", exec{}, {"y", y}); }),
                HasSubstr("op: expected an output whose elements have addresses of their own; got y: f32 [4 x 4]"));
  }
  EXPECT_NO_THROW(check::distinct_elements("op", exec{}, {"y", array_ref(buffer, dtype::f32, {1, 4}, {0, 1})}));
  EXPECT_NO_THROW(check::distinct_elements("op", exec{}, {"y", array_ref(buffer, dtype::f32, {4, 0}, {0, 1})}));
}

TEST(check, what_a_search_does_not_decide_is_refused) {
  // Strides of an integer program that is known to be hard; tests/core/overlap_test.cpp names its source. Nothing reads
  // or writes the arrays.
  float element = 0;
  const array_ref x(&element, dtype::f32, {1049, 1049, 1049}, {36674, 61119, 85569});
  const std::int64_t between = 89643481 - 12223 * 1048 - 12224 * 1048;
  void* const further = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&element) + 4 * between);
  const array_ref y(further, dtype::f32, {1049, 1049}, {12223, 12224});
  EXPECT_THAT(
      message_of<alias_error>([&] { check::no_overlap("op", exec{}, {"y", y}, {"x", x}, aliasing::in_place); }),
      testing::AllOf(
          testing::StartsWith("op: expected an output that is apart from the inputs, or exactly one of them; it "
                              "is unknown whether y: f32 [1049 x 1049]"),
          HasSubstr(" overlaps x: f32 [1049 x 1049 x 1049]"),
          testing::EndsWith("because the search for a shared element reached its limit; give one of them other "
                            "memory, or vouch for them with context::set_vouches_for_overlap()")));
  const array_ref z(&element, dtype::f32, {20, 20, 20, 20}, {1000003, 1414213, 1732051, 2236067});
  EXPECT_THAT(message_of<alias_error>([&] { check::distinct_elements("op", exec{}, {"z", z}); }),
              testing::AllOf(
                  testing::StartsWith("op: expected an output whose elements have addresses of their own; it "
                                      "is unknown whether those of z: f32 [20 x 20 x 20 x 20]"),
                  testing::EndsWith("because the search for two indices of one element reached its limit; "
                                    "give the output strides that are multiples of one another, or vouch for it with "
                                    "context::set_vouches_for_overlap()")));
}

TEST(check, a_caller_who_vouches_is_believed_where_the_search_does_not_decide) {
  float buffer[64] = {};
  context<exec> ctx;
  ctx.set_vouches_for_overlap(true);
  const array_ref hard(buffer, dtype::f32, {20, 20, 20, 20}, {1000003, 1414213, 1732051, 2236067});
  EXPECT_NO_THROW(check::distinct_elements("op", ctx, {"y", hard}));
  const array_ref x(buffer, dtype::f32, {8});
  const array_ref y(buffer + 4, dtype::f32, {8});
  EXPECT_THROW(check::no_overlap("op", ctx, {"y", y}, {"x", x}, aliasing::none), alias_error);
}

}  // namespace
}  // namespace prumo
