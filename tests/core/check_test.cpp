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
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", x}}, {{"x", x}}, aliasing::in_place));
  EXPECT_THROW(check::arrays("op", exec{}, {{"y", x}}, {{"x", x}}), alias_error);
  EXPECT_THAT(
      message_of<alias_error>([&] { check::arrays("op", exec{}, {{"y", shifted}}, {{"x", x}}, aliasing::in_place); }),
      testing::AllOf(HasSubstr("op: expected an output that is apart from the inputs, or exactly one of them"),
                     HasSubstr("y 'memory': f32 [50]")));
}

/// The transposed view begins and ends where the matrix does, and is another order of the same elements.
TEST(check, an_output_that_is_the_input_in_another_order_is_refused) {
  float buffer[9] = {};
  const array_ref x(buffer, dtype::f32, {3, 3});
  const array_ref turned = transposed(x);
  EXPECT_THROW(check::arrays("op", exec{}, {{"y", turned}}, {{"x", x}}, aliasing::in_place), alias_error);
  EXPECT_THROW(check::arrays("op", exec{}, {{"y", x}}, {{"x", turned}}, aliasing::in_place), alias_error);
}

/// Arrays of which a short look does not tell enough: without elements, with negative and large strides, column-major.
TEST(check, unusual_arrays_are_searched) {
  float buffer[200] = {};
  const array_ref x(buffer, dtype::f32, {100});
  const array_ref behind(buffer + 100, dtype::f32, {10, 10}, {1, 10});
  const array_ref backwards(buffer + 199, dtype::f32, {100}, {-1});
  const array_ref far(buffer + 100, dtype::f32, {1, 100}, {std::int64_t{1} << 40, 1});
  const array_ref none(nullptr, dtype::f32, {3, 0});
  for (const array_ref* const y : {&behind, &backwards, &far, &none}) {
    EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", *y}}, {{"x", x}}));
    EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", x}}, {{"x", *y}}));
  }
  const array_ref met(buffer + 150, dtype::f32, {51}, {-1});
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", met}}, {{"x", x}}));
  const array_ref one_further(buffer + 149, dtype::f32, {51}, {-1});
  EXPECT_THROW(check::arrays("op", exec{}, {{"y", one_further}}, {{"x", x}}), alias_error);
}

TEST(check, each_output_is_apart_from_the_others_and_from_each_input) {
  float buffer[300] = {};
  const array_ref first(buffer, dtype::f32, {100});
  const array_ref second(buffer + 100, dtype::f32, {100});
  const array_ref between(buffer + 50, dtype::f32, {100});
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", first}, {"z", second}}, {{"x", second}}, aliasing::in_place));
  EXPECT_THROW(check::arrays("op", exec{}, {{"y", first}, {"z", second}}, {{"x", second}}), alias_error);
  EXPECT_THAT(message_of<alias_error>([&] { check::arrays("op", exec{}, {{"y", first}, {"z", between}}, {}); }),
              testing::StartsWith("op: expected outputs that are apart from each other; z: f32 [100]"));
}

TEST(check, arrays_that_cannot_be_used_are_refused) {
  float buffer[10] = {};
  const array_ref x(buffer, dtype::f32, {5});
  const auto message_for = [&](const array_ref& bad) {
    const std::string as_input =
        message_of<argument_error>([&] { check::arrays("op", exec{}, {{"y", x}}, {{"x", bad}}); });
    EXPECT_NE(message_of<argument_error>([&] { check::arrays("op", exec{}, {{"y", bad}}, {}); }), "");
    return as_input;
  };
  array_ref bad = x;
  bad.rank = -1;
  EXPECT_EQ(message_for(bad), "op: expected x to have a rank from 0 to 8; it has rank -1");
  bad.rank = 9;
  EXPECT_EQ(message_for(bad), "op: expected x to have a rank from 0 to 8; it has rank 9");
  bad = array_ref(buffer + 5, dtype::f32, {-5});
  EXPECT_THAT(message_for(bad), testing::StartsWith("op: expected no negative extent; got x: f32 [-5]"));
  bad = array_ref(nullptr, dtype::f32, {5});
  EXPECT_THAT(message_for(bad), testing::StartsWith("op: expected arrays with memory of their own; got x: f32 [5]"));
  bad = array_ref(buffer + 5, dtype::f32, {5}, {1}, memory_kind::cuda);
  EXPECT_THAT(message_for(bad), HasSubstr(" can access; got x: f32 [5]"));
  array_ref constant(buffer + 5, dtype::f32, {5});
  constant.read_only = true;
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", x}}, {{"x", constant}}));
  EXPECT_THAT(message_of<argument_error>([&] { check::arrays("op", exec{}, {{"y", constant}}, {}); }),
              testing::StartsWith("op: expected an output that may be written to; got y: f32 [5]"));
}

