// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bias and the activation of a product: beside its own layouts, NaN, products that multiply nothing, and what is
// refused. That the numbers are right in every type, shape and layout is the case's test.

// clang-format off
#include <prumo/transpose.hpp>  // before gemm.hpp, whose enum was called transpose, too: nothing compiled in this order
// clang-format on

#include "gemm_problem.hpp"
#include "operation_test.hpp"
#include <prumo/gemm.hpp>
#include <prumo/spaces.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace prumo {
namespace {

using namespace tests;
using space = Kokkos::DefaultExecutionSpace;
using host = Kokkos::DefaultHostExecutionSpace;
using matrix = Kokkos::View<float**, Kokkos::LayoutRight, space>;
using left_matrix = Kokkos::View<float**, Kokkos::LayoutLeft, space>;
using vector = Kokkos::View<float*, space>;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class View>
View filled(const View& view, float value) {
  Kokkos::deep_copy(view, static_cast<typename View::value_type>(value));
  return view;
}

/// 0, 1, 2, ... times `step`.
vector ramp(std::size_t count, float step) {
  const vector result("bias", count);
  tests::set_elements(result, [&](std::size_t i) { return step * static_cast<float>(i); });
  return result;
}

class gemm_epilogue : public testing::Test {
 public:
  /// C = act(2 + beta C + bias) by every implementation that takes it: A is ones, and B is such that sums are 2. k is a
  /// power of two.
  template <class C, class Expected>
  void expect_entries(const C& c, double beta, gemm_options options, const Expected& expected, std::size_t k = 2) {
    const matrix a = filled(matrix("a", c.extent(0), k), 1);
    const matrix b = filled(matrix("b", k, c.extent(1)), 2 / static_cast<float>(k));
    for (const std::string_view name : gemm_implementations(detail::space_kind_of<space>::value, dtype::f32)) {
      options.implementation = name;
      filled(c, 3);
      gemm(ctx, transposition::no, transposition::no, 1, a, b, beta, c, options);
      ctx.fence();
      const auto result = tests::host_copy(c);
      for (std::size_t i = 0; i < c.extent(0); ++i) {
        for (std::size_t j = 0; j < c.extent(1); ++j) ASSERT_EQ(result(i, j), expected(i, j)) << name;
      }
    }
  }

  context<space> ctx;
};

TEST_F(gemm_epilogue, a_bias_of_columns_and_one_of_rows) {
  const vector of_columns = ramp(70, 0.5f);
  const vector of_rows = ramp(50, -1);
  const auto along_columns = [](std::size_t, std::size_t j) { return 2 + 0.5f * static_cast<float>(j); };
  const auto along_rows = [](std::size_t i, std::size_t) { return 2 - static_cast<float>(i); };
  expect_entries(matrix("c", 50, 70), 0, {.column_bias = of_columns}, along_columns);
  expect_entries(left_matrix("c", 50, 70), 0, {.column_bias = of_columns}, along_columns);
  expect_entries(matrix("c", 50, 70), 0, {.row_bias = of_rows}, along_rows);
  expect_entries(left_matrix("c", 50, 70), 0, {.row_bias = of_rows}, along_rows);
}

TEST_F(gemm_epilogue, bias_then_activation_after_beta_c) {
  const vector of_rows = ramp(50, -1);
  expect_entries(matrix("c", 50, 70), 1, {.activation = activation_function::relu, .row_bias = of_rows},
                 [](std::size_t i, std::size_t) { return std::fmax(5 - static_cast<float>(i), 0.0f); });
}

TEST_F(gemm_epilogue, follows_long_sums_of_few_entries) {
  const auto expected = [](std::size_t i, std::size_t) { return std::fmax(5 - static_cast<float>(i), 0.0f); };
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{3, 13, 4096}, {50, 70, 2048}, {13, 6, 1024}, {5, 330, 64}}) {
    const vector of_rows = ramp(m, -1);
    const gemm_options options{.activation = activation_function::relu, .row_bias = of_rows};
    expect_entries(matrix("c", m, n), 1, options, expected, k);
    expect_entries(left_matrix("c", m, n), 1, options, expected, k);
  }
}

