// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Kernels whose teams all run at the same time, so that each may wait for any other. On CUDA these are cooperative
/// launches: no block starts before the device has room for all blocks. Such a kernel has a constant
/// `teams_wait_for_each_other` that is true. On other devices it is never run.

#include <prumo/detail/team_kernel.hpp>

#include <cstddef>
#include <string>

namespace prumo::detail {

/// Whether every multiprocessor of the instance's device can run a team of the kernel with this much scratch memory.
/// The answer is remembered, so a kernel should always ask with the same number.
template <class Kernel, class Exec>
bool runs_resident_teams([[maybe_unused]] const Exec& instance, [[maybe_unused]] std::size_t most_scratch_bytes) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (launches_by_cuda_runtime<Exec>) {
    static answer_of_devices known;
    return known.on(instance.cuda_device(), [&] {
      const current_device<Exec> device(instance);
      const auto* const entry = reinterpret_cast<const void*>(run_teams<Kernel>);
      return blocks_at_a_time(entry, Kernel::most_threads, most_scratch_bytes) > 0;
    });
  }
#endif
  return false;
}

/// Enqueues a kernel whose teams wait for each other. Returns false, and enqueues nothing, if the instance's stream has
/// too few multiprocessors to run all of them at the same time.
template <class Exec, light_kernel Kernel>
bool try_launch_resident_teams(const Exec& instance, const std::string& label, const Kernel& kernel) {
  static_assert(Kernel::teams_wait_for_each_other && launches_by_cuda_runtime<Exec>);
  return launch_team_blocks(instance, label, kernel, static_cast<int>(kernel.blocks()), scratch_bytes_of<Exec>(kernel));
}

}  // namespace prumo::detail
