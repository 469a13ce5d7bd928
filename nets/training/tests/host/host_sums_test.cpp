// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of lanes, and the bounds of a convolution's sums, in the steps of a host.

#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#include "fused/host/host_unfolded.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace prumo::nets {
namespace {

/// Small integers, so that all sums are exact.
template <class C, int Count>
std::vector<C> some_numbers() {
  std::vector<C> numbers;
  for (int i = 0; i < Count * simd<C>::lanes; ++i) numbers.push_back(static_cast<C>((7 * i + i / 5) % 101 - 50));
  return numbers;
}

/// The sum of `count` neighbours.
template <class C>
C plain_sum(const C* from, int count) {
  C sum = 0;
  for (int i = 0; i < count; ++i) sum += from[i];
  return sum;
}

template <class C, int Count>
void expect_sums_of_lanes() {
  constexpr int lanes = simd<C>::lanes;
  const std::vector<C> numbers = some_numbers<C, Count>();
  simd<C> values[Count];
  for (int i = 0; i < Count; ++i) values[i] = simd<C>::load(numbers.data() + i * lanes);
  C sums[Count + lanes];
  store_sums(values, sums);
  for (int i = 0; i < Count; ++i) EXPECT_EQ(sums[i], plain_sum(&numbers[static_cast<std::size_t>(i * lanes)], lanes));
}

template <class C>
void expect_all_sums() {
  [&]<std::size_t... Less>(std::index_sequence<Less...>) {
    (expect_sums_of_lanes<C, static_cast<int>(Less) + 1>(), ...);
  }(std::make_index_sequence<18>());
  if constexpr (simd<C>::lanes >= 4) {
    const std::vector<C> numbers = some_numbers<C, 4>();
    simd<C> values[4];
    for (int i = 0; i < 4; ++i) values[i] = simd<C>::load(numbers.data() + i * simd<C>::lanes);
    C sums[simd<C>::lanes];
    sums_of_fours(values).store(sums);
    for (int i = 0; i < simd<C>::lanes; ++i) {
      EXPECT_EQ(sums[i], plain_sum(&numbers[static_cast<std::size_t>(4 * i)], 4)) << i;
    }
  }
}

TEST(host_sums, of_lanes_are_in_order) {
  expect_all_sums<float>();
  expect_all_sums<double>();
}

/// A layer of two channels with filters of 3 x 3 taps, and its weights, of which none is in another's place.
struct small_filters {
  step_layer layer;
  std::vector<float> copies = std::vector<float>(128, 1e30F);
  static constexpr std::size_t bias = 100, taps = 9, maps_apart = 4;

  small_filters() {
    layer.in_channels = 2;
    layer.out_channels = 2;
    layer.padded_out = maps_apart;
    layer.forward_copy = 0;
    layer.forward_apart = maps_apart * taps;
    layer.bias_copy = bias;
    for (std::size_t map = 0; map < 2; ++map) {
      bias_of(map) = 10;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        weight(0, tap, map) = weight(1, tap, map) = tap % 2 == 0 ? 3.0F : -3.0F;
      }
    }
  }
  float& weight(std::size_t channel, std::size_t tap, std::size_t map) {
    return copies[(channel * taps + tap) * maps_apart + map];
  }
  float& bias_of(std::size_t map) { return copies[bias + map]; }
  bool are_bounded() const { return have_bounded_sums<3, 2>(layer, copies.data(), 0); }
};

TEST(host_sums, of_magnitudes_bound_a_convolution) {
  // 18 weights of magnitude 3 and a bias of 10.
  ASSERT_EQ(sigmoid_bound, 64);
  EXPECT_TRUE(small_filters().are_bounded());
  small_filters without_bias;
  without_bias.layer.bias_copy = -1;
  EXPECT_TRUE(without_bias.are_bounded());
  for (std::size_t map = 0; map < 2; ++map) {
    for (const float value :
         {3.5F, -1e9F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      small_filters with_weight, with_bias;
      with_weight.weight(1, 8, map) = value;
      EXPECT_FALSE(with_weight.are_bounded()) << map << ", " << value;
      with_bias.bias_of(map) = value > 0 ? 7 + value : value;
      EXPECT_FALSE(with_bias.are_bounded()) << map << ", " << value;
    }
  }
}

}  // namespace
}  // namespace prumo::nets
#endif
