// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element-wise engine with formulas of the caller's own, over layouts, ranks and types that meet.

#include "filling.hpp"
#include "message_of.hpp"
#include <prumo/error.hpp>
#include <prumo/transform.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using memory = exec::memory_space;

struct horner {
  float offset;
  KOKKOS_FUNCTION float operator()(float x, float y) const { return x * 2.0f + y * 3.0f + offset; }
};
struct constant {
  KOKKOS_FUNCTION double operator()() const { return 1.5; }
};
struct successor {
  KOKKOS_FUNCTION float operator()(float x) const { return x + 1; }
};
struct widen {
  KOKKOS_FUNCTION double operator()(float x, double y) const { return static_cast<double>(x) + y; }
};

/// A distinct small number for every index; exact in every type used here.
template <class View>
void number(const View& view, float factor) {
  tests::set_elements(view, [&](std::size_t i, std::size_t j, std::size_t k) {
    return static_cast<typename View::value_type>(factor * static_cast<float>(i * 49 + j * 7 + k));
  });
}

template <class X, class Y, class Z>
void expect_horner(const X& x, const Y& y, const Z& z) {
  number(x, 1);
  number(y, 0.5f);
  const exec instance;
  transform(instance, horner{0.25f}, x, y, z);
  instance.fence();
  const auto result = tests::host_copy(z);
  for (std::size_t i = 0; i < z.extent(0); ++i)
    for (std::size_t j = 0; j < z.extent(1); ++j)
      for (std::size_t k = 0; k < z.extent(2); ++k) {
        const float n = static_cast<float>(i * 49 + j * 7 + k);
        ASSERT_EQ(result(i, j, k), n * 2 + n * 0.5f * 3 + 0.25f) << i << ' ' << j << ' ' << k;
      }
}

template <class Layout>
using cube = Kokkos::View<float***, Layout, memory>;

template <class Layout>
auto part_of_larger() {
  const cube<Layout> whole("whole", 9, 11, 10);
  return Kokkos::subview(whole, Kokkos::pair(1, 6), Kokkos::pair(2, 9), Kokkos::pair(3, 10));
}

TEST(transform, every_pair_of_layouts) {
  const cube<Kokkos::LayoutRight> right("right", 5, 7, 7);
  const cube<Kokkos::LayoutRight> right2("right2", 5, 7, 7);
  const cube<Kokkos::LayoutLeft> left("left", 5, 7, 7);
  const cube<Kokkos::LayoutLeft> left2("left2", 5, 7, 7);
  const auto part = part_of_larger<Kokkos::LayoutRight>();
  const auto left_part = part_of_larger<Kokkos::LayoutLeft>();
  expect_horner(right, right2, cube<Kokkos::LayoutRight>("z", 5, 7, 7));
  expect_horner(left, left2, cube<Kokkos::LayoutLeft>("z", 5, 7, 7));
  expect_horner(right, left, cube<Kokkos::LayoutRight>("z", 5, 7, 7));
  expect_horner(right, left, cube<Kokkos::LayoutLeft>("z", 5, 7, 7));
  expect_horner(part, left, cube<Kokkos::LayoutRight>("z", 5, 7, 7));
  expect_horner(right, left, part);
  expect_horner(part, right, left_part);
}

TEST(transform, types_may_differ) {
  const Kokkos::View<float*, memory> x("x", 1000);
  const Kokkos::View<double*, memory> y("y", 1000);
  const Kokkos::View<double*, memory> z("z", 1000);
  const exec instance;
  Kokkos::deep_copy(x, 1.25f);
  transform(instance, constant{}, y);
  transform(instance, widen{}, x, y, z);
  instance.fence();
  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, z);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(result(i), 2.75);
}

TEST(transform, the_output_may_be_an_input_at_every_length) {
  const exec instance;
  for (int length = 0; length < 300; ++length) {
    const Kokkos::View<float***, Kokkos::LayoutRight, memory> x("x", 1, 1, length);
    const Kokkos::View<float***, Kokkos::LayoutRight, memory> y("y", 1, 1, length);
    expect_horner(x, y, x);
  }
}

/// From 16 MB on, where a device's threads may take several packs or come in smaller blocks: whole packs, with elements
/// left over, and arrays that are not aligned for them; what lies beside them stays.
template <class T>
void expect_successors_of_many(std::size_t count, std::size_t first) {
  const Kokkos::View<T*, memory> x("x", first + count), y("y", first + count + 1);
  const auto numbers = Kokkos::create_mirror_view(x);
  for (std::size_t i = 0; i < first + count; ++i) numbers(i) = T(static_cast<float>(i % 1000));
  Kokkos::deep_copy(x, numbers);
  const exec instance;
  transform(instance, successor{}, Kokkos::subview(x, Kokkos::pair(first, first + count)),
            Kokkos::subview(y, Kokkos::pair(first, first + count)));
  instance.fence();
  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  for (std::size_t i = 0; i < first + count + 1; ++i) {
    const bool inside = i >= first && i < first + count;
    ASSERT_EQ(static_cast<float>(result(i)), inside ? static_cast<float>(i % 1000 + 1) : 0.0f) << i;
  }
}

TEST(transform, arrays_of_many_megabytes) {
  constexpr std::size_t bytes = std::size_t{1} << 24;
  for (const std::size_t more : {0, 1, 777}) {
    expect_successors_of_many<float>(bytes / sizeof(float) + more, 0);
    expect_successors_of_many<f16>(bytes / sizeof(f16) + more, 0);
  }
  expect_successors_of_many<f16>(bytes / sizeof(f16) + 5, 3);
  expect_successors_of_many<float>(4 * bytes / sizeof(float) + 777, 0);
}

TEST(transform, takes_a_context_and_const_inputs) {
  context<exec> ctx;
  const Kokkos::View<float*, memory> x("x", 10);
  const Kokkos::View<const float*, memory> read_only = x;
  const Kokkos::View<float*, memory> z("z", 10);
  transform(ctx, horner{1}, read_only, read_only, z);
  ctx.fence();
  EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, z)(9), 1.0f);
}

TEST(transform, refuses_unequal_extents_and_partial_overlap) {
  const exec instance;
  const Kokkos::View<float*, memory> x("pressure", 10);
  const Kokkos::View<float*, memory> y("y", 11);
  EXPECT_THAT(
      tests::message_of<shape_error>([&] { transform(instance, horner{}, x, x, y); }),
      testing::AllOf(
          testing::StartsWith(
              "prumo::transform: expected arrays of the same extents, or inputs that broadcast to the output; got "),
          testing::HasSubstr("'pressure': f32 [10]")));
  const auto low = Kokkos::subview(y, Kokkos::pair(0, 10));
  const auto high = Kokkos::subview(y, Kokkos::pair(1, 11));
  EXPECT_THROW(transform(instance, horner{}, low, low, high), alias_error);
}

TEST(transform, refuses_an_output_whose_elements_share_an_address) {
  const Kokkos::View<float, memory> one("one");
  const Kokkos::View<float*, Kokkos::LayoutStride, memory, Kokkos::MemoryUnmanaged> repeated(
      one.data(), Kokkos::LayoutStride(5, 0));
  EXPECT_THROW(transform(exec{}, constant{}, repeated), alias_error);
}

}  // namespace
}  // namespace prumo
