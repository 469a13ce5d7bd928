// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The loops, by operation and implementation. Each file of kernels is compiled with flags of its own and includes
/// nothing that has inline functions worth sharing.

#include <cstdint>
#include <span>

namespace prumo::peers {

/// One call. Which arrays, extents and parameters there are, the operation says.
struct call {
  void* arrays[3] = {};
  std::int64_t n = 0;  ///< elements; columns of C for gemm
  std::int64_t m = 0;
  std::int64_t k = 0;
  double alpha = 1;
  double beta = 0;
  bool trans_a = false;
  bool trans_b = false;
};

using kernel = void (*)(const call&);

struct implementation {
  const char* op;
  const char* name;
  kernel f32;
  kernel f64;
  double ulps;  ///< largest error of an entry, in units in the last place; 0 where the operation has a bound of its own
};

/// `for` loops over OpenMP's static partition, vectorised by the compiler.
std::span<const implementation> plain_loops();

/// The same with stores past the caches; empty where the processor has none.
std::span<const implementation> streaming_loops();

/// Loops under -ffast-math, in which GCC calls the C library's vector mathematics (libmvec); empty elsewhere.
std::span<const implementation> vector_library_loops();

/// The BLAS called directly; empty where there is none.
std::span<const implementation> blas_calls();

/// Threads that the loops run on.
int thread_count();

}  // namespace prumo::peers
