// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An OpenBLAS whose kernels are older than the processor. ctest runs the tests of the product with such kernels, too.

#include "openblas_kernels.hpp"

#include <prumo/gemm.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

// Null where the BLAS is none of OpenBLAS.
extern "C" {
[[gnu::weak]] char* openblas_get_corename();
}

namespace prumo {
namespace {

using backend::why_openblas_is_slow;
using backend::x86_vectors;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(openblas_kernels, that_are_older_than_the_processor_are_told_with_the_remedy) {
  EXPECT_EQ(why_openblas_is_slow("Prescott", x86_vectors::avx512),
            "this OpenBLAS runs its Prescott kernels, which do not use the AVX-512 instructions of this processor; "
            "install a newer OpenBLAS, or set OPENBLAS_CORETYPE=SkylakeX in the environment before the program starts");
  EXPECT_THAT(why_openblas_is_slow("Nehalem", x86_vectors::avx2),
              AllOf(HasSubstr("Nehalem"), HasSubstr("AVX2"), HasSubstr("OPENBLAS_CORETYPE=Haswell")));
  EXPECT_THAT(why_openblas_is_slow("SANDYBRIDGE", x86_vectors::avx2), HasSubstr("its SANDYBRIDGE kernels"));
}

TEST(openblas_kernels, that_fit_the_processor_are_taken) {
  EXPECT_THAT(why_openblas_is_slow("Haswell", x86_vectors::avx2), IsEmpty());
  EXPECT_THAT(why_openblas_is_slow("Haswell", x86_vectors::avx512), IsEmpty());
  EXPECT_THAT(why_openblas_is_slow("Zen", x86_vectors::avx2), IsEmpty());
  EXPECT_THAT(why_openblas_is_slow("SkylakeX", x86_vectors::avx512), IsEmpty());
  EXPECT_THAT(why_openblas_is_slow("Prescott", x86_vectors::sse), IsEmpty());
  EXPECT_THAT(why_openblas_is_slow("a core of the future", x86_vectors::avx512), IsEmpty());
  EXPECT_THAT(why_openblas_is_slow("neoversev1", x86_vectors::sse), IsEmpty());
}

TEST(openblas_kernels, of_this_process_decide_about_products_that_no_one_asks_cblas_for) {
  if (openblas_get_corename == nullptr) GTEST_SKIP() << "the BLAS is no OpenBLAS";
  // In f64, because on some processors oneDNN comes before the BLAS in f32.
  const array_ref square(nullptr, dtype::f64, {2000, 2000});
  const auto name = [&](const gemm_options& options) {
    return gemm_implementation(Kokkos::DefaultHostExecutionSpace{}, transposition::no, transposition::no, 1, square,
                               square, 0, square, options);
  };
  EXPECT_EQ(name({.implementation = "cblas"}), "cblas");
#if defined(__AVX2__)
  const bool is_slow = !why_openblas_is_slow(openblas_get_corename(), backend::vectors_of_this_processor()).empty();
  EXPECT_EQ(name({}) == "cblas", !is_slow) << openblas_get_corename();
#endif
}

}  // namespace
}  // namespace prumo
