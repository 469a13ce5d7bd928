// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the teams of a space have, and the table that follows from it.

#include "plan/net_share.hpp"
#include "plan/step_table.hpp"
#include "step_launches.hpp"
#include "step_way.hpp"
#include <prumo/detail/device/team_cluster.hpp>
#include <prumo/detail/host/meeting_threads.hpp>
#include <prumo/detail/launch.hpp>

#include <climits>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace prumo::nets {

/// Most scratch memory that a thread of a host takes. Nets that need more do not fit into its caches.
inline constexpr std::int64_t host_scratch_bytes = std::int64_t{4} << 20U;

/// With more tiles than this, wide ones keep all teams of a device busy.
inline constexpr std::size_t most_narrow_tiles = 256;

/// Groups of fewer images go through dense layers in rounds. With groups of 16 images an epoch of lenet5 took an H100
/// 10.0 ms so, and 10.3 with all of a group together; with groups of 32 it was 9.6 and 8.5.
inline constexpr int least_stage_images = 20;

/// The scratch memory of a team.
template <class Exec>
std::int64_t scratch_bytes_of([[maybe_unused]] const Exec& instance) {
  if constexpr (is_host_space<Exec>) {
    return host_scratch_bytes;
  } else {
#if defined(KOKKOS_ENABLE_CUDA)
    if constexpr (is_cuda_space<Exec>) {
      int bytes = 0;
      prumo::detail::require_success(
          cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, instance.cuda_device()),
          "cudaDeviceGetAttribute");
      return bytes;
    }
#endif
    return Kokkos::TeamPolicy<Exec>::scratch_size_max(0);
  }
}

/// Teams that can meet: on a device one for each multiprocessor, on a host its threads. 0: none can.
template <class Exec>
int meeting_teams([[maybe_unused]] const Exec& instance) {
  if constexpr (is_host_space<Exec>) return prumo::detail::most_meeting_threads(instance);
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (is_cuda_space<Exec>) {
    int multiprocessors = 1, cooperative = 0;
    prumo::detail::require_success(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, instance.cuda_device()),
        "cudaDeviceGetAttribute");
    prumo::detail::require_success(
        cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, instance.cuda_device()),
        "cudaDeviceGetAttribute");
    return cooperative != 0 ? multiprocessors : 0;
  }
#endif
  return 0;
}

/// The teams of a cluster that shares a net, or 0 where the device runs none. Such a cluster may have more teams on
/// some devices, but then the sums would have another order there.
template <class Exec>
int sharing_teams([[maybe_unused]] const Exec& instance, [[maybe_unused]] dtype type) {
  if constexpr (is_host_space<Exec>) {
    return 0;
  } else {
    const auto bytes = static_cast<std::size_t>(scratch_bytes_of(instance)) - static_bytes_of_sharing_team;
    const bool runs = type == dtype::f32 ? runs_share_steps<Exec, float>(instance, bytes)
                                         : runs_share_steps<Exec, double>(instance, bytes);
    return runs ? prumo::detail::most_teams_of_cluster : 0;
  }
}

/// The tables of a way: one, or that of each team of a cluster that shares the net.
struct team_tables {
  std::vector<step_table> tables;
  std::vector<net_share> shares;  ///< empty if the teams do not share the net
};

/// Fills the tables for a way.
/// \param whole whether a launch takes whole steps
template <class Exec>
std::string tables_for(const Exec& instance, const training_task& task, bool whole, team_tables& result) {
  if (task.images > INT32_MAX) return "takes sets of fewer than 2^31 images";
  std::vector<std::int64_t> offsets;
  for (const placed_parameter& each : task.plan.parameters()) offsets.push_back(each.offset);
  const auto element_bytes = static_cast<std::int64_t>(dtype_size(task.plan.type()));
  // The fixed arrays of step_scratch: the table and partial sums; sums, losses and labels take 224 bytes with gaps, and
  // each of four arrays a gap of less than 32.
  // On hosts all twelve arrays have a gap of less than 64.
  constexpr bool on_host = is_host_space<Exec>;
  const std::int64_t fixed =
      static_cast<std::int64_t>(least_fixed_bytes(element_bytes)) + 352 + (on_host ? scratch_arrays * 64 : 0);
  step_request request{.net = task.plan.net(),
                       .facts = task.plan.facts(),
                       .offsets = offsets,
                       .parameter_elements = task.plan.weights_elements(),
                       .options = task.options,
                       .element_bytes = element_bytes,
                       .scratch_bytes = scratch_bytes_of(instance) - fixed,
                       .most_images_at_once = on_host ? 1 : 8,
                       .most_dense_copies = on_host                   ? 0
                                            : task.options.batch == 1 ? 12000
                                                                      : 4096,
                       .saves_memory = !on_host,
                       .takes_windows = !on_host,
                       .many_images = on_host ? INT_MAX : 3,
                       .most_narrow_tiles = most_narrow_tiles,
                       .takes_many_weights = !on_host && element_bytes == sizeof(float),
                       .least_stage_images = least_stage_images,
                       .takes_vectors = on_host};
  result.tables.resize(1);
  std::string reason = make_step_table(request, result.tables[0]);
  // Of nine nets none took more than 1.4 % longer so. Only a team that takes windows is faster alone.
  const bool may_share =
      whole && task.options.batch == 1 && (!reason.empty() || result.tables[0].shape != step_shape::windows);
  if (const int teams = may_share ? sharing_teams(instance, task.plan.type()) : 0; teams > 0) {
    request.scratch_bytes -= static_bytes_of_sharing_team;
    team_tables shared{std::vector<step_table>(static_cast<std::size_t>(teams)),
                       std::vector<net_share>(static_cast<std::size_t>(teams))};
    std::string why_not;
    for (int team = 0; team < teams && why_not.empty(); ++team) {
      const auto which = static_cast<std::size_t>(team);
      shared.shares[which].team = team;
      shared.shares[which].teams = teams;
      why_not = make_shared_table(request, shared.tables[which], shared.shares[which]);
    }
    if (why_not.empty()) {
      result = std::move(shared);
      reason.clear();
    }
  }
  if (!reason.empty()) return reason;
  for (step_table& table : result.tables) {
    for (int i = 0; i < table.layers; ++i) {
      const gradient_divisors divisors = divisors_of(task, static_cast<std::size_t>(i));
      table.layer[i].weight_scale = 1.0 / static_cast<double>(divisors.weights);
      table.layer[i].bias_scale = 1.0 / static_cast<double>(divisors.bias);
    }
  }
  return {};
}

}  // namespace prumo::nets
