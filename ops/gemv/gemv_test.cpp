// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case's general test does not reach: operands of different layouts, NaN in what may not be read or in the
// inputs, what is refused. Every implementation is called by name.

#include "operation_test.hpp"
#include <prumo/gemv.hpp>
#include <prumo/spaces.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace prumo {
namespace {

using namespace tests;
using space = Kokkos::DefaultExecutionSpace;

template <class T>
using strided_vector = Kokkos::View<T*, Kokkos::LayoutStride, space>;

constexpr placing all_placings[] = {placing::right,       placing::left,    placing::padded_right,
                                    placing::padded_left, placing::strided, placing::strided_left};

template <class T>
strided_vector<T> place(std::size_t entries, std::size_t stride) {
  return filled_with_nan(strided_vector<T>("vector", Kokkos::LayoutStride(entries, stride)));
}

template <class T>
double value(const T& stored) {
  return static_cast<double>(static_cast<compute_t<T>>(stored));
}

/// alpha op(A) x + beta y for a y of `old`s, within the bound of ops/gemv/README.md.
template <class T, class A, class X, class Y>
void expect_product(bool transposed, double alpha, const A& a, const X& x, double beta, double old, const Y& y,
                    const std::string& what) {
  const auto matrix = tests::host_copy(a);
  const auto vector = tests::host_copy(x);
  const auto result = tests::host_copy(y);
  const std::size_t n = vector.extent(0);
  const double u = unit_roundoff<compute_t<T>>();
  for (std::size_t i = 0; i < result.extent(0); ++i) {
    double sum = 0;
    double size = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double term = value(transposed ? matrix(j, i) : matrix(i, j)) * value(vector(j));
      sum += term;
      size += std::abs(term);
    }
    const double expected = alpha * sum + beta * old;
    // Twice the bound of f64: the reference is no better.
    const double bound = 2 * static_cast<double>(n + 2) * u * (std::abs(alpha) * size + std::abs(beta * old)) +
                         (sizeof(T) == 2 ? 1.01 * unit_roundoff<T>() * std::abs(expected) + 1e-7 : 0);
    ASSERT_NEAR(value(result(i)), expected, bound) << what << ", entry " << i;
  }
}

template <class T>
class gemv_typed : public testing::Test {
 public:
  context<space> ctx;
  std::vector<std::string_view> implementations =
      gemv_implementations(detail::space_kind_of<space>::value, dtype_of<T>());

  /// Runs unless the implementation refuses; says whether it ran.
  template <class A, class X, class Y>
  bool run(std::string_view implementation, bool transposed, double alpha, const A& a, const X& x, double beta,
           const Y& y) {
    try {
      gemv(ctx, transposed ? transposition::yes : transposition::no, static_cast<compute_t<T>>(alpha), a, x,
           static_cast<compute_t<T>>(beta), y, {.implementation = implementation});
    } catch (const unsupported_error&) {
      return false;
    }
    ctx.fence();
    return true;
  }
};

TYPED_TEST_SUITE(gemv_typed, tests::all_scalars);

