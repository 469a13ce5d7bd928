// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct_gemm.hpp"

#include "direct_gemm_host.hpp"
#include "openmp_threads.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <string>

namespace prumo::backend {

template <class Exec, class T>
void enqueue_direct_product(context<Exec>& ctx, const gemm_problem<T>& given) {
  using C = compute_t<T>;
  const gemm_problem<T> problem = turned_for_direct(given);
  const std::int64_t entries = problem.m * problem.n * problem.batch;
  const std::int64_t read = (problem.m + problem.n) * problem.k * problem.batch;
  const auto work =
      prumo::detail::multiply_add_work<C>(entries * problem.k) + prumo::detail::host_work::streaming<T>(entries + read);
  const bool streams =
      prumo::detail::has_streaming_stores &&
      prumo::detail::should_stream(static_cast<std::size_t>(entries + read) * sizeof(T), ctx.working_set());
  direct_gemm_host_kernel<T> kernel(problem, streams, prumo::detail::threads_for(ctx.instance(), work));
  const std::int64_t partial = kernel.workspace_elements();
  if (partial > 0) {
    kernel.set_workspace(static_cast<C*>(ctx.workspace(static_cast<std::size_t>(partial) * sizeof(C))));
  }
  static const std::string label = "prumo::gemm::direct";
  prumo::detail::launch_blocks(ctx.instance(), label, kernel, work);
  if (partial > 0) {
    static const std::string parts_label = "prumo::gemm::direct_parts";
    prumo::detail::launch_blocks(ctx.instance(), parts_label, direct_combination_kernel<T>{kernel},
                                 prumo::detail::host_work::streaming<C>(partial));
  }
}

#define PRUMO_INSTANTIATE_DIRECT_PRODUCT(Space, T) \
  template void enqueue_direct_product<Space, T>(context<Space>&, const gemm_problem<T>&);
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_DIRECT_PRODUCT, float)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_DIRECT_PRODUCT, double)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_DIRECT_PRODUCT, f16)
PRUMO_FOR_EACH_HOST_SPACE(PRUMO_INSTANTIATE_DIRECT_PRODUCT, bf16)

}  // namespace prumo::backend
