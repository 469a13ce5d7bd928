// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Whether a device can be used at all. Programs ask this before they initialise Kokkos, because Kokkos ends the
/// program if it finds no device.

#include <prumo/spaces.hpp>

#include <string>

namespace prumo::machine {

/// Why no device of Exec's kind can be used here, in one line without a full stop; empty if one can be used. Kokkos
/// need not be initialised, and no device is chosen afterwards. Hosts can always be used.
template <class Exec>
std::string why_no_device() {
  return {};
}
PRUMO_IF_CUDA(template <> std::string why_no_device<::Kokkos::Cuda>();)
PRUMO_IF_HIP(template <> std::string why_no_device<::Kokkos::HIP>();)

}  // namespace prumo::machine