TYPED_TEST(gemv_typed, operands_of_every_layout_together) {
  using T = TypeParam;
  int vendor_runs = 0;
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{37, 45}, {300, 7}, {3, 600}}) {
    for (const placing how : all_placings) {
      for (const bool transposed : {false, true}) {
        const auto a = place<T>(transposed ? n : m, transposed ? m : n, how);
        set_uniform(a, 1);
        for (const std::size_t x_stride : {1, 3}) {
          const auto x = place<T>(n, x_stride);
          set_uniform(x, 2);
          for (const std::size_t y_stride : {1, 2}) {
            for (const std::string_view implementation : this->implementations) {
              const auto y = place<T>(m, y_stride);  // NaN, which beta = 0 may not read
              const bool ran = this->run(implementation, transposed, 0.5, a, x, 0, y);
              const bool strided = how == placing::strided || how == placing::strided_left;
              ASSERT_TRUE(ran || (implementation != "portable" && (sizeof(T) == 2 || strided))) << implementation;
              if (!ran) continue;
              vendor_runs += implementation != "portable";
              expect_product<T>(transposed, 0.5, a, x, 0, 0, y,
                                std::string(implementation) + ", placing " + std::to_string(static_cast<int>(how)) +
                                    (transposed ? ", transposed" : "") + ", strides " + std::to_string(x_stride) + " " +
                                    std::to_string(y_stride));
              if (this->HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
  const bool has_vendor = sizeof(T) > 2 && this->implementations.size() > 1;
  EXPECT_GE(vendor_runs, has_vendor ? 3 * 4 * 2 * 4 : 0);
}

TYPED_TEST(gemv_typed, what_lies_between_the_entries_stays) {
  using T = TypeParam;
  const auto a = place<T>(21, 13, placing::right);
  const auto x = place<T>(13, 1);
  set_uniform(a, 1);
  set_uniform(x, 2);
  for (const std::string_view implementation : this->implementations) {
    const auto y = place<T>(21, 3);
    if (!this->run(implementation, false, 1, a, x, 0, y)) continue;
    const auto memory = tests::host_copy(tests::span_of(y));
    for (std::size_t i = 0; i < memory.extent(0); ++i) {
      EXPECT_EQ(std::isnan(value(memory(i))), i % 3 != 0) << implementation << " " << i;
    }
  }
}

TYPED_TEST(gemv_typed, every_alpha_and_beta_over_short_and_long_rows) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{50, 5}, {40, 600}, {2, 70001}, {70001, 2}}) {
    for (const placing how : {placing::right, placing::left}) {
      const auto a = place<T>(m, n, how);
      const auto x = place<T>(n, 1);
      set_uniform(a, 1);
      set_uniform(x, 2);
      for (const double alpha : {1.0, -0.5, 0.0}) {
        for (const double beta : {1.0, 0.25, 0.0}) {
          for (const std::string_view implementation : this->implementations) {
            const auto y = place<T>(m, 1);
            Kokkos::deep_copy(y, static_cast<T>(2.0f));
            if (!this->run(implementation, false, alpha, a, x, beta, y)) continue;
            expect_product<T>(false, alpha, a, x, beta, 2, y, std::string(implementation));
            if (this->HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TYPED_TEST(gemv_typed, alpha_zero_does_not_read_a_or_x) {
  using T = TypeParam;
  const auto a = place<T>(9, 7, placing::right);  // NaN
  const auto x = place<T>(7, 1);
  for (const std::string_view implementation : this->implementations) {
    for (const double beta : {0.0, 0.5, 1.0}) {
      const auto y = place<T>(9, 1);
      if (beta != 0) Kokkos::deep_copy(y, static_cast<T>(3.0f));
      ASSERT_TRUE(this->run(implementation, false, 0, a, x, beta, y));
      const auto result = tests::host_copy(y);
      for (std::size_t i = 0; i < 9; ++i) ASSERT_EQ(value(result(i)), 3 * beta) << implementation;
    }
  }
}

TYPED_TEST(gemv_typed, nan_and_infinity_in_a_reach_their_entries_only) {
  using T = TypeParam;
  for (const placing how : {placing::right, placing::left}) {
    const auto a = place<T>(101, 39, how);
    const auto x = place<T>(39, 1);
    set_uniform(a, 1);
    set_uniform(x, 2);
    const auto copy = tests::host_copy(a);
    copy(3, 4) = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    copy(100, 38) = static_cast<T>(std::numeric_limits<float>::infinity());
    tests::write_back(a, copy);
    for (const std::string_view implementation : this->implementations) {
      const auto y = place<T>(101, 1);
      if (!this->run(implementation, false, 1, a, x, 0, y)) continue;
      const auto result = tests::host_copy(y);
      for (std::size_t i = 0; i < 101; ++i) {
        EXPECT_EQ(std::isnan(value(result(i))), i == 3) << implementation << " " << i;
        EXPECT_EQ(std::isinf(value(result(i))), i == 100) << implementation << " " << i;
      }
    }
  }
}

TYPED_TEST(gemv_typed, zeros_keep_their_sign_and_denormals_their_value) {
  using T = TypeParam;
  const auto a = place<T>(40, 1, placing::left);
  const auto x = place<T>(1, 1);
  const float tiny = std::is_same_v<T, f16> ? 0x1p-20f : std::numeric_limits<float>::denorm_min() * 1024 * 1024;
  Kokkos::deep_copy(a, static_cast<T>(tiny));
  Kokkos::deep_copy(x, static_cast<T>(1.0f));
  const auto y = place<T>(40, 1);
  ASSERT_TRUE(this->run("portable", false, 1, a, x, 0, y));
  EXPECT_EQ(value(tests::host_copy(y)(39)), value(static_cast<T>(tiny)));
  // Element by element: Kokkos fills memory with bytes of 0 for anything that equals 0.
  const auto zeros = tests::host_copy(y);
  for (std::size_t i = 0; i < 40; ++i) zeros(i) = static_cast<T>(-0.0f);
  tests::write_back(y, zeros);
  ASSERT_TRUE(this->run("portable", false, 0, a, x, 0.5, y));
  EXPECT_TRUE(std::signbit(value(tests::host_copy(y)(39))));
}

TYPED_TEST(gemv_typed, empty_extents) {
  using T = TypeParam;
  for (const std::string_view implementation : this->implementations) {
    const auto y = place<T>(4, 1);
    Kokkos::deep_copy(y, static_cast<T>(2.0f));
    ASSERT_TRUE(this->run(implementation, false, 1, place<T>(4, 0, placing::right), place<T>(0, 1), 0.5, y));
    EXPECT_EQ(value(tests::host_copy(y)(3)), 1.0);
    filled_with_nan(y);
    ASSERT_TRUE(this->run(implementation, false, 1, place<T>(4, 0, placing::right), place<T>(0, 1), 0, y));
    EXPECT_EQ(value(tests::host_copy(y)(3)), 0.0);
    EXPECT_TRUE(this->run(implementation, false, 1, place<T>(0, 5, placing::left), place<T>(5, 1), 0, place<T>(0, 1)));
    EXPECT_TRUE(this->run(implementation, true, 1, place<T>(5, 0, placing::left), place<T>(5, 1), 0, place<T>(0, 1)));
  }
}

TYPED_TEST(gemv_typed, one_number_for_all_of_x) {
  using T = TypeParam;
  const auto a = place<T>(30, 20, placing::right);
  set_uniform(a, 1);
  const Kokkos::View<T, space> single("single");
  Kokkos::deep_copy(single, static_cast<T>(0.5f));
  const Kokkos::View<T*, Kokkos::LayoutStride, space, Kokkos::MemoryUnmanaged> x(single.data(),
                                                                                 Kokkos::LayoutStride(20, 0));
  const auto same = place<T>(20, 1);
  Kokkos::deep_copy(same, static_cast<T>(0.5f));
  const auto y = place<T>(30, 1);
  gemv(this->ctx, transposition::no, 1, a, x, 0, y);
  this->ctx.fence();
  expect_product<T>(false, 1, a, same, 0, 0, y, "a stride of 0");
}

using matrix = Kokkos::View<float**, Kokkos::LayoutRight, space>;
using vector = Kokkos::View<float*, space>;

TEST(gemv_errors, extents_that_do_not_fit) {
  context<space> ctx;
  const matrix a("my a", 3, 4);
  const vector x("my x", 5);
  const vector y("my y", 3);
  EXPECT_THAT(tests::message_of<shape_error>([&] { gemv(ctx, transposition::no, 1, a, x, 0, y); }),
              AllOf(testing::StartsWith("prumo::gemv: expected A [m x n], x [n], and y [m]; got "),
                    HasSubstr("A 'my a': f32 [3 x 4]"), HasSubstr("x 'my x': f32 [5]")));
  EXPECT_THAT(tests::message_of<shape_error>([&] { gemv(ctx, transposition::yes, 1, a, x, 0, y); }),
              HasSubstr("expected A [n x m], transposed"));
  EXPECT_NO_THROW(gemv(ctx, transposition::yes, 1, a, y, 0, vector("", 4)));
}

TEST(gemv_errors, overlap) {
  context<space> ctx;
  const matrix a("a", 4, 4);
  const vector x("x", 4);
  EXPECT_THAT(tests::message_of<alias_error>([&] { gemv(ctx, transposition::no, 1, a, x, 0, x); }),
              HasSubstr("prumo::gemv"));
  const vector row(a.data(), 4);
  EXPECT_THROW(gemv(ctx, transposition::no, 1, a, x, 0, row), alias_error);
}

TEST(gemv_errors, implementations_that_there_are_not) {
  context<space> ctx;
  const matrix a("a", 3, 4);
  const vector x("x", 4);
  const vector y("y", 3);
  EXPECT_THAT(tests::message_of<argument_error>(
                  [&] { gemv(ctx, transposition::no, 1, a, x, 0, y, {.implementation = "fastest"}); }),
              AllOf(HasSubstr("prumo::gemv: no implementation is called 'fastest'"), HasSubstr("portable")));
}

}  // namespace
}  // namespace prumo
