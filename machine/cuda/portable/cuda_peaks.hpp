// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Theoretical ceilings of an NVIDIA GPU from its facts; arithmetic alone.

#include <prumo/machine/device_facts.hpp>

#include <vector>

namespace prumo::machine::cuda {

/// At the maximum clock and at the clock measured under vector load: multiprocessors x rate x clock for each type of
/// the vector units and of the tensor units that there are, and 2 x memory clock x bus width / 8 for the memory.
///
/// Reads of the facts: name, cores, clock_max_mhz, clock_vector_mhz (or clock_measured_mhz), and of the extras
/// compute_capability, memory_clock_max_mhz, memory_clock_measured_mhz, memory_bus_bits and mig.
std::vector<peak> peaks_of_cuda(const device_facts& facts);

}  // namespace prumo::machine::cuda
