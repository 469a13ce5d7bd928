// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a comparison says of entries that were never written, and of those that are wrong.

#include "compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prumo::cases::detail {
namespace {

using testing::HasSubstr;

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
  const std::vector<std::pair<std::vector<std::int64_t>, element_order>> shapes = {
      {{7}, {.columns = 7}},
      {{300001}, {.columns = 300001}},
      {{100003}, {.columns = 100003, .row_stride = 0, .column_stride = 2}},
      {{1000, 333}, {.columns = 333, .row_stride = 2 * 333 + 3, .column_stride = 2}},
      {{1000, 333}, {.columns = 333, .row_stride = 1, .column_stride = 1000}},
  };
  for (const auto& [extents, order] : shapes) {
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

TYPED_TEST(comparison, tells_a_computed_nan_from_one_that_was_left) {
  using T = TypeParam;
  written_output<T> output({1000}, {.columns = 1000}, TestFixture::type, T(1.0f));
  output[10] = T(std::numeric_limits<float>::quiet_NaN());
  const check_result found = compare_with(output, 1);
  EXPECT_FALSE(found.verified);
  EXPECT_THAT(found.message, HasSubstr("y[10] is nan, expected 1"));
}

TYPED_TEST(comparison, names_the_worst_entry) {
  using T = TypeParam;
  written_output<T> output({1000}, {.columns = 1000}, TestFixture::type, T(1.0f));
  output[10] = T(1.5f);
  output[700] = T(3.0f);
  const check_result found = compare_with(output, 1);
  EXPECT_FALSE(found.verified);
  EXPECT_EQ(found.error, 2 / 0.25);
  EXPECT_EQ(found.message, "y[700] is 3, expected 1 within 0.25");
}

}  // namespace
}  // namespace prumo::cases::detail
