// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Computes the theoretical ceilings of a host from its facts.

#include <prumo/machine/device_facts.hpp>

#include <vector>

namespace prumo::machine::host {

/// For each type: cores x pipes x lanes x 2 x clock, summed over the kinds of cores. Each peak is given at the maximum
/// clock and at the clock measured under vector load. There are at most as many cores as threads, the fastest cores
/// first, and the control group's quota may allow less.
std::vector<peak> peaks_of_host(const device_facts& facts);

}  // namespace prumo::machine::host
