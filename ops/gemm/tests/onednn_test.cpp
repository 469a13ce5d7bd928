// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by oneDNN beside those of the portable kernel. All entries are small integers, so sums are exact in f32, and
// both round the same number once: the results have the same bits.

#include "message_of.hpp"
#include <prumo/detail/host/simd.hpp>
#include <prumo/gemm.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo {
namespace {

using host = Kokkos::DefaultHostExecutionSpace;

/// Three-dimensional arrays of integers from -3 to 3.
template <class T>
class integers {
 public:
  integers(std::int64_t batch, std::int64_t rows, std::int64_t columns, std::uint64_t seed)
      : extents_{batch, rows, columns}, values_(static_cast<std::size_t>(batch * rows * columns)) {
    std::uint64_t state = seed;
    for (T& value : values_) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<T>(static_cast<float>(static_cast<int>((state >> 33) % 7) - 3));
    }
  }

  array_ref matrices() { return {values_.data(), dtype_of<T>(), {extents_[0], extents_[1], extents_[2]}}; }
  /// All columns but the last one, which becomes NaN.
  array_ref without_last_column() {
    for (std::size_t at = columns() - 1; at < values_.size(); at += columns()) {
      values_[at] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    }
    array_ref rest = matrices();
    --rest.extents[2];
    return rest;
  }
  array_ref vector() { return {values_.data(), dtype_of<T>(), {extents_[2]}}; }
  bool operator==(const integers& other) const {
    return std::ranges::equal(values_, other.values_,
                              [](T x, T y) { return static_cast<float>(x) == static_cast<float>(y); });
  }

 private:
  std::size_t columns() const { return static_cast<std::size_t>(extents_[2]); }

  std::int64_t extents_[3];
  std::vector<T> values_;
};

template <class T>
class onednn_product : public testing::Test {
 public:
  void SetUp() override {
    integers<T> one(1, 1, 1, 1), result(1, 1, 1, 2);
    try {
      multiply("onednn", {}, one, one, result);
    } catch (const unsupported_error& refusal) {
      GTEST_SKIP() << refusal.what();
    }
  }

 protected:
  struct choice {
    bool trans_a = false, trans_b = false;
    double alpha = 1, beta = 0;
    gemm_options options = {};
  };

  void multiply(std::string_view implementation, choice what, integers<T>& a, integers<T>& b, integers<T>& c) {
    what.options.implementation = implementation;
    const auto transposed = [](bool is) { return is ? transposition::yes : transposition::no; };
    gemm(ctx, transposed(what.trans_a), transposed(what.trans_b), what.alpha, a.matrices(), b.matrices(), what.beta,
         c.matrices(), what.options);
    ctx.fence();
  }

  void expect_same(const choice& what, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
    integers<T> a(batch, what.trans_a ? k : m, what.trans_a ? m : k, 1);
    integers<T> b(batch, what.trans_b ? n : k, what.trans_b ? k : n, 2);
    integers<T> found(batch, m, n, 3), expected(batch, m, n, 3);
    multiply("onednn", what, a, b, found);
    multiply("portable", what, a, b, expected);
    EXPECT_TRUE(found == expected) << batch << " x " << m << " x " << n << " x " << k << ", alpha " << what.alpha
                                   << ", beta " << what.beta << ", transposed " << what.trans_a << what.trans_b;
  }

  context<host> ctx;
};

using tested_types = testing::Types<f16, bf16, float>;
TYPED_TEST_SUITE(onednn_product, tested_types, );

TYPED_TEST(onednn_product, shapes_transposes_and_factors) {
  for (const auto& [batch, m, n, k] : std::vector<std::array<std::int64_t, 4>>{
           {1, 1, 1, 1}, {1, 1, 40, 17}, {1, 40, 1, 17}, {1, 33, 65, 7}, {1, 64, 64, 64}, {5, 9, 31, 12}}) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        this->expect_same({trans_a, trans_b}, batch, m, n, k);
        this->expect_same({trans_a, trans_b, 0.5, 2}, batch, m, n, k);
      }
    }
  }
}

TYPED_TEST(onednn_product, a_bias_is_added_before_the_sum_is_rounded) {
  using T = TypeParam;
  integers<T> of_columns(1, 1, 31, 4), of_rows(1, 1, 9, 5);
  const array_ref across = of_columns.vector(), down = of_rows.vector();
  for (const std::int64_t batch : {1, 3}) {
    for (const double beta : {0.0, 1.0}) {
      this->expect_same({.beta = beta, .options = {.column_bias = across}}, batch, 9, 31, 40);
      this->expect_same({.beta = beta, .options = {.row_bias = down}}, batch, 9, 31, 40);
      this->expect_same({.beta = beta, .options = {.activation = activation_function::relu, .column_bias = across}},
                        batch, 9, 31, 40);
    }
  }
}

