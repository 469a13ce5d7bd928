// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions over every set of axes of arrays in every order, against a plain loop.

#include "all_reductions.hpp"
#include "message_of.hpp"
#include <prumo/error.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace prumo {
namespace {

using tests::message_of;
using tests::space;
using tests::value_of;

constexpr reduction all_kinds[] = {reduction::sum, reduction::sum_of_squares, reduction::mean,  reduction::max,
                                   reduction::min, reduction::argmax,         reduction::argmin};

/// Numbers with fractions of both signs; equal ones occur, so that the first of them is wanted.
double number_at(std::size_t place) { return static_cast<double>(place * 7919 % 1009) / 512 - 0.9; }

/// An array on the device whose dimensions follow one another in memory as `order` says, slowest first, with gaps.
template <class T>
struct stored_array {
  array_ref array;
  Kokkos::View<T*, space> memory;
  std::vector<double> numbers;  ///< of every place in memory

  stored_array(const std::vector<std::int64_t>& extents, const std::vector<int>& order, std::int64_t gap) {
    array.type = dtype_of<T>();
    array.rank = static_cast<int>(extents.size());
    std::int64_t stride = 1;
    for (std::size_t step = order.size(); step-- > 0;) {
      const auto dimension = static_cast<std::size_t>(order[step]);
      array.extents[dimension] = extents[dimension];
      array.strides[dimension] = stride;
      stride *= extents[dimension] + (step + 1 == order.size() ? gap : 0);
    }
    memory = Kokkos::View<T*, space>("x", static_cast<std::size_t>(stride));
    const auto host = Kokkos::create_mirror_view(memory);
    for (std::size_t place = 0; place < memory.size(); ++place) {
      host(place) = static_cast<T>(static_cast<compute_t<T>>(number_at(place)));
      numbers.push_back(value_of(host(place)));
    }
    Kokkos::deep_copy(memory, host);
    array.data = memory.data();
    array.memory = array_ref(memory).memory;
  }
};

/// What a plain loop finds for a result.
struct found {
  long double sum = 0, squares = 0, sizes = 0;
  double largest = -std::numeric_limits<double>::infinity(), smallest = std::numeric_limits<double>::infinity();
  std::int64_t first_largest = 0, first_smallest = 0, count = 0;

