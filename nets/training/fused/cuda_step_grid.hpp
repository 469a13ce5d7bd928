// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Many training steps in one launch of CUDA, whose blocks meet at barriers of the whole grid. Kokkos has no such
/// launch.

#include "single_image_steps.hpp"

#include <prumo/detail/launch.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

namespace prumo::nets {

/// The place where all blocks of a grid meet. What a block wrote before is seen by all blocks afterwards.
///
/// The counter is 0 when the kernel starts. Blocks add to it and wait until all have done so. The first thread's release
/// and acquire hold for its block, because barriers of the block stand before and behind.
class grid_barrier {
 public:
  __device__ __forceinline__ explicit grid_barrier(unsigned* counter) : counter_(counter) {}

  __device__ __forceinline__ void wait() {
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

template <class C, int Threads>
__global__ void __launch_bounds__(Threads, 1)
    run_step_grid(const __grid_constant__ step_data<C> data, unsigned* const counter) {
  using team_type = device_step_team<prumo::detail::cuda_team_member>;
  const prumo::detail::cuda_team_member member;
  const team_type team(member, Threads);
  const step_body<team_type, C> body(team, data, step_scratch_in<C>(prumo::detail::cuda_team_memory, *data.table));
  const double rate = data.counters->rate, optimizer_step = data.counters->optimizer_step;
  grid_barrier barrier(counter);
  body.begin();
  const step_table& table = body.table();
  const int tiles = update_tiles(table);
  const bool is_first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  if (is_first_thread && data.counters->step == data.steps_per_epoch) {
    data.counters->sums[0] = data.counters->sums[1] = 0;
  }
  PRUMO_STEP_MARK(-1);
  for (std::int64_t step = 0; step < data.steps; ++step) {
    const std::int64_t images = data.images_of_step(data.first_step + step, table.batch);
    body.copy_parameters();
    PRUMO_STEP_MARK(40);
    for (int group = static_cast<int>(blockIdx.x); group < table.groups; group += static_cast<int>(gridDim.x)) {
      body.run_group(group, data.first_step + step, images);
    }
    barrier.wait();
    PRUMO_STEP_MARK(44);
    const step_rule<C> rule(table.which_optimizer, rate, data.momentum, optimizer_step + 1 + static_cast<double>(step));
    const step_update<team_type, C> update(body, rule, images);
    for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) update.run(tile);
    PRUMO_STEP_MARK(43);
    barrier.wait();
    PRUMO_STEP_MARK(45);
  }
  PRUMO_STEP_MARK(-2);
  if (is_first_thread) {
    training_counters& counters = *data.counters;
    if (counters.step == data.steps_per_epoch) {
      ++counters.epoch;
      counters.step = 0;
    }
    counters.optimizer_step += static_cast<double>(data.steps);
    counters.step += data.steps;
  }
}

}  // namespace prumo::nets

#endif
