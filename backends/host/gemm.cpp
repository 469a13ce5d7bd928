// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cblas_gemm.hpp"
#include <prumo/backend/gemm.hpp>
#include <prumo/spaces.hpp>

#include <array>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace prumo::backend {
namespace {

/// Lets a library that follows OpenMP use as many threads as the instance has, whatever the caller's own
/// default is. The number belongs to the calling thread's own environment and is put back.
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

#if defined(PRUMO_HAS_CBLAS)
template <class Exec, class T>
std::string cblas_refuses(const Exec&, const gemm_problem<T>& problem) {
  return why_not_cblas(problem);
}

/// Instances of the host's spaces return from a launch when the work is done, so a plain call keeps their
/// order.
template <class Exec, class T>
void run_cblas(context<Exec>& ctx, const gemm_problem<T>& problem) {
  const openmp_threads_scope threads(concurrency_of(ctx.instance()));
  cblas_gemm(problem);
}
#endif

}  // namespace

template <class Exec, class T>
std::span<const gemm_candidate<Exec, T>> vendor_gemm_candidates() {
#if defined(PRUMO_HAS_CBLAS)
  static constexpr std::array<gemm_candidate<Exec, T>, 1> candidates{
      {{"cblas", cblas_refuses<Exec, T>, run_cblas<Exec, T>}}};
  return candidates;
#else
  return {};
#endif
}

#define PRUMO_INSTANTIATE_HOST_GEMM(Space, T) \
  template std::span<const gemm_candidate<Space, T>> vendor_gemm_candidates<Space, T>();
#define PRUMO_FOR_EACH_HOST_SPACE(macro, ...)           \
  PRUMO_IF_SERIAL(macro(::Kokkos::Serial, __VA_ARGS__)) \
  PRUMO_IF_OPENMP(macro(::Kokkos::OpenMP, __VA_ARGS__)) \
  PRUMO_IF_THREADS(macro(::Kokkos::Threads, __VA_ARGS__))
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_HOST_GEMM, bf16)

#if !defined(PRUMO_HAS_CBLAS)
std::string host_blas_description() { return {}; }

std::vector<std::string> host_blas_warnings() {
  return {"no CBLAS was found when prumo was built: the matrix product is the portable kernel"};
}
#endif

}  // namespace prumo::backend
