// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Threads of the BLAS itself. An OpenBLAS may be built with threads of its own. They compete for the cores with those
/// of OpenMP, which spin between regions, and they ignore the number of threads of an instance.

#include <cblas.h>

#include <mutex>

namespace prumo::backend {

/// What OpenBLAS computes on.
enum class blas_threading { none, own_threads, openmp, unknown };

inline blas_threading threading_of_blas() {
#if defined(PRUMO_CBLAS_IS_OPENBLAS)
  switch (openblas_get_parallel()) {
    case 0: return blas_threading::none;
    case 1: return blas_threading::own_threads;
    default: return blas_threading::openmp;
  }
#else
  return blas_threading::unknown;
#endif
}

/// While one of these lives, a BLAS with threads of its own computes each product on the thread that calls. Several
/// threads may then call it, each for itself. The number of its threads is a setting of the whole process, so the last
/// scope to end puts it back.
class calling_thread_scope {
 public:
#if defined(PRUMO_CBLAS_IS_OPENBLAS)
  calling_thread_scope() : limits_(threading_of_blas() == blas_threading::own_threads) {
    if (!limits_) return;
    const std::lock_guard<std::mutex> lock(setting().mutex);
    if (setting().scopes++ > 0) return;
    setting().threads_before = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
  ~calling_thread_scope() {
    if (!limits_) return;
    const std::lock_guard<std::mutex> lock(setting().mutex);
    if (--setting().scopes == 0) openblas_set_num_threads(setting().threads_before);
  }

 private:
  struct process_setting {
    std::mutex mutex;
    int scopes = 0;
    int threads_before = 1;
  };
  static process_setting& setting() {
    static process_setting of_process;
    return of_process;
  }
  bool limits_;
#else
  calling_thread_scope() {}
  ~calling_thread_scope() {}
#endif

 public:
  calling_thread_scope(const calling_thread_scope&) = delete;
  calling_thread_scope& operator=(const calling_thread_scope&) = delete;
};

}  // namespace prumo::backend