/// Rows of an odd number of elements, behind which a NaN lies. On processors with AMX they are copied, large matrices
/// in pieces.
TYPED_TEST(onednn_product, gaps_behind_rows_of_odd_length) {
  using T = TypeParam;
  integers<T> of_columns(1, 1, 5, 4);
  const array_ref bias = of_columns.vector();
  for (const auto& [batch, m, k] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 3}, {1, 37, 9}, {4, 21, 40}, {4, 1, 31}, {1, 37, 64}, {1, 5000, 1001}, {5, 1000, 998}}) {
    for (const gemm_options& options : {gemm_options{}, gemm_options{.column_bias = bias},
                                        gemm_options{.activation = activation_function::relu, .column_bias = bias}}) {
      integers<T> a(batch, m, k + 1, 1), b(batch, k, 5, 2), found(batch, m, 5, 3), expected(batch, m, 5, 3);
      const array_ref rows = a.without_last_column();
      for (auto [implementation, c] : {std::pair("onednn", &found), std::pair("portable", &expected)}) {
        gemm_options named = options;
        named.implementation = implementation;
        gemm(this->ctx, transposition::no, transposition::no, 0.5, rows, b.matrices(), 2, c->matrices(), named);
        this->ctx.fence();
      }
      EXPECT_TRUE(found == expected) << batch << " x " << m << " x " << k;
    }
  }
}

TYPED_TEST(onednn_product, more_products_than_a_context_keeps) {
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t k = 1; k <= 70; ++k) this->expect_same({}, 1, 3, 4, k);
  }
}

TYPED_TEST(onednn_product, a_workspace_that_is_too_small) {
  using T = TypeParam;
  if (sizeof(T) > 2) GTEST_SKIP() << "the product is written to C itself";
  integers<T> a(1, 40, 40, 1), b(1, 40, 40, 2), c(1, 40, 40, 3);
  alignas(256) std::byte few[256];
  this->ctx.adopt_workspace(few, sizeof(few));
  const auto message = tests::message_of<memory_error>(
      [&] { this->multiply("onednn", {.options = {.activation = activation_function::tanh}}, a, b, c); });
  EXPECT_THAT(message, testing::HasSubstr("the adopted workspace has 256 bytes"));
}

TEST(onednn, refuses_types_for_which_it_has_no_products) {
  const auto message = [](dtype type, dtype result) {
    return tests::message_of<unsupported_error>([&] {
      (void)gemm_implementation(host{}, transposition::no, transposition::no, 1, array_ref(nullptr, type, {4, 4}),
                                array_ref(nullptr, type, {4, 4}), 0, array_ref(nullptr, result, {4, 4}),
                                {.implementation = "onednn"});
    });
  };
  EXPECT_THAT(message(dtype::f64, dtype::f64), testing::HasSubstr("oneDNN has no product for f64"));
  EXPECT_THAT(message(dtype::f8_e4m3, dtype::bf16), testing::HasSubstr("oneDNN has no product for f8_e4m3"));
}

/// The implementation that is chosen for a product of an m x k and a k x n matrix.
std::string_view chosen_for(std::int64_t m, std::int64_t n, std::int64_t k, dtype type = dtype::f32) {
  return gemm_implementation(host{}, transposition::no, transposition::no, 1, array_ref(nullptr, type, {m, k}),
                             array_ref(nullptr, type, {k, n}), 0, array_ref(nullptr, type, {m, n}));
}

/// Which products of f32 oneDNN gets was measured with AVX-512, and on a Zen 3 without.
constexpr bool has_rules_for_avx2 = detail::compiled_for_zen && simd_bytes == 32;

