// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Theoretical ceilings of an AMD GPU from its facts; arithmetic alone.

#include <prumo/machine/device_facts.hpp>

#include <vector>

namespace prumo::machine::hip {

/// At the maximum clock and at the clock measured under vector load: compute units x rate x clock for each type of the
/// vector units and of the matrix units that there are (their peak_unit is `tensor`), and transfers a clock x memory
/// clock x bus width / 8 for the memory. Where instructions can do two operations in f32 (packed, dual issue), that
/// counts, and the source tells the rate without.
///
/// Reads of the facts: name, architecture, cores (compute units), clock_max_mhz, clock_vector_mhz (or
/// clock_measured_mhz), and of the extras memory_clock_max_mhz, memory_clock_measured_mhz, memory_bus_bits and
/// compute_partition (`SPX` is the whole GPU).
std::vector<peak> peaks_of_hip(const device_facts& facts);

}  // namespace prumo::machine::hip
