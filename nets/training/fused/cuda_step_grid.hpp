// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Many training steps in one launch of CUDA, whose blocks meet at barriers of the whole grid. Kokkos has no such
/// launch.

#include "team_kernels.hpp"
#include <prumo/detail/launch.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

namespace prumo::nets {

/// The place where all blocks of a grid meet. What a block wrote before is seen by all blocks afterwards.
///
/// The counter is 0 when the kernel starts. Blocks add to it and wait until all have done so. The first thread's
/// release and acquire hold for its block, because barriers of the block stand before and behind.
class grid_barrier {
 public:
  __device__ __forceinline__ explicit grid_barrier(unsigned* counter) : counter_(counter) {}

  __device__ __forceinline__ void operator()() {
    wanted_ += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter_) : "memory");
      unsigned there;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(counter_) : "memory");
      } while (there < wanted_);
    }
    __syncthreads();
  }

 private:
  unsigned* counter_;
  unsigned wanted_ = 0;
};

/// The entry function of whole steps by blocks that meet.
template <class C>
__global__ void __launch_bounds__(step_threads, 1)
    run_step_grid(const __grid_constant__ step_data<C> data, const step_part part, unsigned* const counter) {
  using team_type = device_step_team<prumo::detail::cuda_team_member>;
  prumo::detail::wait_for_kernels_before();
  const prumo::detail::cuda_team_member member;
  const team_type team(member, step_threads);
  const step_body<team_type, C> body(team, data, step_scratch_in<C>(prumo::detail::cuda_team_memory, *data.table));
  grid_barrier barrier(counter);
  run_steps(body, part, {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)}, barrier);
}

}  // namespace prumo::nets

#endif