TEST_F(gemm_epilogue, a_bias_with_gaps) {
  const vector memory = ramp(21, 1);
  const Kokkos::View<float*, Kokkos::LayoutStride, space> gaps(memory.data(), Kokkos::LayoutStride(7, 3));
  expect_entries(matrix("c", 5, 7), 0, {.column_bias = gaps},
                 [](std::size_t, std::size_t j) { return 2 + 3 * static_cast<float>(j); });
}

TEST_F(gemm_epilogue, one_bias_serves_a_batch) {
  using batch = Kokkos::View<float***, Kokkos::LayoutRight, space>;
  const batch a = filled(batch("a", 3, 4, 2), 1);
  const batch b = filled(batch("b", 3, 2, 5), 1);
  const vector bias = ramp(5, 1);
  for (const std::string_view name : gemm_implementations(detail::space_kind_of<space>::value, dtype::f32)) {
    const batch c = filled(batch("c", 3, 4, 5), nan);
    gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c, {.implementation = name, .column_bias = bias});
    ctx.fence();
    const auto result = tests::host_copy(c);
    for (std::size_t which = 0; which < 3; ++which) EXPECT_EQ(result(which, 3, 4), 6) << name;
  }
}

TEST_F(gemm_epilogue, nan_passes_through_every_activation) {
  const matrix a = filled(matrix("a", 4, 2), nan);
  const matrix b = filled(matrix("b", 2, 8), 1);
  for (const std::string_view name : gemm_implementations(detail::space_kind_of<space>::value, dtype::f32)) {
    for (const auto function : {activation_function::relu, activation_function::sigmoid, activation_function::tanh,
                                activation_function::gelu, activation_function::gelu_by_tanh}) {
      const matrix c("c", 4, 8);
      gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c, {.implementation = name, .activation = function});
      ctx.fence();
      EXPECT_TRUE(std::isnan(tests::host_copy(c)(3, 7))) << name << ", " << activation_name(function);
    }
  }
}

TEST_F(gemm_epilogue, follows_where_nothing_is_multiplied) {
  const matrix a = filled(matrix("a", 4, 2), nan);
  const matrix b = filled(matrix("b", 2, 5), nan);
  const vector bias = ramp(5, 1);
  const matrix c = filled(matrix("c", 4, 5), nan);
  gemm(ctx, transposition::no, transposition::no, 0, a, b, 0, c, {.column_bias = bias});
  ctx.fence();
  EXPECT_EQ(tests::host_copy(c)(3, 4), 4);
  gemm(ctx, transposition::no, transposition::no, 1, matrix("", 4, 0), matrix("", 0, 5), 1, c,
       {.activation = activation_function::relu, .row_bias = ramp(4, -2)});
  ctx.fence();
  EXPECT_EQ(tests::host_copy(c)(3, 4), 0);
  EXPECT_EQ(tests::host_copy(c)(0, 4), 4);
}

/// Of f16 the product, the bias and the activation are in f32 and rounded once. The product is a little above
/// 1 + 2 x 2^-10, where a rounded one would lie exactly; half a last place more makes that a tie, which goes down.
TEST_F(gemm_epilogue, sixteen_bits_are_rounded_once) {
  using half_matrix = Kokkos::View<f16**, Kokkos::LayoutRight, space>;
  const half_matrix a = filled(half_matrix("a", 3, 1), 1);
  const half_matrix b = filled(half_matrix("b", 1, 4), 1 + 0x2p-10f);
  const Kokkos::View<f16*, space> bias("bias", 4);
  filled(bias, 0x1p-11f);
  for (const std::string_view name : gemm_implementations(detail::space_kind_of<space>::value, dtype::f16)) {
    const half_matrix c("c", 3, 4);
    try {
      gemm(ctx, transposition::no, transposition::no, 1 + 0x1p-13f, a, b, 0, c,
           {.implementation = name, .column_bias = bias});
    } catch (const unsupported_error&) {
      continue;
    }
    ctx.fence();
    EXPECT_EQ(float(tests::host_copy(c)(2, 3)), 1 + 0x3p-10f) << name;
  }
}

