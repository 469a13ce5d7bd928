// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What registers are limited for, as compilers count it.

#include <prumo/detail/launch.hpp>

#include <gtest/gtest.h>

namespace prumo {
namespace {

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

}  // namespace
}  // namespace prumo
