// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What compilers write differently or warn about.

#include <cstddef>
#include <cstdint>

namespace prumo::detail {

/// T[Count]. With -Wsign-conversion, compilers warn about an array whose length depends on a signed parameter.
template <class T, std::int64_t Count>
using c_array = T[static_cast<std::size_t>(Count)];

/// Room for numbers that are written before they are read. An array of 16-bit numbers is filled with zeros first, and
/// GCC 12 does so by an instruction that starts slowly: functions of large bf16 arrays took 1.2 to 1.45 times as long.
template <class T, std::int64_t Count, std::size_t Alignment = alignof(T)>
class room_for {
 public:
  T* numbers() { return reinterpret_cast<T*>(bytes_); }

 private:
  alignas(Alignment) unsigned char bytes_[static_cast<std::size_t>(Count) * sizeof(T)];
};

}  // namespace prumo::detail

/// Before a loop whose iterations are independent: the compiler may vectorise it without checking that the arrays do
/// not overlap.
#if defined(__clang__)
#define PRUMO_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PRUMO_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define PRUMO_INDEPENDENT_ITERATIONS
#endif

/// Before a host function with such loops: everything that it calls is compiled into it. Compilers make a long
/// formula a separate function if several loops call it, and the loops are then ten times as slow.
#if defined(__GNUC__)
#define PRUMO_FLATTEN [[gnu::flatten]]
#else
#define PRUMO_FLATTEN
#endif

/// Before a short loop that must be unrolled completely, so that the array in it can stay in registers.
#if defined(__clang__) || defined(__CUDA_ARCH__)
#define PRUMO_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define PRUMO_UNROLL _Pragma("GCC unroll 64")
#else
#define PRUMO_UNROLL
#endif

/// Before a loop of a device's kernel that must not be unrolled. Unrolled, it would take registers that the loads of
/// other threads need.
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

/// In a loop on a host: hides from the compiler how a number or an address was computed. So it stays in a register of
/// its own. Otherwise compilers compute it from others again, or keep many sums of it, for which registers do not
/// suffice.
#if defined(__GNUC__) && !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#define PRUMO_KEEP_IN_REGISTER(number) asm("" : "+r"(number))
#else
#define PRUMO_KEEP_IN_REGISTER(number) static_cast<void>(number)
#endif

#if defined(__CUDACC__)
// nvcc warns that it does not know GCC's pragmas, and passes them to the host's compiler.
#pragma nv_diag_suppress 1675
#endif

/// Before a template that is compiled for the device and the host, but for the host alone with counting scalars. nvcc
/// would warn about each instantiation with such scalars.
#if defined(__CUDACC__)
#define PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK _Pragma("nv_exec_check_disable")
#else
#define PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
#endif

/// Around functions that are right only if each operation rounds, and that a program with -ffast-math may include.
/// GCC has no such thing for parts of a file: see rounded_sum().
#if defined(__clang__) && defined(__FAST_MATH__) && !defined(__HIP__) && !defined(__CUDA__)
#define PRUMO_BEGIN_PRECISE _Pragma("float_control(precise, on, push)")
#define PRUMO_END_PRECISE _Pragma("float_control(pop)")
#else
#define PRUMO_BEGIN_PRECISE
#define PRUMO_END_PRECISE
#endif

/// In front of a lambda's body: it is compiled into its caller.
#if defined(__GNUC__)
#define PRUMO_ALWAYS_INLINE __attribute__((always_inline))
#else
#define PRUMO_ALWAYS_INLINE
#endif