TEST(check, disjoint_parts_of_one_buffer_are_apart) {
  float buffer[100 * 60] = {};
  const array_ref left(buffer, dtype::f32, {100, 20}, {60, 1});
  const array_ref right(buffer + 20, dtype::f32, {100, 40}, {60, 1});
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", right}}, {{"x", left}}));
  const array_ref even(buffer, dtype::f32, {3000}, {2});
  const array_ref odd(buffer + 1, dtype::f32, {3000}, {2});
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", odd}}, {{"x", even}}, aliasing::in_place));
  const array_ref wider(buffer, dtype::f32, {100, 21}, {60, 1});
  EXPECT_EQ(
      message_of<alias_error>([&] { check::arrays("op", exec{}, {{"y", right}}, {{"x", wider}}); }),
      "op: expected an output that is apart from the inputs; y: f32 [100 x 40], strides (60, 1), strided, in Host "
      "overlaps x: f32 [100 x 21], strides (60, 1), strided, in Host");
}

TEST(check, an_output_that_repeats_elements_is_refused) {
  float buffer[100] = {};
  for (const auto& [first, second] : {std::pair{1, 1}, {1, -1}, {0, 1}, {2, 3}}) {
    const array_ref y(buffer + 10, dtype::f32, {4, 4}, {first, second});
    EXPECT_THAT(message_of<alias_error>([&] { check::arrays("op", exec{}, {{"y", y}}, {}); }),
                HasSubstr("op: expected an output whose elements have addresses of their own; got y: f32 [4 x 4]"));
  }
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", array_ref(buffer, dtype::f32, {1, 4}, {0, 1})}}, {}));
  EXPECT_NO_THROW(check::arrays("op", exec{}, {{"y", array_ref(buffer, dtype::f32, {4, 0}, {0, 1})}}, {}));
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
      message_of<alias_error>([&] { check::arrays("op", exec{}, {{"y", y}}, {{"x", x}}, aliasing::in_place); }),
      testing::AllOf(
          testing::StartsWith("op: expected an output that is apart from the inputs, or exactly one of them; it "
                              "is unknown whether y: f32 [1049 x 1049]"),
          HasSubstr(" overlaps x: f32 [1049 x 1049 x 1049]"),
          testing::EndsWith("because the search for a shared element reached its limit; give one of them other "
                            "memory, or vouch for them with context::set_vouches_for_overlap()")));
  const array_ref z(&element, dtype::f32, {20, 20, 20, 20}, {1000003, 1414213, 1732051, 2236067});
  EXPECT_THAT(message_of<alias_error>([&] { check::arrays("op", exec{}, {{"z", z}}, {}); }),
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
  EXPECT_NO_THROW(check::arrays("op", ctx, {{"y", hard}}, {}));
  const array_ref x(buffer, dtype::f32, {8});
  const array_ref y(buffer + 4, dtype::f32, {8});
  EXPECT_THROW(check::arrays("op", ctx, {{"y", y}}, {{"x", x}}), alias_error);
}

}  // namespace
}  // namespace prumo
