// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inputs that are repeated along dimensions of the output, in transform; and how nests of loops are cut and numbered.

#include "all_scalars.hpp"
#include "host_copy.hpp"
#include "message_of.hpp"
#include <prumo/error.hpp>
#include <prumo/transform.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using memory = exec::memory_space;
using testing::HasSubstr;
using testing::StartsWith;
using tests::message_of;

struct weighted_sum {
  template <class C>
  KOKKOS_FUNCTION C operator()(C x, C y) const {
    return x * C(32) + y;
  }
};

/// The element of a view on the host that broadcasts to index (i, j, k).
template <class View>
float element(const View& view, std::size_t i, std::size_t j, std::size_t k) {
  const std::array<std::size_t, 3> index{i, j, k};
  std::size_t offset = 0;
  for (std::size_t dimension = 0; dimension < View::rank(); ++dimension) {
    if (view.extent(dimension) > 1) offset += index[3 - View::rank() + dimension] * view.stride(dimension);
  }
  return static_cast<float>(view.data()[offset]);
}

/// Numbers below 32, so that results are exact in every type.
template <class View>
void fill_with_numbers(const View& view, int first) {
  const auto span = tests::span_of(view);
  const auto copy = Kokkos::create_mirror_view(span);
  for (std::size_t at = 0; at < span.size(); ++at) {
    copy(at) =
        static_cast<typename View::value_type>(static_cast<float>((at * 5 + static_cast<std::size_t>(first)) % 31));
  }
  Kokkos::deep_copy(span, copy);
}

template <class X, class Y, class Z>
void expect_weighted_sum(const X& x, const Y& y, const Z& z) {
  fill_with_numbers(x, 3);
  fill_with_numbers(y, 17);
  const exec instance;
  transform(instance, weighted_sum{}, x, y, z);
  instance.fence();
  const auto first = tests::host_copy(x);
  const auto second = tests::host_copy(y);
  const auto result = tests::host_copy(z);
  for (std::size_t i = 0; i < z.extent(0); ++i) {
    for (std::size_t j = 0; j < z.extent(1); ++j) {
      for (std::size_t k = 0; k < z.extent(2); ++k) {
        const float expected = element(first, i, j, k) * 32 + element(second, i, j, k);
        ASSERT_EQ(static_cast<float>(result(i, j, k)),
                  static_cast<float>(static_cast<typename Z::value_type>(expected)))
            << i << ' ' << j << ' ' << k;
      }
    }
  }
}

template <class T>
class broadcasts : public testing::Test {};
TYPED_TEST_SUITE(broadcasts, tests::all_scalars);

/// Every way to repeat an input along dimensions of a cube, for rows that are whole packs and rows that are not.
template <class T, class Layout>
void expect_all_ways(std::size_t rows, std::size_t columns) {
  const std::size_t planes = 3;
  using cube = Kokkos::View<T***, Layout, memory>;
  const cube z("z", planes, rows, columns);
  const cube whole("whole", planes, rows, columns);
  for (const std::size_t a : {std::size_t{1}, planes}) {
    for (const std::size_t b : {std::size_t{1}, rows}) {
      for (const std::size_t c : {std::size_t{1}, columns}) {
        const cube part("part", a, b, c);
        expect_weighted_sum(whole, part, z);
        expect_weighted_sum(part, whole, z);
        expect_weighted_sum(part, cube("other", 1, rows, 1), z);
      }
    }
  }
  const Kokkos::View<T*, memory> bias("bias", columns);
  expect_weighted_sum(whole, bias, z);
  expect_weighted_sum(bias, Kokkos::View<T**, Kokkos::LayoutRight, memory>("of rows", rows, 1), z);
}

TYPED_TEST(broadcasts, along_any_dimensions) {
  expect_all_ways<TypeParam, Kokkos::LayoutRight>(5, 7);
  expect_all_ways<TypeParam, Kokkos::LayoutRight>(9, 64);
  expect_all_ways<TypeParam, Kokkos::LayoutRight>(2, 2500);
  expect_all_ways<TypeParam, Kokkos::LayoutLeft>(6, 33);
}

