// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the product refuses and how it says so, which implementation it takes, and what its count does not
// depend on.

#include "gemm_problem.hpp"
#include "message_of.hpp"
#include <prumo/gemm.hpp>
#include <prumo/spaces.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace prumo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using space = Kokkos::DefaultExecutionSpace;
using host = Kokkos::DefaultHostExecutionSpace;

template <class Exec>
constexpr space_kind kind_of = detail::space_kind_of<Exec>::value;

using matrix = Kokkos::View<float**, Kokkos::LayoutRight, space>;

TEST(gemm_errors, extents_that_do_not_fit) {
  context<space> ctx;
  const matrix a("my a", 3, 4);
  const matrix b("my b", 5, 6);
  const matrix c("my c", 3, 6);
  const auto message =
      tests::message_of<shape_error>([&] { gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c); });
  EXPECT_THAT(message, testing::StartsWith("prumo::gemm: expected A [m x k], B [k x n], and C [m x n]; got "));
  EXPECT_THAT(message, AllOf(HasSubstr("A 'my a': f32 [3 x 4]"), HasSubstr("B 'my b': f32 [5 x 6]"),
                             HasSubstr("C 'my c': f32 [3 x 6]")));
  const auto transposed =
      tests::message_of<shape_error>([&] { gemm(ctx, transposition::yes, transposition::yes, 1, a, b, 0, c); });
  EXPECT_THAT(transposed, HasSubstr("expected A [k x m], transposed, B [n x k], transposed, and C [m x n]"));
  EXPECT_NO_THROW(gemm(ctx, transposition::yes, transposition::no, 1, a, matrix("", 3, 2), 0, matrix("", 4, 2)));
}

TEST(gemm_errors, batches_that_do_not_fit) {
  context<space> ctx;
  const Kokkos::View<float***, Kokkos::LayoutRight, space> a("a", 2, 3, 4);
  const Kokkos::View<float***, Kokkos::LayoutRight, space> b("b", 3, 4, 5);
  const Kokkos::View<float***, Kokkos::LayoutRight, space> c("c", 2, 3, 5);
  EXPECT_THAT(tests::message_of<shape_error>([&] { gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c); }),
              HasSubstr("A [batch x m x k], B [batch x k x n], and C [batch x m x n]"));
}

TEST(gemm_errors, overlap) {
  context<space> ctx;
  const matrix a("a", 4, 4);
  const matrix b("b", 4, 4);
  const auto message =
      tests::message_of<alias_error>([&] { gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, b); });
  EXPECT_THAT(message, AllOf(testing::StartsWith("prumo::gemm: "), HasSubstr("C 'b'"), HasSubstr("overlaps B 'b'")));
  EXPECT_THROW(gemm(ctx, transposition::no, transposition::no, 1, a, b, 1, a), alias_error);
  const Kokkos::View<float**, Kokkos::LayoutStride, space> flat(b.data(), Kokkos::LayoutStride(4, 0, 4, 1));
  EXPECT_THAT(
      tests::message_of<alias_error>([&] { gemm(ctx, transposition::no, transposition::no, 1, a, a, 0, flat); }),
      HasSubstr("addresses of their own"));
}

TEST(gemm_dispatch, unknown_implementation) {
  context<space> ctx;
  const matrix a("a", 4, 4);
  const matrix b("b", 4, 4);
  const matrix c("c", 4, 4);
  EXPECT_THAT(tests::message_of<argument_error>([&] {
                gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c, {.implementation = "abacus"});
              }),
              AllOf(HasSubstr("no implementation is called 'abacus'"), HasSubstr("portable")));
}

TEST(gemm_dispatch, modes_that_nothing_computes) {
  context<host> ctx;
  const Kokkos::View<float**, host> a("a", 4, 4);
  const Kokkos::View<float**, host> b("b", 4, 4);
  const Kokkos::View<float**, host> c("c", 4, 4);
  EXPECT_THAT(tests::message_of<unsupported_error>([&] {
                gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c, {.mode = gemm_mode::fast_tf32});
              }),
              AllOf(HasSubstr("nothing computes f32 m = 4, n = 4, k = 4, mode fast_tf32"),
                    HasSubstr("portable: it computes in mode strict only")));
}

