// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What compilers spell differently, or take amiss.

#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// T[Count]. Compilers that are asked to (-Wsign-conversion) warn of each array whose length depends on a signed
/// template parameter.
template <class T, std::int64_t Count>
using c_array = T[static_cast<std::size_t>(Count)];

}  // namespace prumo::detail

/// Before a loop whose iterations do not depend on one another: the compiler may vectorise it without checking that
/// its arrays are apart.
#if defined(__clang__)
#define PRUMO_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PRUMO_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define PRUMO_INDEPENDENT_ITERATIONS
#endif

/// Before a function of a host around such loops: all that it calls is compiled into it. A formula that stays a
/// function of its own, as compilers leave a long one that is called from several loops, makes them ten times as slow.
#if defined(__GNUC__)
#define PRUMO_FLATTEN __attribute__((flatten))
#else
#define PRUMO_FLATTEN
#endif

/// Before a short loop that is to be unrolled whole, so that an array it walks can live in registers.
#if defined(__clang__) || defined(__CUDA_ARCH__)
#define PRUMO_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define PRUMO_UNROLL _Pragma("GCC unroll 64")
#else
#define PRUMO_UNROLL
#endif

/// Before a loop of a device's kernel that is to stay a loop: unrolled, it would take the registers that other threads'
/// loads want.
#if defined(__CUDA_ARCH__) || (defined(__clang__) && defined(__HIP_DEVICE_COMPILE__))
#define PRUMO_KEEP_LOOP _Pragma("unroll 1")
#else
#define PRUMO_KEEP_LOOP
#endif

/// Between the steps of an unrolled loop on a device: what follows from the int is computed after this place. AMD's
/// compiler computes all the addresses of such a loop before its first step, far beyond the registers that there are.
#if defined(__AMDGCN__)
#define PRUMO_COMPUTE_FROM_HERE(integer) asm volatile("" : "+v"(integer))
#else
#define PRUMO_COMPUTE_FROM_HERE(integer) static_cast<void>(integer)
#endif

#if defined(__CUDACC__)
// nvcc does not know GCC's pragmas, says so, and hands them on to the host's compiler.
#pragma nv_diag_suppress 1675
#endif

/// Before a template that is compiled for the device where its arguments are, and for the host alone where they are
/// counting scalars: nvcc would warn of every such instantiation.
#if defined(__CUDACC__)
#define PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK _Pragma("nv_exec_check_disable")
#else
#define PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
#endif
