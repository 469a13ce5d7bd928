// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Functions for which GPUs have an instruction and C++ has no name. They do not exist on a host.

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

#include <Kokkos_Macros.hpp>

namespace prumo::detail {

/// 1/x within a unit in the last place. It is 0 if 1/x is subnormal, and infinity if x is.
KOKKOS_FORCEINLINE_FUNCTION float approximate_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return __builtin_amdgcn_rcpf(x);
#endif
}

/// 2^-x within two units in the last place, or 0 if that is subnormal. The instruction takes the sign for free. With
/// the sign outside of it, compilers would compute a product and also its negative.
KOKKOS_FORCEINLINE_FUNCTION float approximate_exp2_of_negative(float x) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("{ .reg .f32 negative; neg.f32 negative, %1; ex2.approx.ftz.f32 %0, negative; }" : "=f"(result) : "f"(x));
  return result;
#else
  return __builtin_amdgcn_exp2f(-x);
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

/// The larger number; NaN if one of them is NaN.
KOKKOS_FORCEINLINE_FUNCTION float maximum_or_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

/// The smaller number; NaN if one of them is NaN.
KOKKOS_FORCEINLINE_FUNCTION float minimum_or_nan(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

#endif

}  // namespace prumo::detail

#endif
