// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Measures the clock of the multiprocessors, by the cycles that they count while the device's timer runs.

#include <Kokkos_Core.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace prumo::machine::cuda {

/// What the multiprocessors do during the measurement.
enum class clock_load { integers, vector };

/// The median clock over all multiprocessors, in MHz. They are all at work for the time `settling`, and are then
/// measured for the time `measuring`; with 50 ms the timer's error is less than 1e-4. Calls `meanwhile` once in the
/// middle of the measurement. Waits first for the instance's earlier work, which would disturb the measurement.
///
/// None if a launch fails or the device's counters make no sense. Throws what Kokkos throws for a failed allocation.
std::optional<double> measure_clock(const Kokkos::Cuda& instance, clock_load load, std::chrono::milliseconds settling,
                                    std::chrono::milliseconds measuring, const std::function<void()>& meanwhile);

/// The architecture of the machine code that this library's kernels run as: 90 is sm_90.
std::optional<int> binary_version();

}  // namespace prumo::machine::cuda