TEST(broadcast, parts_of_larger_arrays_and_the_output_in_place) {
  const Kokkos::View<float***, Kokkos::LayoutRight, memory> wide("wide", 5, 7, 50);
  const auto part = Kokkos::subview(wide, Kokkos::pair(1, 4), Kokkos::pair(2, 7), Kokkos::pair(3, 40));
  const Kokkos::View<float**, Kokkos::LayoutRight, memory> rows("rows", 5, 1);
  const Kokkos::View<float*, memory> columns("columns", 37);
  expect_weighted_sum(rows, columns, part);
  fill_with_numbers(part, 0);
  fill_with_numbers(columns, 0);
  const auto before = tests::host_copy(part);
  const exec instance;
  transform(instance, weighted_sum{}, part, columns, part);
  instance.fence();
  const auto after = tests::host_copy(part);
  const auto added = tests::host_copy(columns);
  for (std::size_t k = 0; k < 37; ++k) ASSERT_EQ(after(2, 4, k), before(2, 4, k) * 32 + added(k));
}

TEST(broadcast, what_does_not_broadcast_is_refused) {
  const exec instance;
  const Kokkos::View<float**, memory> x("matrix", 4, 6), z("z", 4, 6);
  const Kokkos::View<float*, memory> of_rows("one a row", 4);
  const std::string message = message_of<shape_error>([&] { transform(instance, weighted_sum{}, x, of_rows, z); });
  EXPECT_THAT(message, StartsWith("prumo::transform: expected arrays of the same extents, or inputs that broadcast to "
                                  "the output; got "));
  EXPECT_THAT(message, HasSubstr("'one a row': f32 [4]"));
  // A row of the output, repeated: it would be read after it was written.
  const auto row = Kokkos::subview(z, Kokkos::pair(0, 1), Kokkos::ALL);
  EXPECT_THAT(message_of<alias_error>([&] { transform(instance, weighted_sum{}, x, row, z); }),
              StartsWith("prumo::transform: expected an output that is apart from the inputs, or exactly one of them"));
}

TEST(index_divider, gives_every_quotient) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= 300; ++divisor) divisors.push_back(divisor);
  for (int bit = 9; bit < 31; ++bit) {
    for (const int beside : {-1, 0, 1}) divisors.push_back((1 << bit) + beside);
  }
  divisors.push_back(INT32_MAX);
  for (const int divisor : divisors) {
    const detail::index_divider divide(divisor);
    const std::int64_t most = INT32_MAX;
    for (const std::int64_t multiple : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{1000},
                                        most / divisor / 2, most / divisor - 1, most / divisor}) {
      for (const std::int64_t beside : {-1, 0, 1}) {
        const std::int64_t number = multiple * divisor + beside;
        if (number < 0 || number > most) continue;
        ASSERT_EQ(divide.quotient(static_cast<int>(number)), static_cast<int>(number) / divisor)
            << number << ' ' << divisor;
      }
    }
    ASSERT_EQ(divide.quotient(INT32_MAX), INT32_MAX / divisor) << divisor;
  }
}

TEST(index_divider, gives_every_quotient_of_16_bits) {
  for (const int divisor : {1, 2, 3, 5, 7, 17, 36, 255, 256, 257, 4095, 40000, 65535, 65536}) {
    const detail::index_divider by(divisor);
    for (int index = 0; index < 1 << 16; ++index) {
      ASSERT_EQ(by.quotient(index), index / divisor) << index << " / " << divisor;
    }
  }
}

TEST(loop_nest, parts_have_every_element_once) {
  detail::loop_nest<2> nest;
  nest.rank = 4;
  const std::int64_t extents[] = {3, 5, 2, 7};
  std::int64_t stride = 1;
  for (int dimension = 3; dimension >= 0; --dimension) {
    nest.extents[dimension] = extents[dimension];
    nest.strides[0][dimension] = stride;
    nest.strides[1][dimension] = -2 * stride;
    stride *= extents[dimension];
  }
  for (const int rank : {1, 2, 3, 4}) {
    for (const std::int64_t most : {1, 2, 9, 100, 1000}) {
      std::vector<int> seen(210, 0);
      detail::for_each_part(nest, rank, most, [&](const detail::loop_nest<2>& part, const std::int64_t (&offsets)[2]) {
        ASSERT_LE(part.rank, rank);
        ASSERT_LE(part.size(), most);
        const detail::device_nest<2> numbered(part);
        for (int number = 0; number < part.size(); ++number) {
          std::int64_t found[2];
          numbered.find(number, found);
          ++seen[static_cast<std::size_t>(offsets[0] + found[0])];
          ASSERT_EQ(offsets[1] + found[1], -2 * (offsets[0] + found[0]));
        }
      });
      for (const int times : seen) ASSERT_EQ(times, 1) << rank << ' ' << most;
    }
  }
}

}  // namespace
}  // namespace prumo
