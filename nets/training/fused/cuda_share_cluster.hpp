// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Training steps of single images by a cluster of blocks that share a net (net_share.hpp). Compute capability 9.0.

#include "cuda_step_grid.hpp"
#include <prumo/detail/device/team_cluster.hpp>

#include <cstdint>
#include <cstring>

#if defined(KOKKOS_ENABLE_CUDA)

namespace prumo::nets {

/// The threads of a block of a cluster.
///
/// A barrier of the cluster makes all that blocks have written visible, and takes an H100 1,300 cycles. So values are
/// sent by stores that count their bytes at a barrier object of the block that gets them (PTX: st.async): some 600
/// cycles.
class cuda_share_team : public cuda_step_team<step_shape::share> {
 public:
  /// Before the first meeting of the cluster.
  PRUMO_STEP_FUNCTION static void begin() {
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
    for (int i = rank(); i < most_exchanges; i += size()) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(arrivals(i)) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
#endif
  }

  /// Another block, where all addresses are some bytes further than this block's own.
  struct receiver {
    unsigned further = 0, arrival = 0;

    template <class C>
    PRUMO_STEP_FUNCTION void send([[maybe_unused]] C* place, [[maybe_unused]] C value) const {
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
      const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(place)) + further;
      if constexpr (sizeof(C) == sizeof(std::uint32_t)) {
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                     :
                     : "r"(there), "r"(__float_as_uint(value)), "r"(arrival)
                     : "memory");
      } else {
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                     :
                     : "r"(there), "l"(__double_as_longlong(value)), "r"(arrival)
                     : "memory");
      }
#endif
    }
  };
  PRUMO_STEP_FUNCTION static receiver to([[maybe_unused]] const team_exchange& exchange, [[maybe_unused]] int team) {
    receiver result;
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
    const unsigned own = arrivals(exchange.which);
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result.arrival) : "r"(own), "r"(team));
    result.further = result.arrival - own;
#endif
    return result;
  }

  template <class C>
  PRUMO_STEP_FUNCTION static void receive([[maybe_unused]] const team_exchange& exchange, [[maybe_unused]] int count) {
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
    const unsigned arrival = arrivals(exchange.which);
    if (rank() == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                   :
                   : "r"(arrival), "r"(count * static_cast<int>(sizeof(C)))
                   : "memory");
    }
    const unsigned parity = static_cast<unsigned>(exchange.turn) & 1U;
    unsigned there = 0;
    while (there == 0) {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; "
          "}"
          : "=r"(there)
          : "r"(arrival), "r"(parity)
          : "memory");
    }
#endif
  }

 private:
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
  __device__ __forceinline__ static unsigned arrivals(int which) {
    __shared__ std::uint64_t objects[most_exchanges];
    return static_cast<unsigned>(__cvta_generic_to_shared(objects + which));
  }
#endif
};

/// All blocks of the cluster wait for each other, and see what the others wrote.
struct cluster_meeting {
  PRUMO_STEP_FUNCTION void operator()() const {
    prumo::detail::arrive_at_cluster();
    prumo::detail::wait_for_cluster();
  }
};

/// The entry function. The tables, shares and lists of the teams lie behind each other.
template <class C>
__global__ void __launch_bounds__(step_threads, 1) run_share_cluster(const __grid_constant__ step_data<C> all) {
  prumo::detail::wait_for_kernels_before();
  const auto rank = static_cast<int>(blockIdx.x);
  step_data<C> data = all;
  data.table += rank;
  data.share += rank;
  data.copies += rank * all.table->copies;
  data.filter_parameters += rank * all.table->gradients;
  const cuda_share_team team;
  cuda_share_team::begin();
  const step_body<cuda_share_team, C> body(team, data, step_scratch<C>(cuda_share_team::memory()));
  run_steps<true>(body, step_part::all, {rank, static_cast<int>(gridDim.x)}, cluster_meeting{});
}

}  // namespace prumo::nets

#endif