TEST_F(gemm_epilogue, biases_that_do_not_fit) {
  const matrix a("a", 3, 4);
  const matrix b("b", 4, 5);
  const matrix c("c", 3, 5);
  const auto message = [&]<class Error>(Error*, const gemm_options& options) {
    return tests::message_of<Error>([&] { gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c, options); });
  };
  shape_error* const shape = nullptr;
  argument_error* const argument = nullptr;
  alias_error* const alias = nullptr;
  const vector three("my bias", 3);
  EXPECT_THAT(message(shape, {.column_bias = three}),
              AllOf(StartsWith("prumo::gemm: expected a bias with an entry for each column of C; got "),
                    HasSubstr("the bias 'my bias': f32 [3]"), HasSubstr("C 'c': f32 [3 x 5]")));
  const vector five("five", 5);
  EXPECT_THAT(message(shape, {.row_bias = five}), HasSubstr("a bias with an entry for each row of C"));
  const Kokkos::View<double*, space> doubles("doubles", 5);
  EXPECT_THAT(message(argument, {.column_bias = doubles}),
              AllOf(HasSubstr("a bias of C's type"), HasSubstr("'doubles': f64 [5]")));
  EXPECT_THAT(message(argument, {.column_bias = b}), HasSubstr("the bias to have rank 1"));
  EXPECT_THAT(message(argument, {.column_bias = five, .row_bias = three}),
              HasSubstr("a bias of the columns or one of the rows of C; got both"));
  EXPECT_THAT(message(shape, {.column_bias = vector()}), HasSubstr("a bias with an entry"));
  const vector row_of_c(c.data(), 5);
  EXPECT_THAT(message(alias, {.column_bias = row_of_c}), AllOf(HasSubstr("C 'c'"), HasSubstr("overlaps the bias")));
}

TEST_F(gemm_epilogue, modes_and_types_that_nothing_computes_are_told_with_it) {
  context<host> on_host;
  const Kokkos::View<float**, host> a("a", 4, 4), b("b", 4, 4), c("c", 4, 4);
  const Kokkos::View<float*, host> bias("bias", 4);
  EXPECT_THAT(tests::message_of<unsupported_error>([&] {
                gemm(on_host, transposition::no, transposition::no, 1, a, b, 0, c,
                     {.mode = gemm_mode::fast_tf32, .activation = activation_function::gelu, .row_bias = bias});
              }),
              HasSubstr("nothing computes f32 m = 4, n = 4, k = 4, with a bias, gelu, mode fast_tf32"));
}

TEST_F(gemm_epilogue, counts_as_the_closed_form_says) {
  std::vector<counted<double>> a(30 * 27UL), b(27 * 40UL), c(30 * 40UL), bias(40);
  for (const auto function :
       {activation_function::none, activation_function::relu, activation_function::sigmoid, activation_function::tanh,
        activation_function::gelu, activation_function::gelu_by_tanh}) {
    for (const double alpha : {0.0, 1.0, 0.5}) {
      backend::gemm_problem<counted<double>> problem;
      problem.m = 30;
      problem.n = 40;
      problem.k = 27;
      problem.alpha = alpha;
      problem.beta = 0.5;
      problem.a = {a.data(), 27, 1, 0};
      problem.b = {b.data(), 40, 1, 0};
      problem.c = {c.data(), 40, 1, 0};
      problem.activation = function;
      problem.has_bias = true;
      problem.bias = {bias.data(), 0, 1, 0};
      flop_counts counts;
      {
        const counting_scope scope(counts);
        backend::run_canonical_gemm(problem);
      }
      EXPECT_EQ(counts, backend::canonical_gemm_counts(30, 40, 27, 1, alpha, 0.5, true, function));
    }
  }
}

}  // namespace
}  // namespace prumo
