// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Computes the theoretical ceilings of an AMD GPU from its facts.

#include <prumo/machine/device_facts.hpp>

#include <vector>

namespace prumo::machine::hip {

/// For each type of the vector units, and of the matrix units if there are any (their peak_unit is `tensor`): compute
/// units x rate x clock. For the memory: transfers per clock x memory clock x bus width / 8. Each peak is given at the
/// maximum clock and at the clock measured under vector load. If one instruction can do two operations in f32 (packed,
/// dual issue), both count, and the source also says the rate without.
///
/// Uses these facts: name, architecture, cores (compute units), clock_max_mhz, clock_vector_mhz (or
/// clock_measured_mhz), and these extras: memory_clock_max_mhz, memory_clock_measured_mhz, memory_bus_bits and
/// compute_partition (`SPX` is the whole GPU).
std::vector<peak> peaks_of_hip(const device_facts& facts);

}  // namespace prumo::machine::hip
