// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places, ties, NaN, infinities, signed zeros, subnormal numbers, and what nothing amounts to.

#include "all_reductions.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace prumo {
namespace {

using tests::all_reductions;
using tests::index_view;
using tests::reduced_types;
using tests::scalar_of;
using tests::space;
using tests::value_of;
using tests::vector_of;

template <class T>
class reductions_of_special_values : public testing::Test {
 protected:
  context<space> ctx_;
};
TYPED_TEST_SUITE(reductions_of_special_values, reduced_types);

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Lengths on all paths: one after the other, few lanes, all lanes, several segments and teams.
constexpr std::size_t row_lengths[] = {3, 15, 16, 40, 64, 100, 5000, 16384, 40000, 300001};

TYPED_TEST(reductions_of_special_values, extremes_are_found_at_every_place) {
  for (const std::size_t length : row_lengths) {
    for (const std::size_t place : {std::size_t{0}, length / 3, length / 2, length - 2, length - 1}) {
      std::vector<double> numbers(length, 0.5);
      numbers[place] = 3;
      const all_reductions high(this->ctx_, vector_of<TypeParam>(numbers));
      EXPECT_EQ(high.max, 3) << length;
      EXPECT_EQ(high.argmax, static_cast<std::int64_t>(place)) << length;
      EXPECT_EQ(high.min, 0.5) << length;
      EXPECT_EQ(high.argmin, place == 0 ? 1 : 0) << length;
      numbers[place] = -3;
      const all_reductions low(this->ctx_, vector_of<TypeParam>(numbers));
      EXPECT_EQ(low.min, -3) << length;
      EXPECT_EQ(low.argmin, static_cast<std::int64_t>(place)) << length;
    }
  }
}

/// Devices read arrays in packs, rounds and segments of powers of two: before, behind and across their edges, from
/// aligned and other addresses.
TYPED_TEST(reductions_of_special_values, extremes_are_found_beside_the_edges_of_segments) {
  constexpr std::size_t length = (std::size_t{3} << 18) + 9;
  const auto x = vector_of<TypeParam>(std::vector<double>(length, 0.5));
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  const index_view found("found");
  for (const std::size_t begin : {0, 1, 8}) {
    const auto part = Kokkos::subview(x, std::pair<std::size_t, std::size_t>(begin, length));
    for (const std::size_t edge : {1 << 3, 1 << 11, 1 << 12, 1 << 13, 5 << 13, 1 << 17, 3 << 18}) {
      for (const std::size_t place : {edge - 1, edge}) {
        const auto one = Kokkos::subview(x, begin + place);
        host(begin + place) = static_cast<TypeParam>(compute_t<TypeParam>(3));
        Kokkos::deep_copy(one, host(begin + place));
        argmax(this->ctx_, part, found);
        this->ctx_.fence();
        EXPECT_EQ(scalar_of(found), static_cast<std::int64_t>(place)) << begin;
        host(begin + place) = static_cast<TypeParam>(compute_t<TypeParam>(0.5));
        Kokkos::deep_copy(one, host(begin + place));
      }
    }
  }
}

TYPED_TEST(reductions_of_special_values, the_first_of_equals_is_taken) {
  for (const std::size_t length : row_lengths) {
    std::vector<double> numbers(length, 1);
    const all_reductions equal(this->ctx_, vector_of<TypeParam>(numbers));
    EXPECT_EQ(equal.argmax, 0);
    EXPECT_EQ(equal.argmin, 0);
    numbers[length / 2] = numbers[length - 1] = 2;
    const all_reductions two(this->ctx_, vector_of<TypeParam>(numbers));
    EXPECT_EQ(two.argmax, static_cast<std::int64_t>(length / 2)) << length;
  }
}

TYPED_TEST(reductions_of_special_values, nan_of_any_sign_wins_and_the_first_is_found) {
  for (const std::size_t length : row_lengths) {
    for (const double kind : {nan, std::copysign(nan, -1.0)}) {
      std::vector<double> numbers(length, infinity);
      numbers[length - 1] = kind;
      numbers[length / 2] = std::copysign(nan, 1.0);
      numbers[0] = -infinity;
      const all_reductions found(this->ctx_, vector_of<TypeParam>(numbers));
      EXPECT_TRUE(std::isnan(found.max) && std::isnan(found.min)) << length;
      EXPECT_TRUE(std::isnan(found.sum) && std::isnan(found.mean) && std::isnan(found.sum_of_squares)) << length;
      EXPECT_EQ(found.argmax, static_cast<std::int64_t>(length / 2)) << length;
      EXPECT_EQ(found.argmin, static_cast<std::int64_t>(length / 2)) << length;
    }
  }
}

TYPED_TEST(reductions_of_special_values, infinities_are_numbers) {
  for (const std::size_t length : row_lengths) {
    const all_reductions lowest(this->ctx_, vector_of<TypeParam>(std::vector<double>(length, -infinity)));
    EXPECT_EQ(lowest.max, -infinity);
    EXPECT_EQ(lowest.min, -infinity);
    EXPECT_EQ(lowest.argmax, 0);
    EXPECT_EQ(lowest.sum, -infinity);
    EXPECT_EQ(lowest.sum_of_squares, infinity);
    const all_reductions highest(this->ctx_, vector_of<TypeParam>(std::vector<double>(length, infinity)));
    EXPECT_EQ(highest.min, infinity);
    EXPECT_EQ(highest.argmin, 0);
  }
}

TYPED_TEST(reductions_of_special_values, zero_has_a_sign_for_values_and_none_for_positions) {
  for (const std::size_t length : row_lengths) {
    std::vector<double> numbers(length, -0.0);
    numbers[length - 1] = 0.0;
    const all_reductions found(this->ctx_, vector_of<TypeParam>(numbers));
    EXPECT_FALSE(std::signbit(found.max)) << length;
    EXPECT_TRUE(std::signbit(found.min)) << length;
    EXPECT_EQ(found.argmax, 0) << length;
    EXPECT_EQ(found.argmin, 0) << length;
  }
}

TYPED_TEST(reductions_of_special_values, subnormal_numbers_are_told_apart) {
  TypeParam smallest{};
  if constexpr (sizeof(TypeParam) == 2) {
    smallest.bits = 1;
  } else {
    smallest = std::numeric_limits<TypeParam>::denorm_min();
  }
  const double tiny = value_of(smallest);
  const all_reductions found(this->ctx_, vector_of<TypeParam>({0, tiny, -tiny, 2 * tiny, -0.0}));
  EXPECT_EQ(found.max, 2 * tiny);
  EXPECT_EQ(found.min, -tiny);
  EXPECT_EQ(found.argmax, 3);
  EXPECT_EQ(found.argmin, 2);
}

TYPED_TEST(reductions_of_special_values, payloads_of_nan_survive_and_become_quiet) {
  TypeParam signalling{};
  if constexpr (std::is_same_v<TypeParam, f16>) {
    signalling.bits = 0x7c05;
  } else if constexpr (std::is_same_v<TypeParam, bf16>) {
    signalling.bits = 0x7f85;
  } else if constexpr (std::is_same_v<TypeParam, float>) {
    signalling = Kokkos::bit_cast<float>(0x7f800005u);
  } else {
    signalling = Kokkos::bit_cast<double>(std::uint64_t{0x7ff0000000000005u});
  }
  const Kokkos::View<TypeParam*, space> x("x", 100);
  const auto host = Kokkos::create_mirror_view(x);
  std::memcpy(&host(57), &signalling, sizeof(TypeParam));
  Kokkos::deep_copy(x, host);
  const Kokkos::View<TypeParam, space> result("result");
  max(this->ctx_, x, result);
  this->ctx_.fence();
  const auto found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, result);
  TypeParam quiet{};
  if constexpr (std::is_same_v<TypeParam, f16>) {
    quiet.bits = 0x7e05;
  } else if constexpr (std::is_same_v<TypeParam, bf16>) {
    quiet.bits = 0x7fc5;
  } else if constexpr (std::is_same_v<TypeParam, float>) {
    quiet = Kokkos::bit_cast<float>(0x7fc00005u);
  } else {
    quiet = Kokkos::bit_cast<double>(std::uint64_t{0x7ff8000000000005u});
  }
  EXPECT_EQ(std::memcmp(found.data(), &quiet, sizeof(TypeParam)), 0);
}

