// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Launches of steps that follow a table. Each type of numbers has a source of its own, because the kernel holds all
/// layers and takes long to compile.

#include "plan/step_data.hpp"
#include "step_loop_parts.hpp"
#include <prumo/spaces.hpp>

#include <cstddef>
#include <cstdint>

namespace prumo::nets {

/// How steps are launched.
struct step_launch {
  step_part part = step_part::all;
  int teams = 1;
  std::size_t scratch_bytes = 0;
  step_shape shape = step_shape::few_images;  ///< of the table
  /// Where the teams of a launch of whole steps meet. Null if there is one team, which takes steps of single images.
  unsigned* meeting = nullptr;
};

/// Enqueues steps on a device. Teams can meet on CUDA only.
template <class Exec, class C>
void launch_steps(const Exec& instance, const step_data<C>& data, const step_launch& launch);

/// Whether a device runs a cluster of teams that share a net, each with so much scratch memory. The answer is
/// remembered, so it should always be asked with the same number.
template <class Exec, class C>
bool runs_share_steps(const Exec& instance, std::size_t scratch_bytes);

/// Enqueues steps of single images by such a cluster.
template <class Exec, class C>
void launch_share_steps(const Exec& instance, const step_data<C>& data, int teams, std::size_t scratch_bytes);

/// Scratch memory that these teams take beside what their tables say: for barrier objects.
inline constexpr std::int64_t static_bytes_of_sharing_team = 1024;

/// Runs what one thread of a host has in a launch.
/// \param scratch aligned to 32 bytes; behind what the table needs there are host_scratch_slack bytes of zeros
template <class C>
void run_host_steps(const step_data<C>& data, step_part part, step_league league, unsigned char* scratch);

/// Vectors may be read beyond the end of a row.
inline constexpr std::size_t host_scratch_slack = 512;

}  // namespace prumo::nets
