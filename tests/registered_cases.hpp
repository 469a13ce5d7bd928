// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/case/registry.hpp>

namespace prumo::cases {

/// The library's own operations, for every enabled space.
inline const case_registries& registries() {
  static const case_registries all = [] {
    case_registries registries;
    register_library_cases(registries);
    return registries;
  }();
  return all;
}

}  // namespace prumo::cases
