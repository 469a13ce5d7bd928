// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which elements a part of the device's reading probe has, whatever the length and the alignment: its kernel is plain
// C++ and runs here as it does there.

#include "read_kernel.hpp"

#include <gtest/gtest.h>

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

TYPED_TEST(read_runs, every_element_is_in_the_sum_of_its_part) {
  using partition = read_partition<false>;
  constexpr std::int64_t longest = (std::int64_t{1} << 24) + 5;
  std::vector<TypeParam> numbers(longest + 1);
  for (const std::int64_t offset : {0, 1}) {  // the second: no run is aligned
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, std::int64_t{1003},
                                 std::int64_t{100003}, std::int64_t{(1 << 22) - 1}, std::int64_t{1 << 22}, longest}) {
      TypeParam* const source = numbers.data() + offset;
      for (std::int64_t i = 0; i < n; ++i) source[i] = number_at<TypeParam>(i);
      const std::int64_t parts = partition::parts(n);
      std::vector<TypeParam> found(static_cast<std::size_t>(parts)), expected(found.size());
      const read_runs_kernel<TypeParam> kernel{source, n, found.data()};
      ASSERT_EQ(kernel.blocks(), parts);
      for (std::int64_t part = 0; part < parts; ++part) kernel(part);
      for (std::int64_t i = 0; i < n; ++i) {
        expected[static_cast<std::size_t>(i / partition::run_length % parts)] += number_at<TypeParam>(i);
      }
      ASSERT_EQ(found, expected) << n << " from " << offset;
    }
  }
}

}  // namespace
}  // namespace prumo::probe
