// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handles that a context owns or adopts.

#include "blas_form.hpp"
#include <prumo/backend/cuda_context.hpp>
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cublas_v2.h>
#include <string>

namespace prumo {
namespace {

using matrix = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::CudaSpace>;

class adopted_handle : public testing::Test {
 public:
  adopted_handle() { EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS); }
  ~adopted_handle() override { cublasDestroy(handle); }

 protected:
  void multiply(context<Kokkos::Cuda>& ctx) const {
    backend::gemm_problem<float> problem;
    problem.m = problem.n = problem.k = extent;
    problem.a = {a.data(), extent, 1, 0};
    problem.b = {b.data(), extent, 1, 0};
    problem.c = {c.data(), extent, 1, 0};
    for (const auto& candidate : backend::vendor_gemm_candidates<Kokkos::Cuda, float>(false)) {
      backend::blas_form<float> form;
      if (candidate.name != "cublas") continue;
      ASSERT_EQ(candidate.prepare(ctx.instance(), problem, form), "");
      candidate.run(ctx, problem, form);
    }
    ctx.fence();
    EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, c)(3, 4), 64.0f);
  }

  static matrix filled(const std::string& label, float value) {
    const matrix result(label, extent, extent);
    Kokkos::deep_copy(result, value);
    return result;
  }

  static constexpr int extent = 32;
  cublasHandle_t handle = nullptr;
  matrix a = filled("a", 1.0f);
  matrix b = filled("b", 2.0f);
  matrix c = filled("c", 0.0f);
};

TEST_F(adopted_handle, computes_and_keeps_the_state_that_its_owner_set) {
  context<Kokkos::Cuda> ctx;
  ASSERT_EQ(cublasSetStream(handle, ctx.instance().cuda_stream()), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
  adopt_cublas_handle(ctx, handle);
  multiply(ctx);
  cublasPointerMode_t pointers{};
  cublasMath_t math{};
  cublasGetPointerMode(handle, &pointers);
  cublasGetMathMode(handle, &math);
  EXPECT_EQ(pointers, CUBLAS_POINTER_MODE_DEVICE);
  EXPECT_EQ(math, CUBLAS_TF32_TENSOR_OP_MATH);
}

TEST_F(adopted_handle, of_another_stream_is_refused) {
  const auto instances = Kokkos::Experimental::partition_space(Kokkos::Cuda(), 1);
  context<Kokkos::Cuda> ctx(instances[0]);
  EXPECT_THAT([&] { adopt_cublas_handle(ctx, handle); },
              testing::ThrowsMessage<argument_error>(testing::HasSubstr("bound to another stream")));
  multiply(ctx);
}

TEST_F(adopted_handle, comes_before_the_first_product) {
  context<Kokkos::Cuda> ctx;
  multiply(ctx);
  cublasSetStream(handle, ctx.instance().cuda_stream());
  EXPECT_THAT([&] { adopt_cublas_handle(ctx, handle); },
              testing::ThrowsMessage<argument_error>(testing::HasSubstr("has a handle already")));
}

}  // namespace
}  // namespace prumo