  void take(double number) {
    sum += number;
    squares += static_cast<long double>(number) * number;
    sizes += std::fabs(number);
    if (number > largest) largest = number, first_largest = count;
    if (number < smallest) smallest = number, first_smallest = count;
    ++count;
  }
};

/// Goes through all indices in row-major order: visit(which result, number).
template <class T, class Visit>
void for_each_element(const stored_array<T>& x, unsigned reduced, const Visit& visit) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(x.array.rank), 0);
  for (std::int64_t element = 0; element < x.array.size(); ++element) {
    std::int64_t place = 0, result = 0;
    for (int axis = 0; axis < x.array.rank; ++axis) {
      const std::int64_t at = index[static_cast<std::size_t>(axis)];
      place += at * x.array.strides[axis];
      if ((reduced >> axis & 1u) == 0) result = result * x.array.extents[axis] + at;
    }
    visit(static_cast<std::size_t>(result), x.numbers[static_cast<std::size_t>(place)]);
    for (int axis = x.array.rank - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < x.array.extents[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

template <class T>
void expect_result(reduction kind, const found& expected, double number, const std::string& what) {
  constexpr double unit = std::is_same_v<compute_t<T>, double> ? 0x1p-53 : 0x1p-24;
  constexpr double unit_of_type = std::is_same_v<T, f16> ? 0x1p-11 : std::is_same_v<T, bf16> ? 0x1p-8 : 0;
  const auto depth = static_cast<double>(reduce_depth(expected.count, sizeof(compute_t<T>)));
  const auto expect_near = [&](long double exact, long double sizes, double roundings) {
    const double gamma = roundings * unit / (1 - roundings * unit);
    const double bound = gamma * static_cast<double>(sizes);
    // Rounded once more to a 16-bit type, of which the smallest numbers are 2^-24 apart.
    const double stored = unit_of_type * (std::fabs(static_cast<double>(exact)) + bound) + 0x1p-25;
    ASSERT_NEAR(number, static_cast<double>(exact), bound + stored) << what;
  };
  const auto count = static_cast<long double>(expected.count);
  switch (kind) {
    case reduction::sum: return expect_near(expected.sum, expected.sizes, depth);
    case reduction::sum_of_squares: return expect_near(expected.squares, expected.squares, depth + 1);
    case reduction::mean: return expect_near(expected.sum / count, expected.sizes / count, depth + 2);
    case reduction::max: ASSERT_EQ(number, expected.largest) << what; return;
    case reduction::min: ASSERT_EQ(number, expected.smallest) << what; return;
    case reduction::argmax: ASSERT_EQ(number, static_cast<double>(expected.first_largest)) << what; return;
    case reduction::argmin: ASSERT_EQ(number, static_cast<double>(expected.first_smallest)) << what; return;
  }
}

/// Every kind over one set of axes; y has a row-major layout, or every second element of one.
template <class T>
void expect_reductions(context<space>& ctx, const stored_array<T>& x, unsigned reduced, bool keeps_rank) {
  std::vector<int> axes;
  array_ref y;
  for (int axis = 0; axis < x.array.rank; ++axis) {
    const bool is_reduced = (reduced >> axis & 1u) != 0;
    if (is_reduced) axes.push_back(axis);
    if (!is_reduced || keeps_rank) y.extents[y.rank++] = is_reduced ? 1 : x.array.extents[axis];
  }
  const std::int64_t step = keeps_rank ? 2 : 1;
  std::int64_t results = 1;
  for (int axis = y.rank - 1; axis >= 0; --axis) {
    y.strides[axis] = results * step;
    results *= y.extents[axis];
  }
  std::vector<found> expected(static_cast<std::size_t>(results));
  for_each_element(x, reduced, [&](std::size_t result, double number) { expected[result].take(number); });
  const auto memory_extent = static_cast<std::size_t>(results * step);
  const Kokkos::View<T*, space> numbers("numbers", memory_extent);
  const Kokkos::View<std::int64_t*, space> positions("positions", memory_extent);
  y.memory = x.array.memory;
  for (const reduction kind : all_kinds) {
    const bool finds_index = kind == reduction::argmax || kind == reduction::argmin;
    y.type = finds_index ? dtype::i64 : x.array.type;
    y.data = finds_index ? static_cast<void*>(positions.data()) : static_cast<void*>(numbers.data());
    reduce(ctx, kind, x.array, axes, y);
    ctx.fence();
    const auto numbers_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, numbers);
    const auto positions_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, positions);
    const std::string what = "kind " + std::to_string(static_cast<int>(kind)) + ", axes " + std::to_string(reduced) +
                             " of " + to_string(named_array{"x", x.array}) + ", result ";
    for (std::size_t result = 0; result < expected.size(); ++result) {
      const std::size_t place = result * static_cast<std::size_t>(step);
      const double number = finds_index ? static_cast<double>(positions_host(place)) : value_of(numbers_host(place));
      ASSERT_NO_FATAL_FAILURE(expect_result<T>(kind, expected[result], number, what + std::to_string(result)));
    }
  }
}

template <class T>
class reductions_over_axes : public testing::Test {
 protected:
  context<space> ctx_;
};
TYPED_TEST_SUITE(reductions_over_axes, tests::reduced_types);

TYPED_TEST(reductions_over_axes, of_rank_4_in_any_order) {
  const std::vector<std::int64_t> extents{3, 5, 4, 7};
  for (const std::vector<int>& order : std::vector<std::vector<int>>{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}}) {
    const stored_array<TypeParam> x(extents, order, order[0] == 0 ? 0 : 2);
    for (unsigned reduced = 0; reduced < 16; ++reduced) {
      expect_reductions(this->ctx_, x, reduced, reduced % 3 == 0);
    }
  }
}

