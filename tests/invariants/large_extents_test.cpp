// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays of more than 2^31 elements, where 32-bit indices would wrap. Skipped where memory is short.

#include "system_state.hpp"
#include <prumo/prumo.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prumo {
namespace {

using exec = Kokkos::DefaultHostExecutionSpace;

constexpr std::int64_t boundary = std::int64_t{1} << 31;
constexpr std::int64_t count = boundary + 5;

/// Elements where a wrapped or truncated index would be seen, each with a mark of its own that bf16 and f16
/// hold.
struct mark {
  std::int64_t index;
  float value;
};
constexpr mark marks[] = {{0, 1}, {boundary / 2, 2}, {boundary - 1, 4}, {boundary, 8}, {count - 1, 16}};
constexpr float mark_total = 31;

template <class T>
struct count_other {
  const T* data;
  float expected;
  void operator()(std::int64_t index, std::int64_t& others) const {
    others += static_cast<float>(data[index]) != expected ? 1 : 0;
  }
};

template <class T>
std::int64_t others_than(float expected, const T* data) {
  std::int64_t others = 0;
  Kokkos::parallel_reduce("prumo::tests::count_other",
                          Kokkos::RangePolicy<exec, Kokkos::IndexType<std::int64_t>>(0, count),
                          count_other<T>{data, expected}, others);
  return others;
}

/// Why the test had better not run here, or an empty string.
std::string reason_to_skip() {
#if !defined(__OPTIMIZE__)
  return "compiled without optimisation, which would take minutes";
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "compiled with a sanitizer, which would take minutes and twice the memory";
#endif
  constexpr std::int64_t needed = 2 * count;
  constexpr std::int64_t reserve = std::int64_t{3} << 30;
  const auto available = machine::host::memory_available(machine::host::system_files());
  if (!available) return "the system does not tell how much memory is available";
  if (*available >= needed + reserve) return {};
  return "needs " + std::to_string(needed) + " bytes of memory and leaves " + std::to_string(reserve) +
         " to others; available are " + std::to_string(*available);
}

template <class T>
class large_extents : public testing::Test {
 protected:
  static Kokkos::View<T*, Kokkos::HostSpace>& memory() {
    static Kokkos::View<T*, Kokkos::HostSpace> shared;
    return shared;
  }

  void SetUp() override {
    if (const std::string reason = reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    // The same memory for all tests: the system takes longer to hand it out than they run.
    if (memory().size() == 0) {
      memory() = Kokkos::View<T*, Kokkos::HostSpace>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "x"), count);
    }
    x_ = memory();
  }
  static void TearDownTestSuite() { memory() = {}; }

  void place_marks() {
    for (const mark& each : marks) x_(static_cast<std::size_t>(each.index)) = T(each.value);
  }

  float value_of(const Kokkos::View<T, Kokkos::HostSpace>& view) {
    ctx_.fence();
    return static_cast<float>(view());
  }

  context<exec> ctx_;
  Kokkos::View<T*, Kokkos::HostSpace> x_;
  Kokkos::View<T, Kokkos::HostSpace> total_{"total"};
};

using types = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(large_extents, types);

TYPED_TEST(large_extents, fill_scale_and_sum) {
  fill(this->ctx_, 1.5f, this->x_);
  this->ctx_.fence();
  EXPECT_EQ(others_than(1.5f, this->x_.data()), 0);

  scale(this->ctx_, 2.0f, this->x_, this->x_);
  this->ctx_.fence();
  EXPECT_EQ(others_than(3.0f, this->x_.data()), 0);

  fill(this->ctx_, 0.0f, this->x_);
  this->ctx_.fence();
  this->place_marks();
  sum(this->ctx_, this->x_, this->total_);
  EXPECT_EQ(this->value_of(this->total_), mark_total);
  max(this->ctx_, this->x_, this->total_);
  EXPECT_EQ(this->value_of(this->total_), 16.0f);
  const Kokkos::View<std::int64_t, Kokkos::HostSpace> place("place");
  argmax(this->ctx_, this->x_, place);
  this->ctx_.fence();
  EXPECT_EQ(place(), count - 1);

  // As rows, the last of which ends beyond 2^31.
  constexpr std::size_t columns = static_cast<std::size_t>(boundary / 2 + 2);
  const Kokkos::View<TypeParam**, Kokkos::LayoutRight, Kokkos::HostSpace> matrix(this->x_.data(), 2, columns);
  const Kokkos::View<TypeParam*, Kokkos::HostSpace> of_rows("of_rows", 2);
  sum_rows(this->ctx_, matrix, of_rows);
  this->ctx_.fence();
  EXPECT_EQ(static_cast<float>(of_rows(0)), 1.0f + 2.0f);
  EXPECT_EQ(static_cast<float>(of_rows(1)), 4.0f + 8.0f);
}

