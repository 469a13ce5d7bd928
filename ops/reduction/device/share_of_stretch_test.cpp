// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shares of a group's threads have each element of a stretch once, wherever it begins and however many threads
// there are. Here a host computes one share after the other.

#include "reduction_device_share.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prumo::detail {
namespace {

/// What a group of threads finds together.
template <class Policy, class Threads>
typename Policy::accumulator of_group(const Policy& policy, Threads threads, const typename Policy::stored* first,
                                      std::int64_t count, std::int64_t stride) {
  typename Policy::accumulator found = policy.identity();
  for (int lane = 0; lane < static_cast<int>(threads); ++lane) {
    found = policy.combine(found,
                           share_of_stretch<Policy, Threads>(policy, lane, threads, 0, 1).reduce(first, count, stride));
  }
  return found;
}

/// Small whole numbers that differ from their neighbours. On both sides lies a number that would change each result.
template <class T>
class guarded_stretch {
 public:
  guarded_stretch(std::int64_t begin, std::int64_t count, std::int64_t stride)
      : elements_(static_cast<std::size_t>(begin + (count + 1) * stride + 16), T(1000.0f)), begin_(begin + 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(i * 7 % 13 - 6);
      elements_[static_cast<std::size_t>(begin_ + i * stride)] = T(value);
      sum += value;
      if (i == 0 || value > largest) {
        largest = value;
        position = i;
      }
    }
  }

  const T* first() const { return elements_.data() + begin_; }

  float sum = 0;
  float largest = 0;
  std::int64_t position = 0;

 private:
  std::vector<T> elements_;
  std::int64_t begin_;
};

template <class T>
class shares_of_stretches : public testing::Test {};
using types = testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(shares_of_stretches, types);

TYPED_TEST(shares_of_stretches, have_each_element_once) {
  using T = TypeParam;
  const auto sums = policy_of<reduction::sum, T>();
  const auto maxima = policy_of<reduction::max, T>();
  const auto positions = policy_of<reduction::argmax, T>();
  for (const std::int64_t stride : {1, 3}) {
    for (const std::int64_t count : {0, 1, 2, 7, 8, 9, 31, 64, 67, 250, 1211}) {
      for (std::int64_t begin = 0; begin < 9; ++begin) {
        const guarded_stretch<T> stretch(begin, count, stride);
        for (const int threads : {1, 2, 4, 8, 32, 256}) {
          SCOPED_TRACE(testing::Message()
                       << threads << " threads, " << count << " elements " << stride << " apart, from " << begin);
          ASSERT_EQ(static_cast<float>(of_group(sums, threads, stretch.first(), count, stride)), stretch.sum);
          if (count == 0) continue;
          const auto largest = of_group(maxima, threads, stretch.first(), count, stride);
          ASSERT_EQ(static_cast<float>(maxima.finish(largest, count)), stretch.largest);
          const auto first = of_group(positions, threads, stretch.first(), count, stride);
          ASSERT_EQ(positions.finish(first, count), stretch.position);
        }
      }
    }
  }
}

}  // namespace
}  // namespace prumo::detail
