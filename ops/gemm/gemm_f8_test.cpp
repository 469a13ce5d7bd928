// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of f8: on devices that have them, and how the others refuse. What is added to each test of the other types
// is where the operands lie and what C's type is.

#include "operation_test.hpp"
#include "registered_cases.hpp"
#include <prumo/case/prepared_case.hpp>
#include <prumo/case/product_reference.hpp>
#include <prumo/gemm.hpp>
#include <prumo/spaces.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace prumo {
namespace {

using namespace tests;
using space = Kokkos::DefaultExecutionSpace;
using host = Kokkos::DefaultHostExecutionSpace;

template <class T, class Space = space>
using rows_of = Kokkos::View<T**, Kokkos::LayoutRight, Space>;

/// alpha A B' + beta old, where sums of products are so short that no unit loses a bit of them: the factors and one
/// rounding to bf16 are left.
template <class A, class B, class C>
void expect_product(double alpha, const A& a, const B& b, double beta, double old, const C& c) {
  const auto left = tests::host_copy(a);
  const auto right = tests::host_copy(b);
  const auto result = tests::host_copy(c);
  for (std::size_t i = 0; i < c.extent(0); ++i) {
    for (std::size_t j = 0; j < c.extent(1); ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < a.extent(1); ++p) {
        sum += static_cast<double>(float(left(i, p))) * static_cast<double>(float(right(j, p)));
      }
      const double expected = alpha * sum + beta * old;
      const double bound = 0x1p-8 * std::abs(expected) + 0x1p-20 * (std::abs(alpha * sum) + std::abs(beta * old));
      ASSERT_LE(std::abs(static_cast<double>(float(result(i, j))) - expected), bound) << i << ", " << j;
    }
  }
}

TEST(gemm_f8, host_says_where_there_is_one) {
  context<host> ctx;
  const rows_of<f8_e4m3, host> a("a", 16, 16);
  const rows_of<f8_e4m3, host> b("b", 16, 16);
  const rows_of<bf16, host> c("c", 16, 16);
  const auto multiply = [&](const gemm_options& options) {
    return tests::message_of<unsupported_error>(
        [&] { gemm(ctx, transposition::no, transposition::yes, 1, a, b, 0, c, options); });
  };
  EXPECT_THAT(multiply({}),
              AllOf(StartsWith("prumo::gemm: nothing computes f8_e4m3 m = 16, n = 16, k = 16, mode strict in"),
                    HasSubstr("portable: f8_e4m3 is multiplied by cuBLASLt only, on NVIDIA GPUs of compute capability "
                              "8.9 and later")));
  EXPECT_THAT(multiply({.implementation = "portable"}), HasSubstr("(portable: f8_e4m3 is multiplied by cuBLASLt only"));
}

TEST(gemm_f8, nothing_but_scaling_needs_no_device_for_it) {
  context<space> ctx;
  const rows_of<f8_e4m3> a("a", 5, 3);
  const rows_of<f8_e4m3> b("b", 7, 3);
  Kokkos::deep_copy(a, f8_e4m3(std::numeric_limits<float>::quiet_NaN()));
  for (const float beta : {0.0f, 0.5f, 1.0f}) {
    const rows_of<bf16> c("c", 5, 7);
    Kokkos::deep_copy(c, bf16(3.0f));
    gemm(ctx, transposition::no, transposition::yes, 0, a, b, beta, c);
    ctx.fence();
    EXPECT_EQ(float(tests::host_copy(c)(4, 6)), 3 * beta);
  }
}

TEST(gemm_f8, shapes_are_checked_first) {
  context<space> ctx;
  const rows_of<f8_e4m3> a("a", 16, 32);
  const rows_of<f8_e4m3> b("b", 16, 16);
  const rows_of<bf16> c("c", 16, 16);
  EXPECT_THAT(tests::message_of<shape_error>([&] { gemm(ctx, transposition::no, transposition::yes, 1, a, b, 0, c); }),
              AllOf(HasSubstr("A 'a': f8_e4m3 [16 x 32]"), HasSubstr("C 'c': bf16 [16 x 16]")));
}

