// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Kernels live in an inline namespace named after the instruction set that they are compiled for. The library may be
/// compiled for another one than the program that embeds it and instantiates `prumo::transform`. If the names were the
/// same, the linker would keep only one copy of each kernel, perhaps one that this machine cannot run.

#if defined(__AVX512F__)
#define PRUMO_INSTRUCTION_SET avx512
#elif defined(__AVX2__)
#define PRUMO_INSTRUCTION_SET avx2
#elif defined(__AVX__)
#define PRUMO_INSTRUCTION_SET avx
#elif defined(__SSE2__)
#define PRUMO_INSTRUCTION_SET sse2
#elif defined(__ARM_FEATURE_SVE)
#define PRUMO_INSTRUCTION_SET sve
#elif defined(__ARM_NEON)
#define PRUMO_INSTRUCTION_SET neon
#else
#define PRUMO_INSTRUCTION_SET baseline
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Whether the code is compiled for AMD's Zen 3 to 5, as `-march=native` does there. The same instructions take other
/// times there than on Intel's processors, so some choices differ.
#if defined(__znver3__) || defined(__znver4__) || defined(__znver5__)
inline constexpr bool compiled_for_zen = true;
#else
inline constexpr bool compiled_for_zen = false;
#endif

/// Whether the code is compiled for Intel's servers of the Skylake generation (to Cooper Lake), which have AVX-512.
/// Their nearest cache has 32 KiB, where later ones have 48.
#if defined(__AVX512F__) && !defined(__AVX512VBMI__)
inline constexpr bool compiled_for_skylake = true;
#else
inline constexpr bool compiled_for_skylake = false;
#endif

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
