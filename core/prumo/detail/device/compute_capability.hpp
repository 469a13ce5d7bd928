// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The generation of an NVIDIA GPU.

#include <string>

namespace prumo::detail {

/// A compute capability: 9.0 is `{9, 0}`.
struct compute_capability {
  int major = 0;
  int minor = 0;
};

/// `9.0`
inline std::string text_of(compute_capability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

/// Whether the tensor units of that capability multiply f8.
inline bool has_f8(compute_capability capability) {
  return capability.major > 8 || (capability.major == 8 && capability.minor >= 9);
}

}  // namespace prumo::detail