TYPED_TEST(reductions_of_special_values, sums_of_small_integers_are_exact) {
  for (const std::size_t length : {15u, 63u, 100u, 1000u}) {
    std::vector<double> numbers(length);
    double sum = 0, squares = 0;
    for (std::size_t index = 0; index < length; ++index) {
      numbers[index] = index % 3 == 0 ? 1 : index % 7 == 0 ? -1 : 0;
      sum += numbers[index];
      squares += numbers[index] * numbers[index];
    }
    const all_reductions found(this->ctx_, vector_of<TypeParam>(numbers));
    const auto rounded = [](double number) {
      return value_of(static_cast<TypeParam>(static_cast<compute_t<TypeParam>>(number)));
    };
    EXPECT_EQ(found.sum, rounded(sum));
    EXPECT_EQ(found.sum_of_squares, rounded(squares));
    EXPECT_EQ(found.mean, rounded(static_cast<double>(static_cast<compute_t<TypeParam>>(sum) /
                                                      static_cast<compute_t<TypeParam>>(length))));
  }
}

TYPED_TEST(reductions_of_special_values, what_nothing_amounts_to) {
  const Kokkos::View<TypeParam*, space> nothing("nothing", 0);
  const Kokkos::View<TypeParam**, space> empty_rows("empty_rows", 3, 0), no_rows("no_rows", 0, 3);
  const Kokkos::View<TypeParam, space> result("result");
  const Kokkos::View<TypeParam*, space> of_rows("of_rows", 3), of_none("of_none", 0);
  const index_view index("index");
  context<space>& ctx = this->ctx_;
  sum(ctx, nothing, result);
  ctx.fence();
  EXPECT_EQ(value_of(scalar_of(result)), 0);
  sum_of_squares(ctx, nothing, result);
  ctx.fence();
  EXPECT_EQ(value_of(scalar_of(result)), 0);
  mean(ctx, nothing, result);
  ctx.fence();
  EXPECT_TRUE(std::isnan(value_of(scalar_of(result))));
  mean_rows(ctx, empty_rows, of_rows);
  ctx.fence();
  EXPECT_TRUE(std::isnan(value_of(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_rows)(2))));

  const auto refuses = [](auto call, const std::string& message) {
    EXPECT_THAT(call, testing::ThrowsMessage<shape_error>(testing::HasSubstr(message)));
  };
  refuses([&] { max(ctx, nothing, result); }, "prumo::max: expected at least one element; got x 'nothing'");
  refuses([&] { min(ctx, nothing, result); }, "prumo::min: expected at least one element");
  refuses([&] { argmax(ctx, nothing, index); }, "prumo::argmax: expected at least one element");
  refuses([&] { argmin(ctx, nothing, index); }, "prumo::argmin: expected at least one element");
  refuses([&] { max_rows(ctx, empty_rows, of_rows); }, "prumo::max_rows: expected rows of at least one element");
  refuses([&] { min_rows(ctx, empty_rows, of_rows); }, "prumo::min_rows: expected rows of at least one element");
  EXPECT_NO_THROW(max_rows(ctx, no_rows, of_none));
}

}  // namespace
}  // namespace prumo
