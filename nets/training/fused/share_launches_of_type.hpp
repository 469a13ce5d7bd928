// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches of clusters that share a net, for the sources that instantiate them for a type of numbers.

#include "cuda_share_cluster.hpp"
#include "step_launches.hpp"

#include <string>

namespace prumo::nets {

template <class Exec, class C>
bool runs_share_steps([[maybe_unused]] const Exec& instance, [[maybe_unused]] std::size_t scratch_bytes) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (prumo::detail::launches_by_cuda_runtime<Exec>) {
    static prumo::detail::answer_of_devices known;
    return known.on(instance.cuda_device(), [&] {
      const prumo::detail::current_device<Kokkos::Cuda> device(instance);
      const auto* const entry = reinterpret_cast<const void*>(&run_share_cluster<C>);
      return prumo::detail::has_code_of_capability_9(entry) &&
             prumo::detail::clusters_at_a_time(entry, step_threads, scratch_bytes,
                                               prumo::detail::most_teams_of_cluster) > 0;
    });
  }
#endif
  return false;
}

template <class Exec, class C>
void launch_share_steps([[maybe_unused]] const Exec& instance, [[maybe_unused]] const step_data<C>& data,
                        [[maybe_unused]] int teams, [[maybe_unused]] std::size_t scratch_bytes) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (prumo::detail::launches_by_cuda_runtime<Exec>) {
    static const std::string label = "prumo::nets::training::shared_steps";
    prumo::detail::launch_entry(instance, label, {teams, step_threads, scratch_bytes, teams}, run_share_cluster<C>,
                                data);
  }
#endif
}

#define PRUMO_INSTANTIATE_SHARE_LAUNCHES(Space, C)                     \
  template bool runs_share_steps<Space, C>(const Space&, std::size_t); \
  template void launch_share_steps<Space, C>(const Space&, const step_data<C>&, int, std::size_t);
#define PRUMO_INSTANTIATE_SHARE_STEPS(C) PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_SHARE_LAUNCHES, C)

}  // namespace prumo::nets
