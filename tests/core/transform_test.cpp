// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element-wise engine with formulas of the caller's own, over layouts, ranks and types that meet.

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
struct widen {
  KOKKOS_FUNCTION double operator()(float x, double y) const { return static_cast<double>(x) + y; }
};

/// A distinct small number for every index; exact in every type used here.
template <class View>
struct number_elements {
  View view;
  float factor;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int j = 0; j < static_cast<int>(view.extent(1)); ++j) {
      for (int k = 0; k < static_cast<int>(view.extent(2)); ++k) {
        view(i, j, k) = static_cast<typename View::value_type>(factor * static_cast<float>(i * 49 + j * 7 + k));
      }
    }
  }
};

template <class From, class To>
struct copy_elements {
  From from;
  To to;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int j = 0; j < static_cast<int>(from.extent(1)); ++j) {
      for (int k = 0; k < static_cast<int>(from.extent(2)); ++k) to(i, j, k) = from(i, j, k);
    }
  }
};

template <class View>
void number(const View& view, float factor) {
  Kokkos::parallel_for(Kokkos::RangePolicy<exec>(0, view.extent(0)), number_elements<View>{view, factor});
}

/// The elements where the host can read them, whatever their strides are.
template <class View>
auto on_host(const View& view) {
  using contiguous = Kokkos::View<float***, Kokkos::LayoutRight, memory>;
  const contiguous copy("copy", view.extent(0), view.extent(1), view.extent(2));
  Kokkos::parallel_for(Kokkos::RangePolicy<exec>(0, view.extent(0)), copy_elements<View, contiguous>{view, copy});
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, copy);
}

template <class X, class Y, class Z>
void expect_horner(const X& x, const Y& y, const Z& z) {
  number(x, 1);
  number(y, 0.5f);
  transform(exec(), horner{0.25f}, x, y, z);
  const auto result = on_host(z);
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
  try {
    transform(instance, horner{}, x, x, y);
    FAIL() << "no error";
  } catch (const shape_error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("prumo::transform: expected arrays of the same extents; got "));
    EXPECT_THAT(error.what(), testing::HasSubstr("'pressure': f32 [10]"));
  }
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
