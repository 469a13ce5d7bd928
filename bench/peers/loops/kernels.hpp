// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The loops, by operation and implementation. Each file of kernels is compiled with flags of its own and includes
/// nothing that has inline functions worth sharing.

#include "call.hpp"

#include <span>

namespace prumo::peers {

using kernel = void (*)(const call&);

struct loop {
  const char* op;
  const char* name;
  kernel f32;
  kernel f64;
  double ulps;  ///< as implementation::ulps
};

/// `for` loops over OpenMP's static partition, vectorised by the compiler.
std::span<const loop> plain_loops();

/// The same with stores past the caches; empty where the processor has none.
std::span<const loop> streaming_loops();

/// Loops under -ffast-math, in which GCC calls the C library's vector mathematics (libmvec); empty elsewhere.
std::span<const loop> vector_library_loops();

/// The BLAS called directly; empty where there is none.
std::span<const loop> blas_calls();

/// Threads that the loops run on.
int thread_count();

}  // namespace prumo::peers
