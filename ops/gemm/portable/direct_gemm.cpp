// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct_gemm.hpp"

#include "direct_gemm_host.hpp"
#include "openmp_threads.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace prumo::backend {

namespace {

/// What decides about threads: on Intel's servers, half of the time that a product takes. On an Emerald Rapids, 60 x 60
/// x 60 took one thread 3.6 us and two 5.6, and 100 x 100 x 20 took 4.0 and 5.7: two threads exchange more lines than
/// for arrays that they read or write in order. If a nearest cache does not hold C, it takes longer to write C: 916 x
/// 99 x 1 in f32 took one thread 17 us, and takes two 9.6.
prumo::detail::host_work work_to_share(const prumo::detail::host_work& work, [[maybe_unused]] std::int64_t written) {
#if defined(__AMX_TILE__)
  constexpr std::int64_t near_bytes = 32768;
  constexpr double of_a_byte = 0.04;
  const auto of_c = prumo::detail::host_work::repeated(written > near_bytes ? written : 0, of_a_byte);
  return {(work.nanoseconds + of_c.nanoseconds) / 2};
#else
  return work;
#endif
}

}  // namespace

template <class Exec, class T>
void enqueue_direct_product(context<Exec>& ctx, const gemm_problem<T>& given) {
  using C = compute_t<T>;
  const gemm_problem<T> problem = turned_for_direct(given);
  const std::int64_t entries = problem.m * problem.n * problem.batch;
  const std::int64_t read = (problem.m + problem.n) * problem.k * problem.batch;
  // Vectors of sums that are wider than C take as long as whole ones.
  constexpr std::int64_t lanes = simd<C>::lanes;
  const std::int64_t sums = problem.m * problem.batch * ((problem.n + lanes - 1) / lanes * lanes);
  const auto footprint = static_cast<std::size_t>(entries + read) * sizeof(T);
  const auto work = work_to_share(prumo::detail::multiply_add_work<C>(sums * problem.k) +
                                      prumo::detail::host_work::streaming<T>(entries + read),
                                  entries * static_cast<std::int64_t>(sizeof(T))) +
                    prumo::detail::memory_work(footprint, ctx.working_set());
  const bool streams =
      prumo::detail::has_streaming_stores && prumo::detail::should_stream(footprint, ctx.working_set());
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
