// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The clock of the multiprocessors, measured on the device: cycles that they count while the device's timer runs.

#include <Kokkos_Core.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace prumo::machine::cuda {

/// What the multiprocessors do meanwhile.
enum class clock_load { integers, vector };

/// The median clock over all multiprocessors in MHz: all at work for `settling`, then measured for `measuring` (50 ms
/// make an error of the timer less than 1e-4). Calls `meanwhile` once in the middle of the measurement. Waits for the
/// instance's earlier work, which is not to disturb; none where the device's counters make no sense.
///
/// Throws what Kokkos throws for a failed allocation; a failed launch is std::nullopt.
std::optional<double> measure_clock(const Kokkos::Cuda& instance, clock_load load, std::chrono::milliseconds settling,
                                    std::chrono::milliseconds measuring, const std::function<void()>& meanwhile);

/// The machine code that kernels of this library run as: 90 is sm_90.
std::optional<int> binary_version();

}  // namespace prumo::machine::cuda