/// Products on the default device, where it has them.
class gemm_f8_device : public testing::Test {
 protected:
  void SetUp() override {
    const array_ref square(nullptr, dtype::f8_e4m3, {16, 16});
    const array_ref result(nullptr, dtype::bf16, {16, 16});
    try {
      (void)gemm_implementation(space(), transposition::no, transposition::yes, 1, square, square, 0, result);
    } catch (const unsupported_error& reason) {
      GTEST_SKIP() << reason.what();
    }
  }

  template <class A, class B, class C>
  void multiply(transposition trans_a, transposition trans_b, float alpha, const A& a, const B& b, float beta,
                const C& c, const gemm_options& options = {}) {
    gemm(ctx, trans_a, trans_b, alpha, a, b, beta, c, options);
    ctx.fence();
  }

  context<space> ctx;
};

TEST_F(gemm_f8_device, every_implementation_factor_and_mode) {
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{16, 16, 16}, {37, 40, 48}, {1, 8, 256}, {300, 136, 112}}) {
    const rows_of<f8_e4m3> a("a", m, k);
    const rows_of<f8_e4m3> b("b", n, k);
    set_uniform(a, 1);
    set_uniform(b, 2);
    for (const std::string_view implementation : {"", "cublasLt", "tuned"}) {
      for (const gemm_mode mode : {gemm_mode::strict, gemm_mode::fast_accumulation}) {
        for (const float alpha : {1.0f, -0.5f}) {
          for (const float beta : {0.0f, 1.0f, 0.25f}) {
            const rows_of<bf16> c("c", m, n);
            Kokkos::deep_copy(c, bf16(beta == 0 ? std::numeric_limits<float>::quiet_NaN() : 2.0f));
            multiply(transposition::no, transposition::yes, alpha, a, b, beta, c, {implementation, mode});
            expect_product(alpha, a, b, beta, 2, c);
            if (HasFatalFailure()) FAIL() << implementation << " of " << m << " x " << n << " x " << k;
          }
        }
      }
    }
  }
}

TEST_F(gemm_f8_device, column_major_matrices_and_padding) {
  constexpr std::size_t m = 64, n = 48, k = 80;
  const rows_of<f8_e4m3> a("a", m, k);
  const rows_of<f8_e4m3> b("b", n, k);
  set_uniform(a, 1);
  set_uniform(b, 2);
  // The same memory, seen as columns of A' and B.
  const Kokkos::View<f8_e4m3**, Kokkos::LayoutLeft, space, Kokkos::MemoryUnmanaged> a_columns(a.data(), k, m);
  const Kokkos::View<f8_e4m3**, Kokkos::LayoutLeft, space, Kokkos::MemoryUnmanaged> b_columns(b.data(), k, n);
  const Kokkos::View<bf16**, Kokkos::LayoutLeft, space> c("c", m, n);
  multiply(transposition::yes, transposition::no, 1, a_columns, b_columns, 0, c);
  expect_product(1, a, b, 0, 0, c);

  const Kokkos::View<bf16**, Kokkos::LayoutStride, space> padded("padded", Kokkos::LayoutStride(m, n + 8, n, 1));
  multiply(transposition::no, transposition::yes, 1, a, b, 0, padded);
  expect_product(1, a, b, 0, 0, padded);
}

TEST_F(gemm_f8_device, batches) {
  constexpr std::size_t batch = 3, m = 32, n = 16, k = 64;
  const Kokkos::View<f8_e4m3***, Kokkos::LayoutRight, space> a("a", batch, m, k);
  const Kokkos::View<f8_e4m3***, Kokkos::LayoutRight, space> b("b", batch, n, k);
  const Kokkos::View<bf16***, Kokkos::LayoutRight, space> c("c", batch, m, n);
  const auto matrix_of = [](const auto& of, std::size_t which) {
    return Kokkos::subview(of, which, Kokkos::ALL, Kokkos::ALL);
  };
  for (std::size_t which = 0; which < batch; ++which) {
    set_uniform(matrix_of(a, which), which);
    set_uniform(matrix_of(b, which), 10 + which);
  }
  multiply(transposition::no, transposition::yes, 1, a, b, 0, c);
  for (std::size_t which = 0; which < batch; ++which) {
    expect_product(1, matrix_of(a, which), matrix_of(b, which), 0, 0, matrix_of(c, which));
  }
}

