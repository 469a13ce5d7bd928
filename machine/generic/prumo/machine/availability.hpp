// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Whether a device can be used at all, asked before Kokkos is initialised, which ends the program where it cannot.

#include <prumo/spaces.hpp>

#include <string>

namespace prumo::machine {

/// Why no device of Exec's kind can be used here, in one line without a full stop; empty where nothing speaks against
/// it. Needs no Kokkos that is initialised, and leaves no device chosen. Hosts can always be used.
template <class Exec>
std::string why_no_device() {
  return {};
}
PRUMO_IF_CUDA(template <> std::string why_no_device<::Kokkos::Cuda>();)
PRUMO_IF_HIP(template <> std::string why_no_device<::Kokkos::HIP>();)

}  // namespace prumo::machine
