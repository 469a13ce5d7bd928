// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Computes the theoretical ceilings of an NVIDIA GPU from its facts.

#include <prumo/machine/device_facts.hpp>

#include <vector>

namespace prumo::machine::cuda {

/// For each type of the vector units, and of the tensor units if there are any: multiprocessors x rate x clock. For the
/// memory: 2 x memory clock x bus width / 8. Each peak is given at the maximum clock and at the clock measured under
/// vector load.
///
/// Uses these facts: name, cores, clock_max_mhz, clock_vector_mhz (or clock_measured_mhz), and these extras:
/// compute_capability, memory_clock_max_mhz, memory_clock_measured_mhz, memory_bus_bits and mig.
std::vector<peak> peaks_of_cuda(const device_facts& facts);

}  // namespace prumo::machine::cuda
