// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/host_blas.hpp>

#include <Kokkos_Macros.hpp>

#include <utility>

#if defined(PRUMO_HAS_CBLAS)
#include "blas_threads.hpp"
#include "openblas_kernels.hpp"
#endif

namespace prumo::backend {

std::string host_blas_description() {
#if !defined(PRUMO_HAS_CBLAS)
  return {};
#elif defined(PRUMO_CBLAS_IS_OPENBLAS)
  return openblas_get_config();
#else
  return "a CBLAS that does not tell its name";
#endif
}

std::vector<std::string> host_blas_warnings() {
  std::vector<std::string> warnings;
#if !defined(PRUMO_HAS_CBLAS)
  warnings.push_back("no CBLAS was found when prumo was built: the matrix product is the portable kernel");
#elif defined(PRUMO_CBLAS_IS_OPENBLAS)
#if defined(KOKKOS_ENABLE_OPENMP)
  if (threading_of_blas() == blas_threading::none) {
    warnings.push_back("this OpenBLAS is sequential: the matrix product runs on one thread");
  }
#endif
#if defined(__x86_64__)
  const std::string kernels = openblas_get_corename();
  if (std::string slow = why_openblas_is_slow(kernels, vectors_of_this_processor()); !slow.empty()) {
    warnings.push_back(std::move(slow));
  }
  if (__builtin_cpu_supports("avx512f") && (kernels == "Haswell" || kernels == "Zen")) {
    warnings.push_back(
        "this OpenBLAS runs its " + kernels +
        " kernels, which do not use the 512-bit vectors of this processor; OPENBLAS_CORETYPE=SkylakeX in "
        "the environment makes it use them");
  }
#endif
#endif
  return warnings;
}

}  // namespace prumo::backend
