// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the threads of the device's reading probe read, whatever the length: that part of its kernel is plain C++ and
// runs here as it does there.

#include "read_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace prumo::probe {
namespace {

template <class T>
class read_runs : public testing::Test {};
using probed_types = testing::Types<float, double>;
TYPED_TEST_SUITE(read_runs, probed_types);

/// Small whole numbers, whose sums are exact in any order.
template <class T>
T number_at(std::int64_t index) {
  return static_cast<T>(index * 7 % 23 - 11);
}

TYPED_TEST(read_runs, every_element_is_in_the_sum_of_one_thread) {
  constexpr int elements = detail::device_pack_elements<TypeParam>;
  constexpr std::int64_t longest = (std::int64_t{1} << 23) + 5;
  std::vector<TypeParam> numbers(longest);
  for (std::int64_t i = 0; i < longest; ++i) numbers[static_cast<std::size_t>(i)] = number_at<TypeParam>(i);
  for (const read_way way : read_ways) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, std::int64_t{1003},
                                 std::int64_t{100003}, std::int64_t{(1 << 22) - 1}, std::int64_t{1 << 22}, longest}) {
      for (const bool is_aligned : {true, false}) {  // without whole packs all elements are read one by one
        const read_shares shares = read_shares::of(way, is_aligned ? n / elements : 0);
        const read_device_kernel<TypeParam, false> kernel(numbers.data(), n, shares, nullptr, 0);
        ASSERT_EQ(kernel.blocks() % read_part_threads, 0);
        std::int64_t sum = 0, expected = 0;
        for (std::int64_t thread = 0; thread < kernel.blocks(); ++thread) {
          sum += static_cast<std::int64_t>(kernel.sum_of(thread));
        }
        for (std::int64_t i = 0; i < n; ++i) expected += static_cast<std::int64_t>(number_at<TypeParam>(i));
        ASSERT_EQ(sum, expected) << read_way_names[static_cast<int>(way)] << ' ' << n << ' ' << is_aligned;
      }
    }
  }
}

TYPED_TEST(read_runs, kernels_that_know_their_step_read_the_same) {
  std::vector<TypeParam> numbers(1 << 20);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at<TypeParam>(static_cast<std::int64_t>(i));
  const std::int64_t packs = std::ssize(numbers) / detail::device_pack_elements<TypeParam>;
  for (const read_way way : {read_way::tiles, read_way::segments}) {
    const read_shares shares = read_shares::of(way, packs);
    const read_device_kernel<TypeParam, true> knowing(numbers.data(), std::ssize(numbers), shares, nullptr, 0);
    const read_device_kernel<TypeParam, false> asking(numbers.data(), std::ssize(numbers), shares, nullptr, 0);
    for (std::int64_t thread = 0; thread < knowing.blocks(); ++thread) {
      ASSERT_EQ(knowing.sum_of(thread), asking.sum_of(thread)) << thread;
    }
  }
}

/// Without the exchange between threads, which a host does not have, a thread whose number is a multiple of
/// read_part_threads writes its own sum to the entry of its part. The input is zero, so every entry must be.
TYPED_TEST(read_runs, every_entry_of_the_output_is_written) {
  constexpr TypeParam unwritten = 7;
  for (std::int64_t n = 1; n < (std::int64_t{1} << 22); n += 1 + n / 3) {
    const std::vector<TypeParam> numbers(static_cast<std::size_t>(n));
    for (const read_way way : read_ways) {
      const read_shares shares = read_shares::of(way, n / detail::device_pack_elements<TypeParam>);
      const std::int64_t entries = read_entries(n);
      ASSERT_LE(shares.parts(), entries) << read_way_names[static_cast<int>(way)] << ' ' << n;
      std::vector<TypeParam> sums(static_cast<std::size_t>(entries + 1), unwritten);
      const read_device_kernel<TypeParam, false> kernel(numbers.data(), n, shares, sums.data(), entries);
      for (std::int64_t thread = 0; thread < kernel.blocks(); ++thread) kernel(thread);
      ASSERT_EQ(std::ranges::count(sums, TypeParam(0)), entries) << read_way_names[static_cast<int>(way)] << ' ' << n;
      ASSERT_EQ(sums.back(), unwritten) << "beyond the output";
    }
  }
}

TEST(read_shares, of_512_MiB_are_as_many_teams_as_run_at_once) {
  const std::int64_t packs = (std::int64_t{512} << 20) / 16;
  EXPECT_EQ(read_shares::of(read_way::segments, packs).teams, 512);
  EXPECT_EQ(read_shares::of(read_way::rounds, packs).teams, 512);
  EXPECT_EQ(read_shares::of(read_way::tiles, packs).teams, packs / read_shares::round);
}

}  // namespace
}  // namespace prumo::probe
