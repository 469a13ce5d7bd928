// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: every bit of what is moved, layouts that differ, refusals.

#include "operation_test.hpp"
#include <prumo/detail/word.hpp>
#include <prumo/memory.hpp>
#include <prumo/transpose.hpp>

#include <cstdint>
#include <limits>
#include <utility>

namespace prumo {
namespace {

using namespace tests;

template <class T>
class memory_types : public testing::Test {};
TYPED_TEST_SUITE(memory_types, tests::all_scalars);

/// Arbitrary bits. With enough rows they are all numbers of 16 bits. For larger types most are NaN with any payload.
template <class T>
T element_of_bits(std::size_t index) {
  const std::uint64_t bits = (index + 1) * 0x9e3779b97f4a7c15u;  // of the golden ratio: no two alike, and well spread
  if constexpr (sizeof(T) == 2) return detail::bit_cast<T>(static_cast<std::uint16_t>(index));
  if constexpr (sizeof(T) == 4) return detail::bit_cast<T>(static_cast<std::uint32_t>(bits >> 32) | 0x7f800000u);
  if constexpr (sizeof(T) == 8) return detail::bit_cast<T>(bits | 0x7ff0000000000000u);
}

template <class T>
auto bits_of(T number) {
  return detail::bit_cast<detail::word_of<T>>(number);
}

template <class View>
void put_any_bits(const View& view) {
  std::size_t index = 0;
  tests::set_elements(view, [&](auto...) { return element_of_bits<typename View::value_type>(index++); });
}

/// found(i, j) is expected(i, j), or expected(j, i), in every bit.
template <class Expected, class Found>
void expect_same_bits(const Expected& expected, const Found& found, bool transposed = false) {
  const auto all_expected = tests::host_copy(expected);
  const auto all_found = tests::host_copy(found);
  std::int64_t wrong = 0;
  tests::for_each_index(found, [&](auto i, auto j) {
    const auto right = transposed ? all_expected(j, i) : all_expected(i, j);
    wrong += bits_of(all_found(i, j)) == bits_of(right) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(memory_types, copies_keep_every_bit) {
  context<exec> ctx;
  const row_major<TypeParam> x("x", 257, 256);
  put_any_bits(x);
  const row_major<TypeParam> alike("alike", 257, 256);
  copy(ctx, x, alike);
  const column_major<TypeParam> other("other", 257, 256);
  copy(ctx, x, other);
  const auto part = Kokkos::subview(x, std::pair{1, 200}, std::pair{3, 254});
  const row_major<TypeParam> of_part("of part", 199, 251);
  copy(ctx, part, of_part);
  copy(ctx, x, x);
  ctx.fence();
  expect_same_bits(x, alike);
  expect_same_bits(x, other);
  expect_same_bits(part, of_part);
}

TYPED_TEST(memory_types, transposes_that_are_copies_keep_every_bit) {
  context<exec> ctx;
  const row_major<TypeParam> x("x", 257, 256), y("y", 256, 257);
  const column_major<TypeParam> alike("alike", 256, 257);
  put_any_bits(x);
  transpose(ctx, x, alike);
  transpose(ctx, x, y);
  ctx.fence();
  expect_same_bits(x, alike, true);
  expect_same_bits(x, y, true);
}

TYPED_TEST(memory_types, fills_with_the_number_that_the_type_has) {
  using C = compute_t<TypeParam>;
  context<exec> ctx;
  for (const C value : {C(0.1), C(-0.0), C(1e-41), std::numeric_limits<C>::infinity()}) {
    const row_major<TypeParam> whole("whole", 67, 65);
    put_any_bits(whole);
    const auto part = Kokkos::subview(whole, Kokkos::ALL, std::pair{1, 64});
    fill(ctx, value, part);
    ctx.fence();
    const auto found = tests::host_copy(whole);
    for (std::size_t i = 0; i < 67; ++i) {
      EXPECT_EQ(bits_of(found(i, 0)), bits_of(element_of_bits<TypeParam>(i * 65)));
      EXPECT_EQ(bits_of(found(i, 64)), bits_of(element_of_bits<TypeParam>(i * 65 + 64)));
      for (std::size_t j = 1; j < 64; ++j) ASSERT_EQ(bits_of(found(i, j)), bits_of(TypeParam(value))) << i << ' ' << j;
    }
  }
}

TEST(memory, refuses_shapes_and_overlap) {
  using vector = Kokkos::View<f16*, exec>;
  context<exec> ctx;
  const vector x("my x", 10), y("my y", 9);
  EXPECT_THAT(tests::message_of<shape_error>([&] { copy(ctx, x, y); }),
              AllOf(StartsWith("prumo::copy: "), HasSubstr("'my x': f16 [10]"), HasSubstr("'my y': f16 [9]")));
  EXPECT_THROW(copy(ctx, Kokkos::subview(x, std::pair{0, 9}), Kokkos::subview(x, std::pair{1, 10})), alias_error);
}

}  // namespace
}  // namespace prumo
