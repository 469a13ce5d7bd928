// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/array_ref.hpp>
#include <prumo/detail/loop_nest.hpp>

#include <gtest/gtest.h>

namespace prumo {
namespace {

using host = Kokkos::HostSpace;

TEST(array_ref, describes_a_subview) {
  const Kokkos::View<float***, Kokkos::LayoutRight, host> whole("whole", 4, 5, 6);
  const auto part = Kokkos::subview(whole, 1, Kokkos::pair(1, 4), Kokkos::ALL);
  const array_ref array(part);
  EXPECT_EQ(array.rank, 2);
  EXPECT_EQ(array.extents[0], 3);
  EXPECT_EQ(array.extents[1], 6);
  EXPECT_EQ(array.strides[0], 6);
  EXPECT_EQ(array.strides[1], 1);
  EXPECT_EQ(array.as<float>(), &whole(1, 1, 0));
  EXPECT_EQ(array.size(), 18);
  EXPECT_EQ(array.type, dtype::f32);
  EXPECT_EQ(array.memory, memory_kind::host);
  EXPECT_FALSE(array.read_only);
}

TEST(array_ref, without_strides_is_row_major) {
  double numbers[24] = {};
  const array_ref array(numbers, dtype::f64, {2, 3, 4});
  EXPECT_EQ(array.rank, 3);
  EXPECT_EQ(array.strides[0], 12);
  EXPECT_EQ(array.strides[1], 4);
  EXPECT_EQ(array.strides[2], 1);
  EXPECT_EQ(layout_name(array), "right");
  EXPECT_EQ(layout_name(transposed(array_ref(numbers, dtype::f64, {2, 3}))), "left");
}

TEST(array_ref, its_text_names_everything) {
  const Kokkos::View<double**, Kokkos::LayoutLeft, host> view("temperature", 3, 4);
  EXPECT_EQ(to_string({"x", array_ref(view)}), "x 'temperature': f64 [3 x 4], strides (1, 3), left, in Host");
  const double number = 0;
  const Kokkos::View<const double, host, Kokkos::MemoryUnmanaged> unnamed(&number);
  EXPECT_TRUE(array_ref(unnamed).read_only);
  EXPECT_EQ(to_string({"result", array_ref(unnamed)}), "result: f64 [], strides (), right, in Host");
  std::int32_t indices[5] = {};
  EXPECT_EQ(to_string({"index", array_ref(indices, dtype::i32, {5})}), "index: i32 [5], strides (1), right, in Host");
}

TEST(loop_nest, merges_what_lies_in_one_run) {
  const Kokkos::View<float***, Kokkos::LayoutLeft, host> x("x", 3, 4, 5);
  const Kokkos::View<float***, Kokkos::LayoutLeft, host> y("y", 3, 4, 5);
  const auto nest = detail::make_loop_nest(array_ref(y), array_ref(x));
  EXPECT_TRUE(nest.contiguous());
  EXPECT_EQ(nest.extents[0], 60);
}

TEST(loop_nest, keeps_apart_what_does_not_and_walks_the_output_in_order) {
  const Kokkos::View<float**, Kokkos::LayoutLeft, host> x("x", 3, 4);
  const Kokkos::View<float**, Kokkos::LayoutRight, host> y("y", 3, 4);
  const auto nest = detail::make_loop_nest(array_ref(y), array_ref(x));
  EXPECT_FALSE(nest.contiguous());
  ASSERT_EQ(nest.rank, 2);
  EXPECT_EQ(nest.extents[nest.inner()], 4);
  EXPECT_EQ(nest.strides[0][nest.inner()], 1);
  EXPECT_EQ(nest.strides[1][nest.inner()], 3);
  EXPECT_EQ(nest.size(), 12);
}

TEST(loop_nest, empty_and_single_arrays) {
  const Kokkos::View<float**, Kokkos::LayoutRight, host> none("none", 3, 0);
  EXPECT_EQ(detail::make_loop_nest(array_ref(none)).size(), 0);
  const detail::device_nest<1> nothing(detail::make_loop_nest(array_ref(none)));  // no division by the extent of 0
  (void)nothing;
  const Kokkos::View<float**, Kokkos::LayoutStride, host> one("one", Kokkos::LayoutStride(1, 7, 1, 9));
  EXPECT_TRUE(detail::make_loop_nest(array_ref(one)).contiguous());
}

}  // namespace
}  // namespace prumo