bool has_cblas() {
  for (const std::string_view name : gemm_implementations(kind_of<host>, dtype::f32)) {
    if (name == "cblas") return true;
  }
  return false;
}

TEST(gemm_dispatch, a_forced_implementation_that_cannot_tells_why) {
  if (!has_cblas()) GTEST_SKIP() << "built without a CBLAS";
  context<host> ctx;
  const Kokkos::View<bf16**, host> a("a", 4, 4);
  const Kokkos::View<bf16**, host> b("b", 4, 4);
  const Kokkos::View<bf16**, host> c("c", 4, 4);
  EXPECT_THAT(tests::message_of<unsupported_error>(
                  [&] { gemm(ctx, transposition::no, transposition::no, 1, a, b, 0, c, {.implementation = "cblas"}); }),
              HasSubstr("cblas: the BLAS has no product for bf16"));
  const Kokkos::View<float**, Kokkos::LayoutStride, host> gaps("gaps", Kokkos::LayoutStride(4, 9, 4, 2));
  const Kokkos::View<float**, host> d("d", 4, 4);
  const Kokkos::View<float**, host> e("e", 4, 4);
  EXPECT_THAT(tests::message_of<unsupported_error>([&] {
                gemm(ctx, transposition::no, transposition::no, 1, gaps, d, 0, e, {.implementation = "cblas"});
              }),
              HasSubstr("cblas: the BLAS cannot express the strides of A (9, 2)"));
  // Rows that overlap: each begins one element after the last.
  const Kokkos::View<float**, Kokkos::LayoutStride, host> window("window", Kokkos::LayoutStride(4, 1, 4, 1));
  EXPECT_THAT(tests::message_of<unsupported_error>([&] {
                gemm(ctx, transposition::no, transposition::no, 1, window, d, 0, e, {.implementation = "cblas"});
              }),
              HasSubstr("cannot express the strides of A (1, 1)"));
  EXPECT_NO_THROW(gemm(ctx, transposition::no, transposition::no, 1, window, d, 0, e));
}

TEST(gemm_dispatch, extents_beyond_the_integers_of_the_blas) {
  if (!has_cblas()) GTEST_SKIP() << "built without a CBLAS";
  constexpr std::int64_t m = std::int64_t{1} << 40;
  const array_ref column(nullptr, dtype::f32, {m, 1});
  const array_ref one(nullptr, dtype::f32, {1, 1});
  const auto name = [&](const gemm_options& options) {
    return gemm_implementation(host{}, transposition::no, transposition::no, 1, column, one, 0, column, options);
  };
  try {
    EXPECT_EQ(name({.implementation = "cblas"}), "cblas");  // 64-bit integers
  } catch (const unsupported_error& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("m = 1099511627776 exceeds the 32-bit integers of the BLAS"));
  }
  EXPECT_NE(name({}), "none");
}

TEST(gemm_dispatch, thin_and_direct_products_are_computed_without_the_blas) {
  if (!has_cblas()) GTEST_SKIP() << "built without a CBLAS";
  const auto name = [](std::int64_t m, std::int64_t n, std::int64_t k, transposition trans_b = transposition::no) {
    const bool turned = trans_b == transposition::yes;
    const array_ref a(nullptr, dtype::f64, {m, k});
    const array_ref b(nullptr, dtype::f64, {turned ? n : k, turned ? k : n});
    const array_ref c(nullptr, dtype::f64, {m, n});
    return gemm_implementation(host{}, transposition::no, trans_b, 1, a, b, 0, c);
  };
  // oneDNN, which comes first for some of them, has no f64. Another one where the BLAS does not use the processor's
  // vectors.
  const std::string_view of_the_blas = name(1000, 1000, 1000);
  EXPECT_EQ(name(2000, 1, 2000), "portable");
  EXPECT_EQ(name(1, 7854, 100), "portable");  // rows of B are added up
  EXPECT_EQ(name(1, 7854, 100, transposition::yes), "portable");
  EXPECT_EQ(name(2000, 4, 2000), "portable");
  EXPECT_EQ(name(2000, 5, 2000), "portable");
  EXPECT_EQ(name(2, 2000, 2000), "portable");
  EXPECT_EQ(name(300, 300, 64), "portable");
  EXPECT_EQ(name(400, 400, 65), of_the_blas);
  EXPECT_EQ(name(300, 300, 192), "portable");
  EXPECT_EQ(name(300, 300, 193), of_the_blas);
  EXPECT_EQ(name(64, 300, 20000), "portable");
  EXPECT_EQ(name(65, 300, 20000), of_the_blas);
}

