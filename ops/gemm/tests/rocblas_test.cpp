// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Handles that a context owns or adopts.

#include "blas_form.hpp"
#include <prumo/backend/hip_context.hpp>
#include <prumo/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocblas/rocblas.h>
#include <string>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // rocblas_set_atomics_mode announces another default

namespace prumo {
namespace {

using matrix = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HIPSpace>;

class adopted_handle : public testing::Test {
 public:
  adopted_handle() { EXPECT_EQ(rocblas_create_handle(&handle), rocblas_status_success); }
  ~adopted_handle() override { rocblas_destroy_handle(handle); }

 protected:
  void multiply(context<Kokkos::HIP>& ctx) const {
    backend::gemm_problem<float> problem;
    problem.m = problem.n = problem.k = 32;
    problem.a = {a.data(), 32, 1, 0};
    problem.b = {b.data(), 32, 1, 0};
    problem.c = {c.data(), 32, 1, 0};
    const auto rocblas = backend::vendor_gemm_candidates<Kokkos::HIP, float>(false).front();
    backend::blas_form<float> form;
    ASSERT_EQ(rocblas.prepare(ctx.instance(), problem, form), "");
    rocblas.run(ctx, problem, form);
    ctx.fence();
    EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, c)(3, 4), 64.0f);
  }

  static matrix filled(const std::string& label, float value) {
    const matrix result(label, 32, 32);
    Kokkos::deep_copy(result, value);
    return result;
  }

  rocblas_handle handle = nullptr;
  matrix a = filled("a", 1.0f);
  matrix b = filled("b", 2.0f);
  matrix c = filled("c", 0.0f);
};

TEST_F(adopted_handle, computes_and_keeps_the_state_that_its_owner_set) {
  context<Kokkos::HIP> ctx;
  ASSERT_EQ(rocblas_set_stream(handle, ctx.instance().hip_stream()), rocblas_status_success);
  ASSERT_EQ(rocblas_set_pointer_mode(handle, rocblas_pointer_mode_device), rocblas_status_success);
  ASSERT_EQ(rocblas_set_atomics_mode(handle, rocblas_atomics_allowed), rocblas_status_success);
  adopt_rocblas_handle(ctx, handle);
  multiply(ctx);
  rocblas_pointer_mode pointers{};
  rocblas_atomics_mode atomics{};
  rocblas_get_pointer_mode(handle, &pointers);
  rocblas_get_atomics_mode(handle, &atomics);
  EXPECT_EQ(pointers, rocblas_pointer_mode_device);
  EXPECT_EQ(atomics, rocblas_atomics_allowed);
}

TEST_F(adopted_handle, of_another_stream_is_refused) {
  const auto instances = Kokkos::Experimental::partition_space(Kokkos::HIP(), 1);
  context<Kokkos::HIP> ctx(instances[0]);
  EXPECT_THAT([&] { adopt_rocblas_handle(ctx, handle); },
              testing::ThrowsMessage<argument_error>(testing::HasSubstr("bound to another stream")));
  multiply(ctx);
}

TEST_F(adopted_handle, comes_before_the_first_product) {
  context<Kokkos::HIP> ctx;
  multiply(ctx);
  rocblas_set_stream(handle, ctx.instance().hip_stream());
  EXPECT_THAT([&] { adopt_rocblas_handle(ctx, handle); },
              testing::ThrowsMessage<argument_error>(testing::HasSubstr("has a handle already")));
}

}  // namespace
}  // namespace prumo
