// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases' general test does not reach: special values, ties, arrays of higher rank, refusals, contexts side by
// side and one after the other.

#include "host_copy.hpp"
#include "own_instance.hpp"
#include <prumo/backend/timing.hpp>
#include <prumo/random.hpp>
#include <prumo/reduction.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace prumo {
namespace {

using space = Kokkos::DefaultExecutionSpace;
using index_view = Kokkos::View<std::int64_t, space>;

template <class T>
double value_of(const T& stored) {
  return static_cast<double>(static_cast<compute_t<T>>(stored));
}

template <class View>
auto scalar_of(const View& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view)();
}

/// A vector on the device with these numbers.
template <class T>
Kokkos::View<T*, space> vector_of(const std::vector<double>& numbers) {
  const Kokkos::View<T*, space> result("x", numbers.size());
  const auto host = Kokkos::create_mirror_view(result);
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    host(index) = static_cast<T>(static_cast<compute_t<T>>(numbers[index]));
  }
  Kokkos::deep_copy(result, host);
  return result;
}

/// All seven reductions of a view, in double and std::int64_t.
struct all_reductions {
  double sum, sum_of_squares, mean, max, min;
  std::int64_t argmax, argmin;

  template <class View>
  all_reductions(context<space>& ctx, const View& x) {
    using T = typename View::non_const_value_type;
    const Kokkos::View<T, space> result("result");
    const index_view index("index");
    const auto take = [&](double& target, auto reduce) {
      reduce(result);
      ctx.fence();
      target = value_of(scalar_of(result));
    };
    take(sum, [&](const auto& r) { prumo::sum(ctx, x, r); });
    take(sum_of_squares, [&](const auto& r) { prumo::sum_of_squares(ctx, x, r); });
    take(mean, [&](const auto& r) { prumo::mean(ctx, x, r); });
    take(max, [&](const auto& r) { prumo::max(ctx, x, r); });
    take(min, [&](const auto& r) { prumo::min(ctx, x, r); });
    prumo::argmax(ctx, x, index);
    ctx.fence();
    argmax = scalar_of(index);
    prumo::argmin(ctx, x, index);
    ctx.fence();
    argmin = scalar_of(index);
  }
};

template <class T>
class reductions : public testing::Test {
 protected:
  context<space> ctx_;
};
using types = testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(reductions, types);

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Lengths on all paths: one after the other, few lanes, all lanes, several segments and teams.
constexpr std::size_t lengths[] = {3, 15, 16, 40, 64, 100, 5000, 16384, 40000, 300001};