/// Images and their channels, with the channels slow and fast; rows and columns that are cut into segments.
TYPED_TEST(reductions_over_axes, of_larger_arrays) {
  const stored_array<TypeParam> images({6, 10, 30, 31}, {0, 1, 2, 3}, 0);
  expect_reductions(this->ctx_, images, 0b1101, true);
  expect_reductions(this->ctx_, images, 0b0101, false);
  expect_reductions(this->ctx_, images, 0b1010, false);
  const stored_array<TypeParam> channels_last({40, 3, 50, 9}, {0, 2, 3, 1}, 0);
  expect_reductions(this->ctx_, channels_last, 0b1101, false);
  const stored_array<TypeParam> few_results({300, 2, 150, 2}, {0, 1, 2, 3}, 0);
  expect_reductions(this->ctx_, few_results, 0b0101, false);
  const stored_array<TypeParam> many_a_result({70, 3, 300}, {0, 1, 2}, 0);
  expect_reductions(this->ctx_, many_a_result, 0b101, true);
  const stored_array<TypeParam> wide({3, 40, 1500}, {0, 1, 2}, 1);
  expect_reductions(this->ctx_, wide, 0b010, false);
}

TEST(reductions_over_axes_of, rank_6) {
  context<space> ctx;
  const stored_array<double> x({2, 3, 2, 5, 2, 3}, {4, 0, 2, 5, 1, 3}, 1);
  for (unsigned reduced = 0; reduced < 64; ++reduced) expect_reductions(ctx, x, reduced, false);
}

TEST(reductions_over_axes_of, views_and_of_nothing) {
  context<space> ctx;
  const Kokkos::View<float****, Kokkos::LayoutRight, space> x("x", 2, 3, 4, 5), empty("empty", 2, 3, 0, 5);
  const Kokkos::View<float*, space> y("y", 3);
  Kokkos::deep_copy(x, 2.0f);
  reduce(ctx, reduction::sum, x, {0, 2, 3}, y);
  ctx.fence();
  EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y)(2), 80.0f);
  reduce(ctx, reduction::sum, empty, {0, 2, 3}, y);
  ctx.fence();
  EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y)(2), 0.0f);
  const Kokkos::View<float**, space> pairs("pairs", 3, 5);
  reduce(ctx, reduction::mean, empty, {2, 0}, pairs);
  ctx.fence();
  EXPECT_TRUE(std::isnan(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, pairs)(1, 1)));
}

TEST(reductions_over_axes_refuse, wrong_axes_extents_types_and_overlap) {
  context<space> ctx;
  const Kokkos::View<float***, space> x("field", 3, 4, 5), empty("empty", 3, 0, 5);
  const Kokkos::View<float*, space> y("y", 4);
  const Kokkos::View<float**, space> pairs("pairs", 3, 5);
  const Kokkos::View<double*, space> other_type("other_type", 4);
  EXPECT_THAT(message_of<argument_error>([&] { reduce(ctx, reduction::sum, x, {0, 3}, y); }),
              testing::StartsWith("prumo::reduce: expected axes from 0 to below the rank of x; axis 3 is none; got x "
                                  "'field': f32 [3 x 4 x 5]"));
  EXPECT_THAT(message_of<argument_error>([&] { reduce(ctx, reduction::sum, x, {0, -1}, y); }),
              testing::HasSubstr("axis -1 is none"));
  EXPECT_THAT(message_of<argument_error>([&] { reduce(ctx, reduction::sum, x, {2, 0, 2}, y); }),
              testing::StartsWith("prumo::reduce: expected each axis once; axis 2 is there twice"));
  EXPECT_THAT(message_of<shape_error>([&] { reduce(ctx, reduction::sum, x, {0, 1}, y); }),
              testing::StartsWith("prumo::reduce: expected y with the extents of x along the other axes, and none or 1 "
                                  "along the reduced ones; got x "));
  EXPECT_THAT(message_of<shape_error>([&] { reduce(ctx, reduction::max, empty, {1}, pairs); }),
              testing::StartsWith("prumo::reduce: expected at least one element along the reduced axes"));
  EXPECT_THAT(message_of<argument_error>([&] { reduce(ctx, reduction::sum, x, {0, 2}, other_type); }),
              testing::StartsWith("prumo::reduce: expected a result of the type of x"));
  EXPECT_THAT(message_of<argument_error>([&] { reduce(ctx, reduction::argmin, x, {0, 2}, y); }),
              testing::StartsWith("prumo::reduce: expected a result of i64"));
  const Kokkos::View<float*, space, Kokkos::MemoryUnmanaged> inside(x.data() + 7, 4);
  EXPECT_THAT(message_of<alias_error>([&] { reduce(ctx, reduction::sum, x, {0, 2}, inside); }),
              testing::StartsWith("prumo::reduce: expected an output that is apart from the inputs"));
}

}  // namespace
}  // namespace prumo