/// Every second element: the offsets pass 2^31, the extents do not.
TYPED_TEST(large_extents, strided_offsets) {
  fill(this->ctx_, 0.0f, this->x_);
  this->ctx_.fence();
  this->place_marks();
  const Kokkos::View<TypeParam*, Kokkos::LayoutStride, Kokkos::HostSpace> even(
      this->x_.data(), Kokkos::LayoutStride(static_cast<std::size_t>(count / 2 + 1), 2));
  sum(this->ctx_, even, this->total_);
  EXPECT_EQ(this->value_of(this->total_), 1.0f + 2.0f + 8.0f + 16.0f);
  scale(this->ctx_, 0.5f, even, even);
  this->ctx_.fence();
  EXPECT_EQ(static_cast<float>(this->x_(static_cast<std::size_t>(boundary))), 4.0f);
  EXPECT_EQ(static_cast<float>(this->x_(static_cast<std::size_t>(count - 1))), 8.0f);
  EXPECT_EQ(static_cast<float>(this->x_(static_cast<std::size_t>(boundary - 1))), 4.0f);
}

/// Rows that lie so far apart that the last one crosses 2^31: a matrix times a vector, and a batch of products.
TYPED_TEST(large_extents, products_of_rows_far_apart) {
  using T = TypeParam;
  fill(this->ctx_, 0.0f, this->x_);
  this->ctx_.fence();
  this->place_marks();
  constexpr std::size_t rows = 65535, columns = 7, distance = 32769;
  static_assert((rows - 1) * distance + columns == static_cast<std::size_t>(count));
  const Kokkos::View<T**, Kokkos::LayoutStride, Kokkos::HostSpace> matrix(
      this->x_.data(), Kokkos::LayoutStride(rows, distance, columns, 1));
  const Kokkos::View<T*, Kokkos::HostSpace> ones("ones", rows), of_rows("of_rows", rows),
      of_columns("columns", columns);
  fill(this->ctx_, 1.0f, ones);
  const auto first_ones = Kokkos::subview(ones, std::pair<std::size_t, std::size_t>{0, columns});
  gemv(this->ctx_, transposition::no, 1, matrix, first_ones, 0, of_rows);
  gemv(this->ctx_, transposition::yes, 1, matrix, ones, 0, of_columns);
  this->ctx_.fence();
  EXPECT_EQ(static_cast<float>(of_rows(0)), 1.0f);
  EXPECT_EQ(static_cast<float>(of_rows(32767)), 2.0f);
  EXPECT_EQ(static_cast<float>(of_rows(rows - 1)), 4.0f + 8.0f + 16.0f);
  EXPECT_EQ(static_cast<float>(of_columns(1)), 2.0f + 4.0f);
  EXPECT_EQ(static_cast<float>(of_columns(2)), 8.0f);
  EXPECT_EQ(static_cast<float>(of_columns(columns - 1)), 16.0f);

  const Kokkos::View<T***, Kokkos::LayoutStride, Kokkos::HostSpace> batch(
      this->x_.data(), Kokkos::LayoutStride(rows, distance, 1, columns, columns, 1));
  const Kokkos::View<T***, Kokkos::LayoutStride, Kokkos::HostSpace> shared(
      ones.data(), Kokkos::LayoutStride(rows, 0, columns, 1, 1, 1));
  const Kokkos::View<T***, Kokkos::LayoutRight, Kokkos::HostSpace> products("products", rows, 1, 1);
  gemm(this->ctx_, transposition::no, transposition::no, 1, batch, shared, 0, products);
  this->ctx_.fence();
  EXPECT_EQ(static_cast<float>(products(32767, 0, 0)), 2.0f);
  EXPECT_EQ(static_cast<float>(products(rows - 1, 0, 0)), 4.0f + 8.0f + 16.0f);
}

}  // namespace
}  // namespace prumo
