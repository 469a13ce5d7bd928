// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a comparison says of entries that were never written, and of those that are wrong.

#include "compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prumo::cases::detail {
namespace {

using testing::HasSubstr;

array_ref array_of(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides) {
  array_ref array;
  array.rank = static_cast<int>(extents.size());
  std::ranges::copy(extents, array.extents);
  std::ranges::copy(strides, array.strides);
  return array;
}

/// An output on the host whose every entry is `value`.
template <class T>
struct written_output {
  std::vector<T> memory;
  host_output description;

  written_output(const std::vector<std::int64_t>& extents, const element_order& order, dtype type, T value) {
    description.specification.name = "y";
    description.specification.role = array_role::output;
    description.specification.extents = extents;
    description.type = type;
    description.order = order;
    description.count = 1;
    for (const std::int64_t extent : extents) description.count *= extent;
    memory.assign(static_cast<std::size_t>(order.offset(description.count - 1)) + 1, value);
    description.data = memory.data();
  }
  T& operator[](std::int64_t index) { return memory[static_cast<std::size_t>(description.order.offset(index))]; }
};

/// Compares with what every entry should be, in four parts.
template <class T>
check_result compare_with(const written_output<T>& output, double value) {
  const std::int64_t count = output.description.count;
  const auto reference = [&](std::int64_t part, std::vector<reference_entry>& entries) {
    for (std::int64_t index = part * count / 4; index < (part + 1) * count / 4; ++index) {
      entries.push_back({0, index, value, 0.25});
    }
    return std::span<const reference_entry>(entries);
  };
  return compare({output.description}, 4, 4, reference);
}

template <class T>
class comparison : public testing::Test {
 public:
  static constexpr dtype type = sizeof(T) == 8             ? dtype::f64
                                : std::is_same_v<T, f16>   ? dtype::f16
                                : std::is_same_v<T, float> ? dtype::f32
                                                           : dtype::bf16;
};
using types = testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(comparison, types);

TYPED_TEST(comparison, finds_entries_that_were_never_written) {
  using T = TypeParam;
  // One thread's work and several threads', rows that are shorter than it, and gaps between elements.
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> shapes = {
      {{7}, {1}},
      {{300001}, {1}},
      {{100003}, {2}},
      {{1000, 333}, {2 * 333 + 3, 2}},
      {{1000, 333}, {1, 1000}},
      {{7, 11, 13, 17}, {1, 7, 7 * 11, 7 * 11 * 13}},
      {{2, 3, 2, 1, 2, 3, 2, 50}, strides_of({2, 3, 2, 1, 2, 3, 2, 50}, array_layout::strided)},
  };
  for (const auto& [extents, strides] : shapes) {
    const element_order order(array_of(extents, strides));
    written_output<T> output(extents, order, TestFixture::type, T(1.0f));
    const std::int64_t count = output.description.count;
    const check_result all_written = compare_with(output, 1);
    EXPECT_TRUE(all_written.verified) << all_written.message;
    EXPECT_EQ(all_written.checked, static_cast<std::uint64_t>(count));
    for (const std::int64_t first : {std::int64_t{0}, count / 2, count - 1}) {
      written_output<T> broken(extents, order, TestFixture::type, T(1.0f));
      broken[first] = poison<T>();
      broken[count - 1] = poison<T>();
      const check_result found = compare_with(broken, 1);
      EXPECT_FALSE(found.verified);
      EXPECT_EQ(found.message, std::to_string(first == count - 1 ? 1 : 2) + " of " + std::to_string(count) +
                                   " entries of y were never written, the first at " + std::to_string(first));
    }
  }
}

TEST(strides_of, any_rank) {
  using strides = std::vector<std::int64_t>;
  EXPECT_EQ(strides_of({}, array_layout::strided), strides{});
  EXPECT_EQ(strides_of({5}, array_layout::strided), strides{2});
  EXPECT_EQ(strides_of({3, 5}, array_layout::right), (strides{5, 1}));
  EXPECT_EQ(strides_of({3, 5}, array_layout::left), (strides{1, 3}));
  EXPECT_EQ(strides_of({3, 5}, array_layout::strided), (strides{13, 2}));
  EXPECT_EQ(strides_of({2, 3, 4, 5}, array_layout::right), (strides{60, 20, 5, 1}));
  EXPECT_EQ(strides_of({2, 3, 4, 5}, array_layout::left), (strides{1, 2, 6, 24}));
  EXPECT_EQ(strides_of({2, 3, 4, 5}, array_layout::strided), (strides{168, 55, 13, 2}));
  EXPECT_EQ(strides_of({2, 0, 4}, array_layout::right), (strides{1, 4, 1}));
}

/// Every layout of every rank, against the sum over the dimensions.
TEST(element_order, finds_every_element_of_any_rank) {
  const std::vector<std::int64_t> longest = {2, 3, 1, 4, 2, 1, 3, 5};
  for (std::size_t rank = 0; rank <= longest.size(); ++rank) {
    const std::vector<std::int64_t> extents(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(rank));
    for (const array_layout layout : {array_layout::right, array_layout::left, array_layout::strided}) {
      const std::vector<std::int64_t> strides = strides_of(extents, layout);
      const element_order order(array_of(extents, strides));
      std::int64_t count = 1;
      for (const std::int64_t extent : extents) count *= extent;
      for (std::int64_t index = 0; index < count; ++index) {
        std::int64_t rest = index, place = 0;
        for (std::size_t dimension = rank; dimension-- > 0; rest /= extents[dimension]) {
          place += rest % extents[dimension] * strides[dimension];
        }
        ASSERT_EQ(order.offset(index), place) << "element " << index << " of rank " << rank;
      }
      if (layout == array_layout::right) {
        EXPECT_EQ(order.rank, 1) << "a contiguous array of rank " << rank;
      }
    }
  }
}

TYPED_TEST(comparison, tells_a_computed_nan_from_one_that_was_left) {
  using T = TypeParam;
  written_output<T> output({1000}, element_order(array_of({1000}, {1})), TestFixture::type, T(1.0f));
  output[10] = T(std::numeric_limits<float>::quiet_NaN());
  const check_result found = compare_with(output, 1);
  EXPECT_FALSE(found.verified);
  EXPECT_THAT(found.message, HasSubstr("y[10] is nan, expected 1"));
}

TYPED_TEST(comparison, names_the_worst_entry) {
  using T = TypeParam;
  written_output<T> output({1000}, element_order(array_of({1000}, {1})), TestFixture::type, T(1.0f));
  output[10] = T(1.5f);
  output[700] = T(3.0f);
  const check_result found = compare_with(output, 1);
  EXPECT_FALSE(found.verified);
  EXPECT_EQ(found.error, 2 / 0.25);
  EXPECT_EQ(found.message, "y[700] is 3, expected 1 within 0.25");
}

}  // namespace
}  // namespace prumo::cases::detail
