// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "openmp_threads.hpp"
#include "shallow_gemm_host.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <string>

namespace prumo::backend {

template <class Exec, class T>
void enqueue_shallow_product(context<Exec>& ctx, const gemm_problem<T>& problem) {
  const std::int64_t entries = problem.m * problem.n * problem.batch;
  const std::int64_t read = (problem.m + problem.n) * problem.k * problem.batch;
  const auto work =
      prumo::detail::multiply_add_work<T>(entries * problem.k) + prumo::detail::host_work::streaming<T>(entries + read);
  const bool streams =
      prumo::detail::has_streaming_stores &&
      prumo::detail::should_stream(static_cast<std::size_t>(entries + read) * sizeof(T), ctx.working_set());
  static const std::string label = "prumo::gemm::shallow";
  const shallow_gemm_host_kernel<T> kernel(problem, streams, prumo::detail::threads_for(ctx.instance(), work));
  prumo::detail::launch_blocks(ctx.instance(), label, kernel, work);
}

#define PRUMO_INSTANTIATE_SHALLOW_PRODUCT(Space, T) \
  template void enqueue_shallow_product<Space, T>(context<Space>&, const gemm_problem<T>&);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_SHALLOW_PRODUCT, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_SHALLOW_PRODUCT, double)

}  // namespace prumo::backend
