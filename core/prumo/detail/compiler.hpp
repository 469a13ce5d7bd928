// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What compilers spell differently.

/// Before a loop whose iterations do not depend on one another: the compiler may vectorise it without checking that
/// its arrays are apart.
#if defined(__clang__)
#define PRUMO_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PRUMO_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define PRUMO_INDEPENDENT_ITERATIONS
#endif

/// Before a short loop that is to be unrolled whole, so that an array it walks can live in registers.
#if defined(__clang__) || defined(__CUDA_ARCH__)
#define PRUMO_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define PRUMO_UNROLL _Pragma("GCC unroll 64")
#else
#define PRUMO_UNROLL
#endif