TEST(gemm_dispatch, small_products_of_16_bits_are_computed_without_libraries) {
  const auto name = [](dtype type, std::int64_t m, std::int64_t n, std::int64_t k) {
    const array_ref a(nullptr, type, {m, k}), b(nullptr, type, {k, n}), c(nullptr, type, {m, n});
    return gemm_implementation(host{}, transposition::no, transposition::no, 1, a, b, 0, c);
  };
  EXPECT_EQ(name(dtype::f16, 64, 64, 64), "portable");
  EXPECT_EQ(name(dtype::bf16, 32, 32, 32), "portable");
  EXPECT_EQ(name(dtype::f16, 40, 40, 20000), "portable");
  EXPECT_EQ(name(dtype::bf16, 16, 16, 20000), "portable");
  EXPECT_EQ(name(dtype::f16, 1000, 8, 500), "portable");
  EXPECT_EQ(name(dtype::f16, 5000, 16, 150), "portable");
  EXPECT_EQ(name(dtype::f16, 1000, 3000, 4), "portable");
  EXPECT_EQ(name(dtype::bf16, 1000, 3000, 1), "portable");
  EXPECT_EQ(name(dtype::bf16, 2000, 3000, 2), "portable");
  EXPECT_EQ(name(dtype::bf16, 24, 10000, 32), "portable");
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    EXPECT_EQ(name(type, 2000, 1, 2000), "portable");
    EXPECT_EQ(name(type, 2, 3000, 500), "portable");
    EXPECT_EQ(name(type, 3, 3000, 500), "portable");
  }
}