TEST_F(gemm_f8_device, numbers_of_every_size_and_nan) {
  constexpr std::size_t n = 256, k = 16;
  const rows_of<f8_e4m3> a("a", n, k);
  const rows_of<f8_e4m3> b("b", n, k);
  const auto codes = tests::host_copy(a);
  const auto ones = tests::host_copy(b);
  for (std::size_t i = 0; i < n; ++i) {
    codes(i, 3).bits = static_cast<std::uint8_t>(i);
    ones(i, 3) = f8_e4m3(1.0f);
  }
  tests::write_back(a, codes);
  tests::write_back(b, ones);
  const rows_of<bf16> c("c", n, n);
  multiply(transposition::no, transposition::yes, 1, a, b, 0, c);
  const auto result = tests::host_copy(c);
  for (std::size_t i = 0; i < n; ++i) {
    const auto expected = float(codes(i, 3));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(float(result(i, 5)))) << i;
    } else {
      EXPECT_EQ(float(result(i, 5)), expected) << i;
    }
  }
}

TEST_F(gemm_f8_device, what_it_does_not_take_is_refused_with_a_way_out) {
  const rows_of<f8_e4m3> a("a", 32, 32);
  const rows_of<f8_e4m3> b("b", 32, 32);
  const rows_of<bf16> c("c", 32, 32);
  const auto refusal = [&](transposition trans_a, transposition trans_b, const auto& left, const auto& right,
                           const auto& out, const gemm_options& options = {}) {
    return tests::message_of<unsupported_error>([&] { gemm(ctx, trans_a, trans_b, 1, left, right, 0, out, options); });
  };
  EXPECT_THAT(refusal(transposition::no, transposition::no, a, b, c),
              AllOf(HasSubstr("cublas: cuBLAS has no product for f8_e4m3; cuBLASLt has"),
                    HasSubstr("B stored transposed and A not (trans_a=0, trans_b=1)")));
  EXPECT_THAT(refusal(transposition::no, transposition::yes, a, b, c, {.mode = gemm_mode::fast_tf32}),
              HasSubstr("mode fast_tf32 is for f32, not for f8_e4m3"));
  const rows_of<f8_e4m3> narrow_a("a", 32, 24);
  const rows_of<f8_e4m3> narrow_b("b", 32, 24);
  EXPECT_THAT(refusal(transposition::no, transposition::yes, narrow_a, narrow_b, c),
              HasSubstr("f8_e4m3 needs k to be a multiple of 16, it is 24"));
  const rows_of<float> wide("wide", 32, 32);
  EXPECT_THAT(refusal(transposition::no, transposition::yes, wide, wide, rows_of<float>("c", 32, 32),
                      {.implementation = "cublasLt", .mode = gemm_mode::fast_accumulation}),
              HasSubstr("mode fast_accumulation is for f8_e4m3, not for f32"));
}

/// The case as a worker would choose it.
cases::specification f8_choice(const cases::case_info& info, cases::array_layout layout, std::int64_t n) {
  cases::specification choice;
  choice.op = info.op;
  choice.type = dtype::f8_e4m3;
  choice.layout = layout;
  choice.shape = {{"m", n}, {"n", n}, {"k", n}};
  choice.implementation = info.implementations.front();
  for (const cases::parameter& each : info.values) {
    choice.values.set(each.name, each.fallback_of(choice.type, layout));
  }
  return choice;
}

TEST(gemm_f8_case, host_is_unsupported) {
  const auto* const gemm_case = cases::registries().of<host>().find("gemm");
  ASSERT_NE(gemm_case, nullptr);
  const auto choice = f8_choice(gemm_case->info(), cases::array_layout::right, 64);
  EXPECT_THAT(gemm_case->why_unsupported(choice), HasSubstr("f8_e4m3 is multiplied by cuBLASLt only"));
  context<host> ctx;
  EXPECT_THROW(cases::prepared_case<host>(ctx, *gemm_case, choice, 1).run(0), unsupported_error);
}

