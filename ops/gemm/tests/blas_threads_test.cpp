// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An OpenBLAS with threads of its own. Tests of it are skipped with any other BLAS; where both are installed, ctest
// runs them with each.

#include <prumo/gemm.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

// Null where the BLAS is none of OpenBLAS.
extern "C" {
[[gnu::weak]] int openblas_get_parallel();
[[gnu::weak]] int openblas_get_num_threads();
[[gnu::weak]] void openblas_set_num_threads(int);
}

namespace prumo {
namespace {

class openblas_with_own_threads : public testing::Test {
 public:
  void SetUp() override {
    if (openblas_get_parallel == nullptr || openblas_get_parallel() != 1) {
      GTEST_SKIP() << "the BLAS is no OpenBLAS with threads of its own";
    }
    threads_before_ = openblas_get_num_threads();
    openblas_set_num_threads(2);
  }
  void TearDown() override {
    if (threads_before_ > 0) openblas_set_num_threads(threads_before_);
  }

 protected:
  /// The product of matrices of small integers, so that every order of summation has the same result.
  std::vector<float> product(std::string_view implementation, std::int64_t batch, std::int64_t m, std::int64_t n,
                             std::int64_t k) {
    const auto integers = [](std::int64_t count, std::int64_t factor) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(static_cast<std::int64_t>(i) * factor % 7 - 3);
      }
      return values;
    };
    std::vector<float> a = integers(batch * m * k, 5), b = integers(batch * k * n, 11), c = integers(batch * m * n, 3);
    const array_ref c_matrices{c.data(), dtype::f32, {batch, m, n}};
    gemm(ctx_, transposition::no, transposition::no, 2, array_ref{a.data(), dtype::f32, {batch, m, k}},
         array_ref{b.data(), dtype::f32, {batch, k, n}}, 1, c_matrices, {.implementation = implementation});
    ctx_.fence();
    return c;
  }

 private:
  int threads_before_ = 0;
  context<Kokkos::DefaultHostExecutionSpace> ctx_;
};

TEST_F(openblas_with_own_threads, computes_parts_on_the_threads_of_openmp) {
  const std::int64_t shapes[][4] = {
      {1, 200, 300, 150}, {1, 1, 30000, 100}, {1, 30000, 1, 100}, {3, 150, 149, 151}, {50, 9, 8, 7}};
  for (const auto& [batch, m, n, k] : shapes) {
    EXPECT_EQ(product("cblas", batch, m, n, k), product("portable", batch, m, n, k)) << m << " x " << n << " x " << k;
    EXPECT_EQ(openblas_get_num_threads(), 2) << "the setting of the process was not put back";
  }
}

TEST_F(openblas_with_own_threads, is_limited_to_the_thread_that_calls) {
  std::atomic<bool> was_limited = false, ends = false;
  std::thread watcher([&] {
    while (!ends && !was_limited) was_limited = openblas_get_num_threads() == 1;
  });
  for (int call = 0; call < 2000 && !was_limited; ++call) product("cblas", 1, 130, 130, 130);
  ends = true;
  watcher.join();
  EXPECT_TRUE(was_limited);
}

}  // namespace
}  // namespace prumo