TEST(gemm_dispatch, a_device_computes_short_sums_without_its_library) {
  if (is_host_space<space>) GTEST_SKIP() << "the default execution space is a host";
  const auto name = [](dtype type, std::int64_t m, std::int64_t n, std::int64_t k) {
    const array_ref a(nullptr, type, {m, k}), b(nullptr, type, {k, n}), c(nullptr, type, {m, n});
    return gemm_implementation(space{}, transposition::no, transposition::no, 1, a, b, 0, c);
  };
  const std::string_view library = name(dtype::f32, 1000, 1000, 1000);
  EXPECT_EQ(name(dtype::f32, 1000, 1000, 16), "portable");
  EXPECT_EQ(name(dtype::f32, 1000, 1000, 17), library);
  EXPECT_EQ(name(dtype::bf16, 100'000, 3, 7), "portable");
  EXPECT_EQ(name(dtype::bf16, 1000, 1000, 8), library);
}

TEST(gemm_dispatch, a_device_multiplies_few_long_rows_by_a_vector_without_its_library) {
  if (is_host_space<space>) GTEST_SKIP() << "the default execution space is a host";
  const auto name = [](dtype type, std::int64_t m, std::int64_t n, std::int64_t k, transposition of_b) {
    const bool transposed = of_b == transposition::yes;
    const array_ref a(nullptr, type, {m, k}), b(nullptr, type, {transposed ? n : k, transposed ? k : n});
    return gemm_implementation(space{}, transposition::no, of_b, 1, a, b, 0, array_ref(nullptr, type, {m, n}));
  };
  const std::string_view library = name(dtype::f32, 1000, 1000, 1000, transposition::no);
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    EXPECT_EQ(name(type, 14, 1, 2120, transposition::no), "portable");
    EXPECT_EQ(name(type, 1, 14, 2120, transposition::yes), "portable");
    EXPECT_EQ(name(type, 1, 14, 2120, transposition::no), library) << "columns of B lie side by side";
    EXPECT_EQ(name(type, 101, 1, 2120, transposition::no), library);
    EXPECT_EQ(name(type, 14, 1, 999, transposition::no), library);
    EXPECT_EQ(name(type, 14, 1, 1'000'000, transposition::no), library);
  }
  EXPECT_EQ(name(dtype::f64, 14, 1, 2120, transposition::no), library);
}

TEST(gemm_dispatch, verbose_tells_the_candidates) {
  // Not so small that libraries are asked last.
  const Kokkos::View<f16**, host> a("a", 70, 70);
  const Kokkos::View<f16**, host> b("b", 70, 70);
  const Kokkos::View<f16**, host> c("c", 70, 70);
  const std::string_view name =
      gemm_implementation(host{}, transposition::no, transposition::no, 1, a, b, 0, c, gemm_options{});
  ASSERT_EQ(setenv("PRUMO_VERBOSE", "other,dispatch", 1), 0);
  context<host> talking;
  testing::internal::CaptureStderr();
  gemm(talking, transposition::no, transposition::no, 1, a, b, 0, c);
  gemm(talking, transposition::no, transposition::no, 0, a, b, 0, c);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told,
              AllOf(HasSubstr("prumo::gemm: f16 m = 70, n = 70, k = 70, mode strict"),
                    HasSubstr("  " + std::string(name) + ": taken\n"), HasSubstr("  scale: nothing is multiplied\n")));
  EXPECT_THAT(told, HasSubstr(has_cblas() ? "  cblas: the BLAS has no product for f16\n" : ""));
  ASSERT_EQ(unsetenv("PRUMO_VERBOSE"), 0);
  context<host> silent;
  testing::internal::CaptureStderr();
  gemm(silent, transposition::no, transposition::no, 1, a, b, 0, c);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// Batched and sheared problems count as the closed form says, tiles at edges included.
TEST(gemm_counts, tiles_do_not_change_the_count) {
  std::vector<counted<double>> a(300 * 270UL), b(270 * 400UL), c(300 * 400UL);
  for (const double alpha : {1.0, 0.5}) {
    for (const double beta : {0.0, 1.0, 0.5}) {
      backend::gemm_problem<counted<double>> problem;
      problem.m = 300;
      problem.n = 400;
      problem.k = 270;
      problem.alpha = alpha;
      problem.beta = beta;
      problem.a = {a.data(), 270, 1, 0};
      problem.b = {b.data(), 400, 1, 0};
      problem.c = {c.data(), 400, 1, 0};
      flop_counts counts;
      {
        const counting_scope scope(counts);
        backend::run_canonical_gemm(problem);
      }
      EXPECT_EQ(counts, backend::canonical_gemm_counts(300, 400, 270, 1, alpha, beta));
    }
  }
}

TEST(gemm_dispatch, only_vendors_of_devices_and_onednn_take_units_for_matrix_products) {
  EXPECT_FALSE(gemm_uses_matrix_units(kind_of<space>, dtype::f16, "portable"));
  EXPECT_FALSE(gemm_uses_matrix_units(kind_of<space>, dtype::f16, "scale"));
  for (const std::string_view name : gemm_implementations(kind_of<host>, dtype::bf16)) {
    EXPECT_EQ(gemm_uses_matrix_units(kind_of<host>, dtype::bf16, name), name == "onednn") << name;
  }
  for (const std::string_view name : gemm_implementations(kind_of<space>, dtype::f16)) {
    const bool is_vendor_of_a_device = !is_host_space<space> && name != "portable";
    EXPECT_EQ(gemm_uses_matrix_units(kind_of<space>, dtype::f16, name), is_vendor_of_a_device || name == "onednn")
        << name;
  }
}

}  // namespace
}  // namespace prumo
