// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations entered by arrays whose type is known at run time only, as other languages enter them: the same results as
// by views, and an error for what the compiler cannot refuse there.

#include "host_copy.hpp"
#include "message_of.hpp"
#include <prumo/prumo.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using memory = exec::memory_space;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::message_of;

template <class View>
auto numbers_of(const View& view) {
  return tests::host_copy(view);
}

TEST(door, an_operation_of_arrays_gives_what_the_one_of_views_gives) {
  context<exec> ctx;
  const Kokkos::View<float**, Kokkos::LayoutRight, memory> x("x", 7, 33);
  const Kokkos::View<float**, Kokkos::LayoutLeft, memory> by_view("by_view", 7, 33), by_array("by_array", 7, 33);
  (void)random_uniform(ctx, {1, 2, 3}, -1, 1, x);
  softmax(ctx, x, by_view);
  softmax(context_ref(ctx), array_ref(x), array_ref(by_array));
  ctx.fence();
  const auto expected = numbers_of(by_view);
  const auto found = numbers_of(by_array);
  for (std::size_t row = 0; row < 7; ++row) {
    for (std::size_t column = 0; column < 33; ++column) ASSERT_EQ(found(row, column), expected(row, column));
  }
}

TEST(door, arrays_and_views_meet_in_one_call) {
  const exec instance;
  const Kokkos::View<double*, memory> x("x", 100), y("y", 100);
  fill(instance, 1.5, x);
  scale(instance, 2, array_ref(x), y);
  scale(instance_ref(instance), 3, y, array_ref(y));
  instance.fence();
  EXPECT_EQ(numbers_of(y)(99), 9.0);
}

/// A factor of any type beside views of any type: no call is ambiguous.
TEST(door, factors_of_every_type_are_taken) {
  const exec instance;
  const Kokkos::View<float*, memory> x("x", 4);
  const Kokkos::View<f16*, memory> y("y", 4);
  fill(instance, 1.0, x);
  scale(instance, 2.0f, x, x);
  scale(instance, 3, x, x);
  axpby(instance, 0.5, x, 2, x, x);
  fill(instance, 1.5f, y);
  scale(instance, 2.0, y, y);
  instance.fence();
  EXPECT_EQ(numbers_of(x)(3), 15.0f);
  EXPECT_EQ(static_cast<float>(numbers_of(y)(3)), 3.0f);
}

TEST(door, an_array_of_unequal_type_is_refused) {
  const exec instance;
  const Kokkos::View<float*, memory> x("x", 4);
  const Kokkos::View<double*, memory> y("y", 4);
  EXPECT_THAT(message_of<argument_error>([&] { exp(instance, array_ref(x), array_ref(y)); }),
              AllOf(StartsWith("prumo::exp: expected arrays of the same type; got "), HasSubstr("x 'x': f32 [4]"),
                    HasSubstr("y 'y': f64 [4]")));
  const Kokkos::View<std::int64_t*, memory> indices("indices", 4);
  EXPECT_THAT(message_of<argument_error>([&] { exp(instance, array_ref(indices), array_ref(indices)); }),
              StartsWith("prumo::exp: expected arrays of f32, f64, f16 or bf16; got "));
}

TEST(door, an_array_of_the_wrong_rank_is_refused) {
  context<exec> ctx;
  const Kokkos::View<float*, memory> x("x", 4);
  EXPECT_THAT(message_of<argument_error>([&] { softmax(ctx, array_ref(x), array_ref(x)); }),
              StartsWith("prumo::softmax: expected x to have rank 2; got x 'x': f32 [4]"));
}

TEST(door, an_output_that_is_read_only_is_refused) {
  const exec instance;
  const Kokkos::View<float*, memory> x("x", 4);
  const Kokkos::View<const float*, memory> y = x;
  EXPECT_THAT(message_of<argument_error>([&] { exp(instance, array_ref(x), array_ref(y)); }),
              StartsWith("prumo::exp: expected an output that may be written to; got y 'x'"));
}

TEST(door, a_view_that_was_never_allocated_is_refused) {
  context<exec> ctx;
  const Kokkos::View<float*, memory> x("x", 4);
  const Kokkos::View<float, memory> nothing;
  EXPECT_THAT(message_of<argument_error>([&] { sum(ctx, x, nothing); }),
              StartsWith("prumo::sum: expected arrays with memory of their own; got result: f32 []"));
  const Kokkos::View<float*, memory, Kokkos::MemoryUnmanaged> without_memory(nullptr, 4);
  EXPECT_THAT(message_of<argument_error>([&] { exp(ctx, without_memory, x); }),
              StartsWith("prumo::exp: expected arrays with memory of their own; got x"));
  const Kokkos::View<float*, memory> empty;
  EXPECT_NO_THROW(exp(ctx, empty, empty));
}

TEST(door, impossible_ranks_and_extents_are_refused) {
  const exec instance;
  const Kokkos::View<float*, memory> x("x", 4);
  array_ref array(x);
  array.rank = max_rank + 1;
  EXPECT_THAT(message_of<argument_error>([&] { exp(instance, array, array); }),
              StartsWith("prumo::exp: expected y to have a rank from 0 to 8; it has rank 9"));
  array = array_ref(x);
  array.extents[0] = -1;
  EXPECT_THAT(message_of<argument_error>([&] { exp(instance, array, array); }),
              StartsWith("prumo::exp: expected no negative extent; got y 'x': f32 [-1]"));
}

TEST(door, a_context_that_was_moved_from_is_refused) {
  context<exec> first;
  const Kokkos::View<float**, memory> x("x", 2, 2);
  context<exec> second(std::move(first));
  EXPECT_THAT(message_of<argument_error>([&] { softmax(first, x, x); }),
              StartsWith("prumo::softmax: the context was moved from"));
  EXPECT_THAT(message_of<argument_error>([&] { exp(first, x, x); }), StartsWith("prumo::exp: the context was moved "));
  EXPECT_NO_THROW(softmax(second, x, x));
  first = std::move(second);
  EXPECT_NO_THROW(softmax(first, x, x));
  first.fence();
}

TEST(door, memory_that_the_space_cannot_access_is_refused) {
  float numbers[4] = {};
  const array_ref elsewhere(numbers, dtype::f32, {4}, {}, is_host_space<exec> ? memory_kind::hip : memory_kind::host);
  EXPECT_THAT(
      message_of<argument_error>([&] { exp(exec{}, elsewhere, elsewhere); }),
      StartsWith("prumo::exp: expected arrays that " + std::string(exec::name()) + " can access; got y: f32 [4]"));
}

}  // namespace
}  // namespace prumo
