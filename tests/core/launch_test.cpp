// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What registers are limited for, as compilers count it, and which threads of a host run a kernel.

#include <prumo/detail/launch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace prumo {
namespace {

using detail::host_work;

TEST(launch_bounds, are_wavefronts_of_a_simd_on_amd) {
  // CDNA: four SIMDs a compute unit, wavefronts of 64: 4 blocks of 256 are 16 wavefronts.
  EXPECT_EQ(detail::wavefronts_per_simd(256, 4, 64), 4u);
  EXPECT_EQ(detail::wavefronts_per_simd(512, 3, 64), 6u);
  EXPECT_EQ(detail::wavefronts_per_simd(1024, 1, 64), 4u);
  EXPECT_EQ(detail::wavefronts_per_simd(64, 8, 64), 2u);
  // RDNA: four SIMDs a workgroup processor, wavefronts of 32.
  EXPECT_EQ(detail::wavefronts_per_simd(256, 4, 32), 8u);
  // One at least runs, and no wish stays none.
  EXPECT_EQ(detail::wavefronts_per_simd(64, 1, 64), 1u);
  EXPECT_EQ(detail::wavefronts_per_simd(512, 0, 64), 0u);
}

TEST(launch_bounds, are_as_they_are_elsewhere) {
  using bounds = Kokkos::LaunchBounds<256, 4>;
  EXPECT_TRUE(
      (std::is_same_v<typename detail::bounds_for_compiler<Kokkos::DefaultHostExecutionSpace, bounds>::type, bounds>));
#if defined(KOKKOS_ENABLE_CUDA)
  EXPECT_TRUE((std::is_same_v<typename detail::bounds_for_compiler<Kokkos::Cuda, bounds>::type, bounds>));
#endif
}

TEST(host_threads, are_all_or_one) {
  constexpr double launch = 1000;
  // Fifteen sixteenths of the time are saved by 16 threads.
  EXPECT_FALSE(detail::pays_for_launch(host_work{launch}, 1.0 / 16, launch));
  EXPECT_TRUE(detail::pays_for_launch(host_work{1.1 * launch}, 1.0 / 16, launch));
  // Two save half.
  EXPECT_FALSE(detail::pays_for_launch(host_work{1.9 * launch}, 0.5, launch));
  EXPECT_TRUE(detail::pays_for_launch(host_work{2.1 * launch}, 0.5, launch));
  // If one of 2 threads gets three quarters, a quarter is saved.
  EXPECT_FALSE(detail::pays_for_launch(host_work{2.1 * launch}, 0.75, launch));
  // One thread saves nothing.
  EXPECT_FALSE(detail::threads_pay(host_work::unknown(), 1, 1));
}

TEST(host_threads, are_started_for_a_second_and_not_for_a_nanosecond) {
  for (const int threads : {2, 16, 1000}) {
    EXPECT_FALSE(detail::threads_pay(host_work{1}, threads, 1.0 / threads)) << threads;
    EXPECT_TRUE(detail::threads_pay(host_work{1e9}, threads, 1.0 / threads)) << threads;
  }
}

TEST(host_threads, have_a_launch_that_is_measured_again_and_never_grows) {
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  double known = detail::launch_nanoseconds(threads);
  for (int call = 0; call < 3000; ++call) {
    const double now = detail::launch_nanoseconds(threads);
    ASSERT_LE(now, known);
    ASSERT_GT(now, 0);
    known = now;
  }
}

TEST(host_threads, work_is_estimated_from_what_is_read_and_written) {
  EXPECT_DOUBLE_EQ((host_work::streaming<float, float, float>(1000).nanoseconds), 120);
  EXPECT_GT((host_work::streaming<f16>(1000).nanoseconds), host_work::streaming<float>(1000).nanoseconds);
  // A word of 16 bits is moved and not converted.
  EXPECT_DOUBLE_EQ(host_work::streaming<std::uint16_t>(1000).nanoseconds, 20);
  EXPECT_DOUBLE_EQ((host_work{1} + host_work::repeated(10, 0.5)).nanoseconds, 6);
}

using host = Kokkos::DefaultHostExecutionSpace;

/// Notes which thread ran each block.
struct noting_kernel {
  std::vector<std::thread::id>* threads;
  std::vector<int>* visits;

  std::int64_t blocks() const { return static_cast<std::int64_t>(threads->size()); }
  void operator()(std::int64_t block) const {
    (*threads)[static_cast<std::size_t>(block)] = std::this_thread::get_id();
    ++(*visits)[static_cast<std::size_t>(block)];
  }
};

struct noted_run {
  std::vector<std::thread::id> threads;
  std::vector<int> visits;

  noted_run(const host& instance, std::size_t blocks, const host_work& work) : threads(blocks), visits(blocks) {
    detail::launch_blocks(instance, "noting", noting_kernel{&threads, &visits}, work);
  }
  bool is_all_on_the_calling_thread() const {
    return std::ranges::all_of(threads, [](std::thread::id id) { return id == std::this_thread::get_id(); });
  }
};

TEST(host_threads, small_work_stays_on_the_calling_thread) {
  const host instance;
  for (const std::size_t blocks : {1, 7, 1000}) {
    const noted_run run(instance, blocks, host_work{100});
    EXPECT_TRUE(run.is_all_on_the_calling_thread()) << blocks;
    EXPECT_EQ(run.visits, std::vector<int>(blocks, 1));
  }
  EXPECT_TRUE(noted_run(instance, 1, host_work::unknown()).is_all_on_the_calling_thread());
}

TEST(host_threads, share_large_work_evenly) {
  const host instance;
  const auto threads = static_cast<std::size_t>(concurrency_of(instance));
  for (const std::size_t blocks : {std::size_t{2}, std::size_t{7}, std::size_t{1000}, threads, 3 * threads + 1}) {
    const noted_run run(instance, blocks, host_work::unknown());
    EXPECT_EQ(run.visits, std::vector<int>(blocks, 1)) << blocks;
    EXPECT_EQ(run.is_all_on_the_calling_thread(), threads == 1 || blocks == 1) << blocks;
  }
  // Shares differ by one block at most, and follow each other.
  const detail::share_of_blocks shares{{nullptr, nullptr, 11}, 4};
  std::vector<std::int64_t> begins;
  for (std::int64_t thread = 0; thread <= 4; ++thread) begins.push_back(shares.first_of(thread));
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 3, 6, 9, 11}));
}

}  // namespace
}  // namespace prumo
