// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stretches of 16-bit numbers are converted as single numbers are, bit for bit, wherever in an array they stand.

#include <prumo/arithmetic.hpp>
#include <prumo/detail/group_conversions.hpp>
#include <prumo/detail/half_conversions.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace prumo::detail {
namespace {

template <class T>
class half_conversions : public testing::Test {};
using halves = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(half_conversions, halves);

template <class T>
T from_bits(int bits) {
  T number;
  number.bits = static_cast<std::uint16_t>(bits);
  return number;
}

constexpr int all = 1 << 16;

TYPED_TEST(half_conversions, widen_every_number) {
  if constexpr (!has_vector_widening<TypeParam>) {
    GTEST_SKIP() << "converted as single numbers";
  } else {
    std::vector<TypeParam> numbers(all);
    for (int bits = 0; bits < all; ++bits) numbers[static_cast<std::size_t>(bits)] = from_bits<TypeParam>(bits);
    std::vector<float> floats(all);
    widen(numbers.data(), floats.data(), all);
    for (int bits = 0; bits < all; ++bits) {
      const float found = floats[static_cast<std::size_t>(bits)];
      const auto expected = static_cast<float>(from_bits<TypeParam>(bits));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(found)) << bits;
      } else {
        ASSERT_EQ(bit_cast<std::uint32_t>(found), bit_cast<std::uint32_t>(expected)) << bits;
      }
    }
  }
}

TYPED_TEST(half_conversions, narrow_to_the_same_bits) {
  if constexpr (!has_vector_narrowing<TypeParam>) {
    GTEST_SKIP() << "converted as single numbers";
  } else {
    std::vector<float> floats;
    // What lies at, between and around numbers, all exponents of f32, and NaN of both signs with any payload.
    for (int bits = 0; bits < all; ++bits) {
      const auto exact = static_cast<float>(from_bits<TypeParam>(bits));
      const auto next = static_cast<float>(from_bits<TypeParam>(bits + 1));
      for (const float value : {exact, exact / 2 + next / 2}) {
        floats.push_back(value);
        floats.push_back(std::nextafter(value, HUGE_VALF));
        floats.push_back(std::nextafter(value, -HUGE_VALF));
      }
    }
    std::mt19937 random(7);
    for (int i = 0; i < 1 << 20; ++i) floats.push_back(bit_cast<float>(static_cast<std::uint32_t>(random())));
    for (int i = 0; i < 1 << 10; ++i) {
      floats.push_back(bit_cast<float>(static_cast<std::uint32_t>(random()) | 0x7f800000u));
    }
    std::vector<TypeParam> numbers(floats.size());
    narrow(floats.data(), numbers.data(), static_cast<std::int64_t>(floats.size()));
    for (std::size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(numbers[i].bits, TypeParam(floats[i]).bits)
          << floats[i] << " 0x" << std::hex << bit_cast<std::uint32_t>(floats[i]);
    }
  }
}

/// What store_group() makes of the numbers of a group, in the order of memory or of halves of words.
template <class T, lane_order Order>
auto stored_group(const std::array<float, group_registers * simd<float>::lanes>& numbers) {
  constexpr auto lanes = static_cast<std::size_t>(simd<float>::lanes);
  simd_group<float, group_registers> group;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t lane = i;
    if (Order == lane_order::lower_then_upper) {
      const std::size_t pair = i / (2 * lanes), within = i % (2 * lanes);
      lane = pair * 2 * lanes + within % 2 * lanes + within / 2;
    }
    auto native = group.of[lane / lanes].value();
    native[lane % lanes] = numbers[i];
    group.of[lane / lanes] = simd<float>(native);
  }
  std::array<T, group_registers * lanes> results;
  store_group<Order>(group, results.data());
  return results;
}

/// Groups with NaNs, or with subnormal numbers, may be narrowed in another way than those without.
TYPED_TEST(half_conversions, groups_with_and_without_special_numbers_narrow_to_the_same_bits) {
  std::mt19937 random(11);
  std::array<float, group_registers * simd<float>::lanes> numbers;
  const auto expect_same = [&](const auto& results, std::size_t place) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(results[i].bits, TypeParam(numbers[i]).bits) << "element " << i << ", special number at " << place;
    }
  };
  constexpr std::uint32_t sign_and_fraction = 0x807fffffu, infinity = 0x7f800000u;
  for (const std::uint32_t exponent : {infinity, 0u}) {
    for (std::size_t place = 0; place <= numbers.size(); ++place) {
      for (float& number : numbers) {
        do {
          number = bit_cast<float>(static_cast<std::uint32_t>(random()));
        } while (!std::isnormal(number));
      }
      if (place < numbers.size()) {
        numbers[place] = bit_cast<float>((static_cast<std::uint32_t>(random()) & sign_and_fraction) | exponent | 1u);
      }
      expect_same(stored_group<TypeParam, lane_order::memory>(numbers), place);
      if constexpr (std::is_same_v<TypeParam, bf16>) {
        expect_same(stored_group<TypeParam, lane_order::lower_then_upper>(numbers), place);
      }
    }
  }
}

TYPED_TEST(half_conversions, stretches_of_any_length_and_nothing_beyond) {
  constexpr int most = 2 * most_converted_at_once + 1;
  const TypeParam beyond(7.0f);
  for (int count = 0; count <= most; ++count) {
    std::vector<TypeParam> numbers(most + 1, beyond);
    std::vector<float> floats(most + 1, 7.0f);
    for (int i = 0; i < count; ++i) {
      floats[static_cast<std::size_t>(i)] = static_cast<float>(i) - 3.5f;
      numbers[static_cast<std::size_t>(i)] = TypeParam(static_cast<float>(i) - 3.5f);
    }
    if constexpr (has_vector_widening<TypeParam>) {
      std::vector<float> widened(most + 1, 7.0f);
      widen(numbers.data(), widened.data(), count);
      EXPECT_EQ(widened, floats) << count;
    }
    if constexpr (has_vector_narrowing<TypeParam>) {
      std::vector<TypeParam> narrowed(most + 1, beyond);
      narrow(floats.data(), narrowed.data(), count);
      for (std::size_t i = 0; i <= most; ++i) ASSERT_EQ(narrowed[i].bits, numbers[i].bits) << i << " of " << count;
    }
  }
}

/// Short and long arrays, in place and not, with every rest of a chunk: each element as if it were alone.
TYPED_TEST(half_conversions, elements_do_not_depend_on_their_place) {
  using space = Kokkos::DefaultHostExecutionSpace;
  const space instance;
  std::mt19937 random(3);
  for (const std::size_t n : {1, 2, 31, 32, 63, 64, 65, 100, 127, 128, 129, 191, 5000}) {
    const Kokkos::View<TypeParam*, Kokkos::HostSpace> x("x", n), y("y", n), in_place("in_place", n);
    for (std::size_t i = 0; i < n; ++i) in_place(i).bits = x(i).bits = static_cast<std::uint16_t>(random());
    scale(instance, 1.5f, x, y);
    scale(instance, 1.5f, in_place, in_place);
    instance.fence();
    for (std::size_t i = 0; i < n; ++i) {
      const TypeParam alone(1.5f * static_cast<float>(x(i)));
      ASSERT_EQ(y(i).bits, alone.bits) << i << " of " << n << ": " << x(i).bits;
      ASSERT_EQ(in_place(i).bits, alone.bits) << i << " of " << n << ", in place: " << x(i).bits;
    }
  }
}

}  // namespace
}  // namespace prumo::detail
