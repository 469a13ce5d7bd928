// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Theoretical ceilings of a host from its facts; arithmetic alone.

#include <prumo/machine/device_facts.hpp>

#include <vector>

namespace prumo::machine::host {

/// For each type, at the maximum clock and at the clock measured under vector load: the sum over the kinds of
/// cores of cores x pipes x lanes x 2 x clock. No more cores count than there are threads, and as much of
/// them as the control group's quota allows; the fastest first.
std::vector<peak> peaks_of_host(const device_facts& facts);

}  // namespace prumo::machine::host
