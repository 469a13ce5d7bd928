// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The definitions of step_launches.hpp, for the sources that instantiate them for a type of numbers.

#include "cuda_step_grid.hpp"
#include "step_launches.hpp"
#include "team_kernels.hpp"
#include <prumo/detail/launch.hpp>

#include <algorithm>
#include <string>
#include <type_traits>

namespace prumo::nets {

inline const std::string& label_of(step_part part) {
  static const std::string labels[] = {"prumo::nets::training::steps", "prumo::nets::training::images",
                                       "prumo::nets::training::update"};
  return labels[static_cast<int>(part)];
}

/// Calls function with the shape as a constant.
template <class Function>
auto with_shape(step_shape shape, const Function& function) {
  switch (shape) {
    case step_shape::windows: return function(std::integral_constant<step_shape, step_shape::windows>{});
    case step_shape::many_weights: return function(std::integral_constant<step_shape, step_shape::many_weights>{});
    case step_shape::many_images: return function(std::integral_constant<step_shape, step_shape::many_images>{});
    case step_shape::staged: return function(std::integral_constant<step_shape, step_shape::staged>{});
    default: return function(std::integral_constant<step_shape, step_shape::few_images>{});
  }
}

#if defined(KOKKOS_ENABLE_CUDA)
/// Launches whole steps by blocks that meet, so all of them must run at once.
template <class C>
void launch_meeting_blocks(const Kokkos::Cuda& instance, const step_data<C>& data, const step_launch& launch) {
  const prumo::detail::current_device<Kokkos::Cuda> device(instance);
  const auto require = [&](cudaError_t status, const char* call) {
    prumo::detail::require_success(status, label_of(launch.part) + ": " + call);
  };
  const auto* const entry = with_shape(launch.shape, [](auto shape) {
    return reinterpret_cast<const void*>(&run_step_grid<C, false, decltype(shape)::value>);
  });
  // Other launches of the function may need more than this one, and rely on the usual limit.
  const auto limit = static_cast<int>(std::max(prumo::detail::usual_shared_bytes, launch.scratch_bytes));
  require(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, limit), "cudaFuncSetAttribute");
  require(cudaMemsetAsync(launch.meeting, 0, sizeof(unsigned), instance.cuda_stream()), "cudaMemsetAsync");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(launch.teams));
  configuration.blockDim = dim3(static_cast<unsigned>(step_threads));
  configuration.dynamicSmemBytes = launch.scratch_bytes;
  configuration.stream = instance.cuda_stream();
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  step_data<C> values = data;
  step_part part = launch.part;
  unsigned* meeting = launch.meeting;
  void* arguments[] = {&values, &part, &meeting};
  const prumo::detail::announced_kernel announced(instance, label_of(launch.part));
  require(cudaLaunchKernelExC(&configuration, entry, arguments), "cudaLaunchKernelExC");
}
#endif

/// Launches teams that do not meet.
template <bool AtOnce, step_shape Shape, class Exec, class C>
void launch_lone_teams(const Exec& instance, const step_data<C>& data, const step_launch& launch) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (prumo::detail::launches_by_cuda_runtime<Exec>) {
    prumo::detail::launch_entry(instance, label_of(launch.part), {launch.teams, step_threads, launch.scratch_bytes},
                                run_step_grid<C, AtOnce, Shape>, data, launch.part, launch.meeting);
    return;
  }
#endif
  if constexpr (!is_host_space<Exec> && !prumo::detail::launches_by_cuda_runtime<Exec>) {
    prumo::detail::launch_teams(instance, label_of(launch.part),
                                step_kernel<C, AtOnce, Shape>{data, launch.part, launch.teams, launch.scratch_bytes});
  }
}

template <class Exec, class C>
void launch_steps(const Exec& instance, const step_data<C>& data, const step_launch& launch) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (is_cuda_space<Exec>) {
    if (launch.meeting != nullptr) {
      launch_meeting_blocks(instance, data, launch);
      return;
    }
  }
#endif
  with_shape(launch.shape, [&](auto shape) {
    constexpr step_shape of_team = decltype(shape)::value;
    if (launch.part != step_part::all) {
      launch_lone_teams<false, of_team>(instance, data, launch);
    } else if constexpr (!has_many_weights(of_team)) {
      launch_lone_teams<true, of_team>(instance, data, launch);
    }
  });
}

#define PRUMO_INSTANTIATE_LAUNCHES(Space, C) \
  template void launch_steps<Space, C>(const Space&, const step_data<C>&, const step_launch&);
#define PRUMO_INSTANTIATE_STEPS(C) PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_LAUNCHES, C)

}  // namespace prumo::nets