TEST(onednn, is_chosen_for_f32_where_it_is_faster) {
  if (has_rules_for_avx2) GTEST_SKIP() << "a Zen without AVX-512 has rules of its own";
  const auto name = [](std::int64_t m, std::int64_t n, std::int64_t k) { return chosen_for(m, n, k); };
  const bool has_large_vectors = simd_bytes >= 64;
  const std::string_view faster = has_large_vectors ? "onednn" : "portable";
  EXPECT_EQ(name(300, 300, 65), faster);
  EXPECT_EQ(chosen_for(300, 300, 65, dtype::f64), "portable");
  EXPECT_EQ(name(300, 300, 64), detail::compiled_for_skylake ? faster : "portable");  // sums are short except there
  EXPECT_EQ(name(300, 300, 32), "portable");                                          // short sums everywhere
  EXPECT_EQ(name(100, 100, 70), "portable");                                          // few products
  EXPECT_EQ(name(60, 300, 500), faster);
  EXPECT_EQ(name(60, 60, 5000), "portable");  // sums in parts
  EXPECT_EQ(name(5000, 7, 500), faster);
  EXPECT_EQ(name(79, 13, 5247), faster);  // 13 to 16 columns fill a register
  EXPECT_EQ(name(300, 16, 200), faster);
  EXPECT_EQ(name(79, 12, 5247), "portable");
  EXPECT_EQ(name(20, 13, 5247), "portable");
  EXPECT_EQ(name(5000, 6, 500), "portable");   // a thin product
  EXPECT_EQ(name(20, 5000, 300), "portable");  // B is read once
  EXPECT_EQ(name(20, 2000, 300), faster);      // from a cache
  EXPECT_EQ(name(6, 2001, 300), "portable");
  EXPECT_EQ(name(7, 2001, 300), faster);
  EXPECT_EQ(name(20, 5120, 300), faster);  // rows of B are copied
  EXPECT_EQ(name(25, 5000, 300), faster);
  EXPECT_EQ(name(40, 5000, 1100), "portable");
  EXPECT_EQ(name(49, 5000, 1100), faster);
  // The BLAS comes before oneDNN where B and C are large, but on AMD's processors, and elsewhere without AVX-512.
  const std::string_view of_the_blas = name(2000, 2000, 2000);
  EXPECT_EQ(of_the_blas == "onednn", has_large_vectors && detail::compiled_for_zen) << of_the_blas;
  EXPECT_EQ(name(150, 300, 5000), has_large_vectors ? "onednn" : of_the_blas);
  EXPECT_EQ(name(700, 700, 700), has_large_vectors ? "onednn" : of_the_blas);
  EXPECT_EQ(name(300, 3000, 3000), of_the_blas);
  const std::string_view of_large_vectors = detail::compiled_for_skylake ? "onednn" : "portable";
  EXPECT_EQ(name(600, 600, 100), has_large_vectors ? of_large_vectors : of_the_blas);
}

TEST(onednn, is_chosen_for_f32_where_it_is_faster_with_avx2) {
  if (!has_rules_for_avx2) GTEST_SKIP() << "this is no Zen without AVX-512";
  EXPECT_EQ(chosen_for(49, 300, 65), "onednn");
  EXPECT_EQ(chosen_for(48, 300, 65), "portable");
  EXPECT_EQ(chosen_for(49, 300, 64), "portable");
  EXPECT_EQ(chosen_for(300, 300, 65, dtype::f64), "portable");
  EXPECT_EQ(chosen_for(129, 300, 33), "onednn");
  EXPECT_EQ(chosen_for(129, 300, 32), "portable");  // short sums
  EXPECT_EQ(chosen_for(2000, 2000, 999), "onednn");
  EXPECT_NE(chosen_for(2000, 2000, 1000), "onednn");  // the BLAS is faster for long sums
  EXPECT_NE(chosen_for(49, 300, 10000), "onednn");
  EXPECT_EQ(chosen_for(49, 250, 5999), "onednn");
  EXPECT_EQ(chosen_for(49, 250, 6000), "portable");  // threads share each sum of a small C
  EXPECT_EQ(chosen_for(40, 50, 2000), "portable");
  EXPECT_EQ(chosen_for(50, 41, 2000), "onednn");
  EXPECT_EQ(chosen_for(500, 13, 385), "onednn");  // long sums of few columns
  EXPECT_EQ(chosen_for(500, 12, 385), "portable");
  EXPECT_EQ(chosen_for(500, 8, 385), "onednn");  // as many columns as a register has lanes
  EXPECT_EQ(chosen_for(500, 7, 385), "onednn");
  EXPECT_EQ(chosen_for(500, 8, 384), "portable");
  EXPECT_EQ(chosen_for(31, 8, 500), "portable");
  EXPECT_EQ(chosen_for(500, 6, 2000), "portable");  // a thin product
  EXPECT_EQ(chosen_for(25, 5000, 40), "onednn");    // B is far away
  EXPECT_EQ(chosen_for(25, 3000, 40), "portable");
  EXPECT_EQ(chosen_for(24, 5000, 40), "portable");
}

}  // namespace
}  // namespace prumo
