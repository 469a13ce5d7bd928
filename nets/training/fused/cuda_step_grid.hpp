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
    arrive(true, static_cast<int>(gridDim.x));
    wait();
  }

  /// Some of the blocks arrive at a meeting, and those that wait see what these wrote before. A block that will not
  /// arrive at the next meeting need not wait at this one.
  /// \param of_blocks how many arrive, the same in all blocks
  __device__ __forceinline__ void arrive(bool arrives, int of_blocks) {
    wanted_ += static_cast<unsigned>(of_blocks);
    if (!arrives) return;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter_) : "memory");
  }

  /// Until all have arrived that this block knows of.
  __device__ __forceinline__ void wait() {
    if (threadIdx.x == 0) {
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

/// The threads of a block.
template <step_shape Shape>
class cuda_step_team {
 public:
  static constexpr int lanes = prumo::detail::exchange_threads;
  static constexpr bool takes_vectors = false;
  static constexpr step_shape shape = Shape;

  PRUMO_STEP_FUNCTION static int rank() {
    KOKKOS_IF_ON_DEVICE((return static_cast<int>(threadIdx.x);))
    KOKKOS_IF_ON_HOST((return 0;))
  }
  PRUMO_STEP_FUNCTION static constexpr int size() { return step_threads; }
  PRUMO_STEP_FUNCTION static void barrier() { KOKKOS_IF_ON_DEVICE((__syncthreads();)) }
  PRUMO_STEP_FUNCTION static int lane() { return rank() % lanes; }
  PRUMO_STEP_FUNCTION static int stretch() { return rank() / lanes; }
  PRUMO_STEP_FUNCTION static constexpr int stretches() { return step_threads / lanes; }
  PRUMO_STEP_FUNCTION static bool same_in_stretch(bool value) {
    KOKKOS_IF_ON_DEVICE((return __any_sync(0xffffffffu, value) != 0;))
    KOKKOS_IF_ON_HOST((return value;))
  }
  template <class C>
  PRUMO_STEP_FUNCTION static C across(C value, int distance) {
    return prumo::detail::value_across(value, distance);
  }
  PRUMO_STEP_FUNCTION static unsigned char* memory() {
    KOKKOS_IF_ON_DEVICE((return prumo::detail::cuda_team_memory;))
    KOKKOS_IF_ON_HOST((return nullptr;))
  }
};

/// The entry function. Without a counter the blocks do not meet.
/// \tparam AtOnce as run_steps() has it, and Shape as a team
template <class C, bool AtOnce, step_shape Shape>
__global__ void __launch_bounds__(step_threads, 1)
    run_step_grid(const __grid_constant__ step_data<C> data, const step_part part, unsigned* const counter) {
  prumo::detail::wait_for_kernels_before();
  using team_type = cuda_step_team<Shape>;
  const team_type team;
  const step_body<team_type, C> body(team, data, step_scratch<C>(team_type::memory()));
  grid_barrier barrier(counter);
  run_steps<AtOnce>(body, part, {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)}, barrier);
}

}  // namespace prumo::nets

#endif
