// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Clusters: neighbouring teams that run at the same time and can write to each other's scratch memory. On CUDA these
/// are thread block clusters (from compute capability 9.0 on). A kernel has `teams_of_cluster()`, the number of teams
/// of a cluster. It must divide the number of all teams. All threads of a cluster must call the functions below.

#include <prumo/detail/team_kernel.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace prumo::detail {

/// The most teams of a cluster that every device with clusters runs (CUDA C++ Programming Guide, "Thread Block
/// Clusters").
inline constexpr int most_teams_of_cluster = 8;

/// Whether code of this pass can use clusters. Elsewhere the functions below do nothing, and are never run.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PRUMO_HAS_TEAM_CLUSTERS
#endif

/// Tells the other teams that this one has come here. What it wrote before is visible to a thread behind its
/// wait_for_cluster().
KOKKOS_FORCEINLINE_FUNCTION void arrive_at_cluster() {
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
  asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
#endif
}

/// Waits until all teams of the cluster have arrived. Arrivals and waits come in turns.
KOKKOS_FORCEINLINE_FUNCTION void wait_for_cluster() {
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
  asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
#endif
}

/// Stores a value where team number `rank` of the cluster has `own` in its own scratch memory. That team must have
/// arrived at the cluster once before, so that its memory is there.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_in_team([[maybe_unused]] T* own, [[maybe_unused]] int rank,
                                               [[maybe_unused]] const T& value) {
  static_assert(sizeof(T) % sizeof(std::uint32_t) == 0 && alignof(T) >= sizeof(std::uint32_t));
#if defined(PRUMO_HAS_TEAM_CLUSTERS)
  const auto here = static_cast<unsigned>(__cvta_generic_to_shared(own));
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  std::uint32_t words[sizeof(T) / sizeof(std::uint32_t)];
  memcpy(words, &value, sizeof(words));
  PRUMO_UNROLL
  for (int i = 0; i < static_cast<int>(sizeof(words) / sizeof(words[0])); ++i) {
    asm volatile("st.shared::cluster.u32 [%0], %1;"
                 :
                 : "r"(there + static_cast<unsigned>(i * sizeof(words[0]))), "r"(words[i])
                 : "memory");
  }
#endif
}

/// Whether the instance's device runs clusters of a kernel: of most_teams_of_cluster teams, with so much scratch memory
/// each. The answer is remembered, so each kernel should always ask with the same number.
template <class Kernel, class Exec>
bool runs_clusters([[maybe_unused]] const Exec& instance, [[maybe_unused]] std::size_t most_scratch_bytes) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (launches_by_cuda_runtime<Exec>) {
    static answer_of_devices known;
    return known.on(instance.cuda_device(), [&] {
      const current_device<Exec> device(instance);
      const auto* const entry = reinterpret_cast<const void*>(run_teams<Kernel>);
      return has_code_of_capability_9(entry) &&
             clusters_at_a_time(entry, Kernel::most_threads, most_scratch_bytes, most_teams_of_cluster) > 0;
    });
  }
#endif
  return false;
}

}  // namespace prumo::detail
