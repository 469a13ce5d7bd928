// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Direct convolutions of f32 on devices by kernels that are compiled for one window (see window_results.hpp).

#include "convolution_problem.hpp"
#include "direct_device_layout.hpp"
#include "team_resources.hpp"
#include <prumo/context.hpp>

#include <limits>
#include <string>

namespace prumo::backend {

/// The number of the first of these kernels, behind those of all other direct kernels.
inline constexpr int first_window_kernel = 64;

struct timed_window_layout {
  direct_device_layout layout;
  double time = std::numeric_limits<double>::infinity();  ///< as direct_device_estimate tells it
};

/// The layout that takes the least time by estimate; an infinite time if no kernel suits.
/// \param with_constants whether the kernel may have its weights in constant memory
timed_window_layout best_window_layout(const convolution_problem<float>& problem, const team_resources& resources,
                                       bool with_constants);

/// Whether the kernel that the layout was chosen for has its weights in constant memory.
bool has_constant_weights(const direct_device_layout& layout);

/// Whether the context may write to constant memory. It may not on hosts and AMD's GPUs.
template <class Exec>
bool holds_constant_memory(context<Exec>& owner);

/// Enqueues the kernel that the layout was chosen for. `Exec` is a device's space. If the kernel has its weights in
/// constant memory, the instance's context must hold that.
template <class Exec>
void run_window_convolution(const Exec& instance, const std::string& label, const convolution_problem<float>& problem,
                            const direct_device_layout& layout);

}  // namespace prumo::backend