TYPED_TEST(reductions, extremes_are_found_at_every_place) {
  for (const std::size_t length : lengths) {
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

TYPED_TEST(reductions, the_first_of_equals_is_taken) {
  for (const std::size_t length : lengths) {
    std::vector<double> numbers(length, 1);
    const all_reductions equal(this->ctx_, vector_of<TypeParam>(numbers));
    EXPECT_EQ(equal.argmax, 0);
    EXPECT_EQ(equal.argmin, 0);
    numbers[length / 2] = numbers[length - 1] = 2;
    const all_reductions two(this->ctx_, vector_of<TypeParam>(numbers));
    EXPECT_EQ(two.argmax, static_cast<std::int64_t>(length / 2)) << length;
  }
}

TYPED_TEST(reductions, nan_of_any_sign_wins_and_the_first_is_found) {
  for (const std::size_t length : lengths) {
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

TYPED_TEST(reductions, infinities_are_numbers) {
  for (const std::size_t length : lengths) {
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

TYPED_TEST(reductions, zero_has_a_sign_for_values_and_none_for_positions) {
  for (const std::size_t length : lengths) {
    std::vector<double> numbers(length, -0.0);
    numbers[length - 1] = 0.0;
    const all_reductions found(this->ctx_, vector_of<TypeParam>(numbers));
    EXPECT_FALSE(std::signbit(found.max)) << length;
    EXPECT_TRUE(std::signbit(found.min)) << length;
    EXPECT_EQ(found.argmax, 0) << length;
    EXPECT_EQ(found.argmin, 0) << length;
  }
}

TYPED_TEST(reductions, subnormal_numbers_are_told_apart) {
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

TYPED_TEST(reductions, payloads_of_nan_survive_and_become_quiet) {
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

TYPED_TEST(reductions, sums_of_small_integers_are_exact) {
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

/// Every element of a view of rank 3 its own number, from -n/2 on; the extremes in places of the caller's.
template <class View>
void expect_all_found(context<space>& ctx, const View& x, const std::string& what) {
  using T = typename View::non_const_value_type;
  const auto host = tests::host_copy(x);
  double sum = 0;
  std::int64_t index = 0;
  std::int64_t highest = -1, lowest = -1;
  const auto count = static_cast<std::int64_t>(x.size());
  for (std::size_t i = 0; i < x.extent(0); ++i) {
    for (std::size_t j = 0; j < x.extent(1); ++j) {
      for (std::size_t k = 0; k < x.extent(2); ++k, ++index) {
        const double number = index == 2 * count / 3 || index == count - 1 ? 9
                              : index == count / 5                         ? -9
                              : index % 2 == 0                             ? 0
                                                                           : 1;
        host(i, j, k) = static_cast<T>(static_cast<compute_t<T>>(number));
        sum += number;
        if (number == 9 && highest < 0) highest = index;
        if (number == -9) lowest = index;
      }
    }
  }
  tests::write_back(x, host);
  const all_reductions found(ctx, x);
  EXPECT_EQ(found.argmax, highest) << what;
  EXPECT_EQ(found.argmin, lowest) << what;
  EXPECT_EQ(found.max, 9) << what;
  EXPECT_EQ(found.min, -9) << what;
  const double rounded = value_of(static_cast<T>(static_cast<compute_t<T>>(sum)));
  EXPECT_EQ(found.sum, rounded) << what;
}

TYPED_TEST(reductions, arrays_of_rank_3_in_any_order) {
  struct extents {
    std::size_t i, j, k;
  };
  for (const auto [i, j, k] : {extents{2, 3, 5}, extents{7, 40, 90}, extents{50, 3, 700}, extents{1, 1000, 3}}) {
    const std::string what = std::to_string(i) + " x " + std::to_string(j) + " x " + std::to_string(k);
    expect_all_found(this->ctx_, Kokkos::View<TypeParam***, Kokkos::LayoutRight, space>("x", i, j, k), what + " right");
    expect_all_found(this->ctx_, Kokkos::View<TypeParam***, Kokkos::LayoutLeft, space>("x", i, j, k), what + " left");
    const Kokkos::View<TypeParam***, Kokkos::LayoutRight, space> wide("x", i + 1, j + 2, k + 3);
    expect_all_found(
        this->ctx_,
        Kokkos::subview(wide, std::pair<std::size_t, std::size_t>(1, i + 1),
                        std::pair<std::size_t, std::size_t>(1, j + 1), std::pair<std::size_t, std::size_t>(2, k + 2)),
        what + " inside");
    const Kokkos::LayoutStride mixed(i, 2 * k, j, 2 * k * i + 1, k, 2);
    expect_all_found(this->ctx_, Kokkos::View<TypeParam***, Kokkos::LayoutStride, space>("x", mixed), what + " mixed");
  }
}

/// Column-major matrices with few rows and with many, and matrices of rows at any alignment.
TYPED_TEST(reductions, rows_of_any_shape_and_alignment) {
  struct extents {
    std::size_t rows, columns;
  };
  for (const auto [rows, columns] : {extents{2, 5000}, extents{3, 20000}, extents{5, 77}, extents{33, 3000},
                                     extents{1030, 600}, extents{300, 17}, extents{4, 1}, extents{1500, 13}}) {
    for (const bool column_major : {false, true}) {
      for (const std::size_t offset : {0u, 1u, 3u}) {
        const Kokkos::View<TypeParam*, space> memory("memory", rows * columns + offset);
        const Kokkos::LayoutStride layout(rows, column_major ? 1 : columns, columns, column_major ? rows : 1);
        const Kokkos::View<TypeParam**, Kokkos::LayoutStride, space, Kokkos::MemoryUnmanaged> x(memory.data() + offset,
                                                                                                layout);
        const auto host = tests::host_copy(x);
        for (std::size_t row = 0; row < rows; ++row) {
          for (std::size_t column = 0; column < columns; ++column) {
            const double number = column == (row * 7) % columns ? 5 : column % 2 == row % 2 ? 1 : -1;
            host(row, column) = static_cast<TypeParam>(static_cast<compute_t<TypeParam>>(number));
          }
        }
        tests::write_back(x, host);
        const Kokkos::View<TypeParam*, space> sums("sums", rows), largest("largest", rows);
        const Kokkos::View<std::int64_t*, space> places("places", rows);
        sum_rows(this->ctx_, x, sums);
        max_rows(this->ctx_, x, largest);
        argmax_rows(this->ctx_, x, places);
        this->ctx_.fence();
        const auto found_sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, sums);
        const auto found_largest = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, largest);
        const auto found_places = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, places);
        for (std::size_t row = 0; row < rows; ++row) {
          double expected = 0;
          for (std::size_t column = 0; column < columns; ++column) expected += value_of(host(row, column));
          const std::string what = std::to_string(rows) + " x " + std::to_string(columns) + ", row " +
                                   std::to_string(row) + (column_major ? " left" : " right");
          ASSERT_EQ(value_of(found_sums(row)),
                    value_of(static_cast<TypeParam>(static_cast<compute_t<TypeParam>>(expected))))
              << what;
          ASSERT_EQ(value_of(found_largest(row)), 5) << what;
          ASSERT_EQ(found_places(row), static_cast<std::int64_t>((row * 7) % columns)) << what;
        }
      }
    }
  }
}

TYPED_TEST(reductions, what_nothing_amounts_to) {
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

TEST(reductions_refuse, wrong_shapes_and_overlaps) {
  context<space> ctx;
  const Kokkos::View<float**, space> x("the matrix", 3, 4);
  const Kokkos::View<float*, space> two("two", 2);
  const Kokkos::View<std::int64_t*, space> indices("indices", 2);
  EXPECT_THAT([&] { mean_rows(ctx, x, two); },
              testing::ThrowsMessage<shape_error>(testing::AllOf(
                  testing::HasSubstr("prumo::mean_rows: expected y of as many elements as x has rows"),
                  testing::HasSubstr("x 'the matrix': f32 [3 x 4]"), testing::HasSubstr("y 'two': f32 [2]"))));
  EXPECT_THAT([&] { argmax_rows(ctx, x, indices); },
              testing::ThrowsMessage<shape_error>(testing::HasSubstr("y 'indices': i64 [2]")));
  const Kokkos::View<float, space, Kokkos::MemoryUnmanaged> inside(x.data() + 5);
  EXPECT_THAT([&] { max(ctx, x, inside); }, testing::ThrowsMessage<alias_error>(testing::HasSubstr("prumo::max: ")));
  const Kokkos::View<float*, space, Kokkos::MemoryUnmanaged> row(x.data(), 3);
  EXPECT_THAT([&] { sum_of_squares_rows(ctx, x, row); },
              testing::ThrowsMessage<alias_error>(testing::HasSubstr("prumo::sum_of_squares_rows: ")));
}

// ---- one launch, counters and the workspace between calls --------------------------------------------------

/// The sums of n ones, for growing and shrinking n in turns: the workspace grows and moves between calls whose last
/// team relies on counters being 0.
TEST(reductions_of_one_context, take_turns_at_all_sizes) {
  context<space> ctx(tests::make_own_instance<space>());
  const std::size_t most = std::size_t{3} << 20;
  const Kokkos::View<float*, space> x("x", most);
  Kokkos::deep_copy(x, 1.0f);
  const Kokkos::View<float, space> total("total"), largest("largest");
  const Kokkos::View<float*, space> of_rows("of_rows", 4000);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t n : {std::size_t{10}, most, std::size_t{1000}, std::size_t{5000}, most / 3,
                                std::size_t{20000}, most - 1, std::size_t{70000}}) {
      const auto part = Kokkos::subview(x, std::pair<std::size_t, std::size_t>(0, n));
      sum(ctx, part, total);
      ASSERT_EQ((ctx.fence(), scalar_of(total)), static_cast<float>(n));
      const std::size_t rows = 1 + n % 7;
      const Kokkos::View<float**, Kokkos::LayoutRight, space, Kokkos::MemoryUnmanaged> matrix(x.data(), rows, n / rows);
      const auto some = Kokkos::subview(of_rows, std::pair<std::size_t, std::size_t>(0, rows));
      sum_rows(ctx, matrix, some);
      const Kokkos::View<float**, Kokkos::LayoutLeft, space, Kokkos::MemoryUnmanaged> columns(x.data(), rows, n / rows);
      max(ctx, columns, largest);
      ctx.fence();
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_rows);
      for (std::size_t row = 0; row < rows; ++row) ASSERT_EQ(host(row), static_cast<float>(n / rows));
      ASSERT_EQ(scalar_of(largest), 1.0f);
      sum_rows(ctx, columns, some);
      ctx.fence();
      const auto again = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_rows);
      for (std::size_t row = 0; row < rows; ++row) ASSERT_EQ(again(row), static_cast<float>(n / rows));
    }
  }
}

/// Calls of two contexts are under way at the same time: neither counts the other's teams.
TEST(reductions_of_two_contexts, do_not_disturb_each_other) {
  context<space> first(tests::make_own_instance<space>());
  context<space> second(tests::make_own_instance<space>());
  constexpr std::size_t n = std::size_t{1} << 20;
  const Kokkos::View<float*, space> ones("ones", n), twos("twos", n);
  Kokkos::deep_copy(ones, 1.0f);
  Kokkos::deep_copy(twos, 2.0f);
  const Kokkos::View<float, space> of_ones("of_ones"), of_twos("of_twos");
  Kokkos::fence();
  for (int round = 0; round < 20; ++round) {
    sum(first, ones, of_ones);
    sum(second, twos, of_twos);
  }
  first.fence();
  second.fence();
  EXPECT_EQ(scalar_of(of_ones), static_cast<float>(n));
  EXPECT_EQ(scalar_of(of_twos), 2.0f * static_cast<float>(n));
}

/// A recorded call leaves its counters as it found them: replays and plain calls may follow one another.
TEST(recorded_reductions, can_be_replayed_between_other_calls) {
  const space instance = tests::make_own_instance<space>();
  context<space> ctx(instance);
  constexpr std::size_t n = 700001;
  const Kokkos::View<double*, space> x("x", n);
  Kokkos::deep_copy(x, 1.0);
  const Kokkos::View<double, space> recorded_total("recorded_total"), total("total");
  Kokkos::fence();
  sum(ctx, x, recorded_total);
  ctx.fence();
  const auto recorded = backend::record_calls(instance, [&] { sum(ctx, x, recorded_total); });
  if (recorded == nullptr) GTEST_SKIP() << "nothing can be recorded here";
  for (int round = 1; round < 10; ++round) {
    Kokkos::deep_copy(instance, x, static_cast<double>(round));
    recorded->replay();
    sum(ctx, x, total);
    recorded->replay();
    ctx.fence();
    ASSERT_EQ(scalar_of(recorded_total), static_cast<double>(round) * static_cast<double>(n));
    ASSERT_EQ(scalar_of(total), static_cast<double>(round) * static_cast<double>(n));
  }
}

TEST(reductions_in_an_adopted_workspace, need_no_zeros_in_it) {
  context<space> ctx;
  constexpr std::size_t bytes = 1 << 16;
  const Kokkos::View<std::byte*, space> memory("memory", bytes + 256);
  Kokkos::deep_copy(memory, std::byte{0xa5});
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  ctx.adopt_workspace(memory.data() + (256 - address % 256) % 256, bytes);
  const Kokkos::View<float*, space> x("x", 300000);
  Kokkos::deep_copy(x, 1.0f);
  const Kokkos::View<float, space> total("total");
  for (int round = 0; round < 3; ++round) {
    sum(ctx, x, total);
    ctx.fence();
    ASSERT_EQ(scalar_of(total), 300000.0f);
    Kokkos::deep_copy(memory, std::byte{0x5a});
  }
}

}  // namespace
}  // namespace prumo
