// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What calls of the host's BLAS have in common: the threads that it may use, and the spaces that use it.

#include <prumo/spaces.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace prumo::backend {

/// Lets a library that uses OpenMP run on the threads of the instance, whatever the caller's default is. The number is
/// a setting of the calling thread, and is put back afterwards.
class openmp_threads_scope {
 public:
#if defined(_OPENMP)
  explicit openmp_threads_scope(int threads) : previous_(omp_get_max_threads()) {
    if (previous_ != threads) omp_set_num_threads(threads);
  }
  ~openmp_threads_scope() {
    if (previous_ != omp_get_max_threads()) omp_set_num_threads(previous_);
  }

 private:
  int previous_;
#else
  explicit openmp_threads_scope(int) {}
  ~openmp_threads_scope() {}
#endif

 public:
  openmp_threads_scope(const openmp_threads_scope&) = delete;
  openmp_threads_scope& operator=(const openmp_threads_scope&) = delete;
};

}  // namespace prumo::backend

#define PRUMO_FOR_EACH_HOST_SPACE(macro, ...)           \
  PRUMO_IF_SERIAL(macro(::Kokkos::Serial, __VA_ARGS__)) \
  PRUMO_IF_OPENMP(macro(::Kokkos::OpenMP, __VA_ARGS__)) \
  PRUMO_IF_THREADS(macro(::Kokkos::Threads, __VA_ARGS__))