TEST(gemm_f8_case, defaults_are_what_devices_take) {
  const auto* const gemm_case = cases::registries().of<space>().find("gemm");
  ASSERT_NE(gemm_case, nullptr);
  const cases::case_info info = gemm_case->info();
  EXPECT_EQ(f8_choice(info, cases::array_layout::right, 64).values.at("trans_b"), 1);
  EXPECT_EQ(f8_choice(info, cases::array_layout::right, 64).values.at("trans_a"), 0);
  EXPECT_EQ(f8_choice(info, cases::array_layout::left, 64).values.at("trans_a"), 1);
  EXPECT_EQ(f8_choice(info, cases::array_layout::left, 64).values.at("trans_b"), 0);
  // The square that fits has 1448 rows.
  EXPECT_EQ(gemm_case->resolve(dtype::f8_e4m3, std::int64_t{1} << 21, {}).at("k"), 1440);
  EXPECT_EQ(gemm_case->resolve(dtype::f8_e4m3, std::int64_t{1} << 24, {}).at("k"), 4096);
}

TEST(gemm_f8_case, a_result_is_of_bf16) {
  const auto* const gemm_case = cases::registries().of<space>().find("gemm");
  const auto choice = f8_choice(gemm_case->info(), cases::array_layout::right, 64);
  const auto arrays = gemm_case->arrays(choice.shape, choice.values);
  EXPECT_EQ(cases::element_type(arrays[0], choice.type), dtype::f8_e4m3);
  EXPECT_EQ(cases::element_type(arrays[1], choice.type), dtype::f8_e4m3);
  EXPECT_EQ(cases::element_type(arrays[2], choice.type), dtype::bf16);
  EXPECT_EQ(cases::element_type(arrays[2], dtype::f16), dtype::f16);
  EXPECT_EQ(cases::footprint_bytes(arrays, choice.type, choice.layout), 64u * 64 * (1 + 1 + 2));
  const cases::cost cost = gemm_case->model(choice.type, choice.shape, choice.values);
  EXPECT_EQ(cost.bytes, 64 * 64 * (1 + 1 + 2));
  EXPECT_EQ(cost.flops, 2 * 64 * 64 * 64);
  EXPECT_EQ(cost.unit, "tensor");
}

/// What is left of a number in a unit that keeps 14 bits of it, the highest one worth 2^(exponent + 1).
double cut(double value, int exponent) {
  const double grid = std::ldexp(1.0, exponent + 2 - 14);
  return std::trunc(value / grid) * grid;
}

/// The sum as product_reference::cut_off() says that Hopper makes it.
double sum_in_unit(const std::vector<double>& left, const std::vector<double>& right, std::size_t stretch) {
  constexpr std::size_t block = 32;
  double total = 0;
  double running = 0;
  for (std::size_t begin = 0; begin < left.size(); begin += block) {
    const std::size_t end = std::min(begin + block, left.size());
    int exponent = running == 0 ? -100 : std::ilogb(running);
    for (std::size_t p = begin; p < end; ++p) {
      exponent = std::max(exponent, std::ilogb(left[p]) + std::ilogb(right[p]));
    }
    double sum = cut(running, exponent);
    for (std::size_t p = begin; p < end; ++p) sum += cut(left[p] * right[p], exponent);
    running = sum == 0 ? 0 : cut(sum, std::ilogb(sum));
    if (end % stretch != 0 && end != left.size()) continue;
    total += running;
    running = 0;
  }
  return total;
}

TEST(gemm_f8_case, bound_holds_for_units_that_keep_14_bits) {
  cases::specification choice;
  choice.type = dtype::f8_e4m3;
  choice.seed = 5;
  const cases::input_values inputs(choice);
  constexpr std::int64_t m = 8, n = 16, k = 8192;
  for (const std::int64_t stretch : {std::int64_t{128}, k}) {
    const cases::product_reference tile(choice.type, inputs, 0, {m, n, k, false, true, 0, stretch});
    int with_losses = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::vector<double> left(k), right(k);
        inputs.read(0, i * k, left);
        inputs.read(1, j * k, right);
        const double sum = sum_in_unit(left, right, static_cast<std::size_t>(stretch));
        const auto exact = static_cast<double>(tile.sum(i, j));
        ASSERT_LE(std::abs(sum - exact), static_cast<double>(tile.cut_off(i, j))) << i << ", " << j;
        with_losses += sum != exact;
      }
    }
    EXPECT_EQ(with_losses > 0, stretch == k);
  }
}

}  // namespace
}  // namespace prumo
