// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Judges the kernels that an OpenBLAS runs. OpenBLAS chooses them when it is loaded, by the model of the processor. If
/// it is older than the processor, it does not know the model and may fall back on kernels that are twenty years old.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace prumo::backend {

/// The vectors of a processor for x86-64.
enum class x86_vectors { sse, avx2, avx512 };

/// Those of the processor that this runs on; `sse` on other architectures.
inline x86_vectors vectors_of_this_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return x86_vectors::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return x86_vectors::avx2;
#endif
  return x86_vectors::sse;
}

/// Why the kernels for `core`, as OpenBLAS calls them, are far too slow for a processor with these vectors, and what to
/// do about it. Empty if they are not, or if the name is not known. Without AVX2 a kernel has half of the multiply-adds
/// at best, and a quarter without AVX. OpenBLAS' kernels for AVX2 on a processor with AVX-512 are no reason: nothing
/// else is certain to be faster.
inline std::string why_openblas_is_slow(std::string_view core, x86_vectors processor) {
  if (processor == x86_vectors::sse) return {};
  constexpr std::string_view before_avx2[] = {
      "katmai",      "coppermine", "northwood",  "prescott",    "banias",  "yonah",        "core2",     "penryn",
      "dunnington",  "nehalem",    "atom",       "athlon",      "opteron", "opteron_sse3", "barcelona", "bobcat",
      "sandybridge", "bulldozer",  "piledriver", "steamroller", "generic", "sse_generic",  "nano"};
  std::string name(core);
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  if (std::ranges::find(before_avx2, name) == std::end(before_avx2)) return {};
  const bool is_avx512 = processor == x86_vectors::avx512;
  return "this OpenBLAS runs its " + std::string(core) + " kernels, which do not use the " +
         (is_avx512 ? "AVX-512" : "AVX2") +
         " instructions of this processor; install a newer OpenBLAS, or set OPENBLAS_CORETYPE=" +
         (is_avx512 ? "SkylakeX" : "Haswell") + " in the environment before the program starts";
}

}  // namespace prumo::backend
